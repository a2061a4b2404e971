package tuning

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/bochner-ml/bochner/internal/option"
)

// SizeOptions say how a size is chosen. The zero value says that it is not.
type SizeOptions struct {
	// Worth is the least share by which twice the features must reduce the held-out error; 0 means
	// that it does not matter.
	Worth Share `flag:"worth" placeholder:"SHARE" help:"Choose the number of features: train with 512, 1024, … up to --features (16384 if that is not given) as long as doubling them reduces the held-out squared error by this share, such as 0.1% or 0.001, and by more than chance does. The model is the same as from training with the chosen --features and otherwise the same recipe. Ridge only."`
	// Time is how long the job may take; 0 means any time. Which size it allows depends on the
	// machine.
	Time time.Duration `flag:"time" help:"Time for the whole training, such as 60s or 10m. A search for features ends with its best candidate after two thirds of this time. For ridge, small trainings predict how many features the time allows, up to --features (16384 if that is not given); iterative learners get the time that is left for their rounds (see --max_time). The model then depends on the machine, and is the same as from training with the printed flags and otherwise the same recipe."`
}

// Sizes of a search.
const (
	LeastFeatures = 512   // the first
	MostFeatures  = 16384 // the largest if none is given
)

// Chooses tells whether a size is to be chosen.
func (o SizeOptions) Chooses() bool { return o.Worth > 0 || o.Time > 0 }

// Validate returns an error that names the option.
func (o SizeOptions) Validate() error {
	if !(o.Worth >= 0 && o.Worth < 1) {
		return option.Errorf("worth", "must be at least 0 and below 1 (have %g)", float64(o.Worth))
	}
	if o.Time < 0 {
		return option.Errorf("time", "must be 0 (any) or longer (have %s)", o.Time)
	}
	return nil
}

// SizeTrial is a training of some size.
type SizeTrial struct {
	Features int `json:"features"`
	// Once says that rows are summed on 8 bits, and not again on 16 where the chosen λ is small,
	// because there is no time for that.
	Once   bool    `json:"once,omitempty"`
	Lambda float64 `json:"lambda"`
	// Loss is the held-out mean squared error, and Folds has the error of each fold; 0 and nil
	// without held-out rows, of which there are Rows.
	Loss  float64   `json:"loss,omitempty"`
	Folds []float64 `json:"fold_losses,omitempty"`
	Rows  int64     `json:"held_rows,omitempty"`
	// Gain is the share by which the loss is smaller than at the size before, and StdErr its
	// standard error.
	Gain    float64 `json:"gain,omitempty"`
	StdErr  float64 `json:"gain_std_err,omitempty"`
	Seconds float64 `json:"seconds"`
	Cost    Cost    `json:"cost_seconds"`
}

// SizeResult is a choice.
type SizeResult struct {
	SizeOptions `json:"-"`
	Features    int         `json:"features"`       // chosen
	Once        bool        `json:"once,omitempty"` // see Trial
	Trials      []SizeTrial `json:"trials"`
	Why         string      `json:"why"` // no other size was tried, or chosen
}

// SizeSearch chooses a size.
type SizeSearch struct {
	SizeOptions
	// Least and Most are the first and the largest size that may be tried.
	Least, Most int
	// Train trains with that many features, and once if it is told to and that makes a difference: see Trial.
	// The clock measures its time.
	Train func(ctx context.Context, features int, once bool) (SizeTrial, error)
	// Expect returns what the stages of a training cost, as far as its number of features, whether
	// rows are summed once, and the λ that it is likely to choose, tell. The unit of each stage is
	// any: what a trial took is multiplied by the ratio of two expectations. It is needed with a
	// Time.
	Expect func(SizeTrial) Cost
	// Clock returns the time since the job began.
	Clock func() time.Duration
}

// unit divides the sizes that a time allows.
const unit = 64

// Run tries sizes and chooses one.
func (s *SizeSearch) Run(ctx context.Context) (*SizeResult, error) {
	r := &SizeResult{SizeOptions: s.SizeOptions}
	size, once := min(s.Least, s.Most), false
	for {
		begun := s.Clock()
		t, err := s.Train(ctx, size, once)
		if err != nil {
			return nil, err
		}
		t.Features, t.Seconds = size, (s.Clock() - begun).Seconds()
		last := len(r.Trials) - 1
		if last >= 0 {
			t.Gain, t.StdErr = gain(&r.Trials[last], &t)
		}
		r.Trials = append(r.Trials, t)
		if last >= 0 && s.Worth > 0 && !t.pays(float64(s.Worth)) {
			r.take(&r.Trials[last])
			r.Why = fmt.Sprintf("%d features instead of %d reduce the held-out error by %s ± %s, which is not %s or not more "+
				"than chance", size, r.Features, percent(t.Gain), percent(t.StdErr), s.Worth)
			return r, nil
		}
		if size >= s.Most {
			r.choose(fmt.Sprintf("%d is the most that is allowed", s.Most))
			return r, nil
		}
		next := min(2*size, s.Most)
		if s.Time > 0 {
			// A size that is little larger hardly helps.
			little := func(can int) bool { return 4*can < 5*size && can < s.Most }
			can := s.affordable(r.Trials, once)
			if !once && little(can) {
				once = true
				can = s.affordable(r.Trials, once)
			}
			if little(can) {
				left := (s.Time - s.Clock()).Seconds()
				if left > 0 {
					r.choose(fmt.Sprintf("of %s, %.1f s were left, too little for many more than %d features", s.Time, left, size))
				} else {
					r.choose(fmt.Sprintf("%d features took %.1f s longer than was left of %s", size, -left, s.Time))
				}
				return r, nil
			}
			// Errors of the prediction grow with the distance, but after the next size too little
			// time would be left for one that is not much larger.
			if can < 4*size {
				next = can
			}
		}
		size = next
	}
}

// choose chooses the size of the least loss, or the last without losses.
func (r *SizeResult) choose(why string) {
	best := r.Trials[len(r.Trials)-1]
	for _, t := range r.Trials {
		if t.Loss < best.Loss {
			best = t
		}
	}
	if last := r.Trials[len(r.Trials)-1].Features; best.Features != last {
		why = fmt.Sprintf("%s; %d features have the least held-out error", why, best.Features)
	}
	r.take(&best)
	r.Why = why
}

// take makes a trial the chosen one.
func (r *SizeResult) take(t *SizeTrial) { r.Features, r.Once = t.Features, t.Once }

// gain returns by which share the loss of b is smaller than the loss of a on the same rows, and the
// standard error of that.
func gain(a, b *SizeTrial) (share, stdErr float64) {
	if !(a.Loss > 0) {
		return 0, 0
	}
	share = 1 - b.Loss/a.Loss
	n := len(a.Folds)
	if n < 2 || len(b.Folds) != n {
		return share, oneFold / math.Sqrt(float64(max(b.Rows, 1)))
	}
	var mean, squares float64
	for i, v := range a.Folds {
		mean += (v - b.Folds[i]) / float64(n)
	}
	for i, v := range a.Folds {
		d := v - b.Folds[i] - mean
		squares += d * d
	}
	return share, math.Sqrt(squares/float64(n-1)/float64(n)) / a.Loss
}

// oneFold divided by the root of the number of rows is about the standard deviation of the
// relative difference of two errors on the same rows. It is used where only one fold is held out.
const oneFold = 0.3

// pays tells whether a gain is worth it, and more than chance at a level of 5 %.
func (t *SizeTrial) pays(worth float64) bool {
	return t.Gain >= worth && t.Gain > student(len(t.Folds)-1)*t.StdErr
}

// student is the 95% point of Student's distribution, by degrees of freedom; the normal one
// without any.
func student(freedom int) float64 {
	table := []float64{1.645, 6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833}
	switch {
	case freedom < 0:
		freedom = 0
	case freedom >= len(table):
		return 1.82
	}
	return table[freedom]
}
