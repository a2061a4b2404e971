package tuning

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Sizes of a search.
const (
	MinFeatures        = 512   // the first size
	MaxDefaultFeatures = 16384 // the largest size by default
)

// SizeSearch chooses the number of features. Expect is needed only with a Time; all other fields
// must be set.
type SizeSearch struct {
	options.Size
	// Min and Max are the smallest and the largest number of features that may be tried.
	Min, Max int
	// Train fits a model with the Features of a planned trial, with sums on 8 bits only if Once is
	// set, and returns the trial. Run measures the time itself.
	Train func(ctx context.Context, planned results.SizeTrial) (results.SizeTrial, error)
	// Expect returns the relative cost of each stage of a trial, as far as it follows from the
	// trial's number of features, Once and Lambda. Each stage can have its own unit, because only
	// ratios of two expectations are used.
	Expect func(results.SizeTrial) results.SizeCost
	// Clock returns the time since the job began.
	Clock func() time.Duration
}

// unit divides the numbers of features that a Time allows.
const unit = 64

// Run tries numbers of features, from Min upwards, and chooses one. It returns the errors of
// Train.
func (s *SizeSearch) Run(ctx context.Context) (*results.Size, error) {
	r := &results.Size{}
	next := results.SizeTrial{Features: min(s.Min, s.Max)}
	for {
		begun, size := s.Clock(), next.Features
		t, err := s.Train(ctx, next)
		if err != nil {
			return nil, err
		}
		t.Features, t.Seconds = size, (s.Clock() - begun).Seconds()
		last := len(r.Trials) - 1
		if last >= 0 {
			t.Gain, t.StdErr = gain(&r.Trials[last], &t)
		}
		r.Trials = append(r.Trials, t)
		if last >= 0 && s.Worth > 0 && !pays(&t, float64(s.Worth)) {
			takeTrial(r, &r.Trials[last])
			r.Why = whyNot(&t, r.Features, s.Worth)
			return r, nil
		}
		if size >= s.Max {
			chooseTrial(r, fmt.Sprintf("%d is the most that is allowed", s.Max))
			return r, nil
		}
		next.Features = min(2*size, s.Max)
		if s.Time > 0 {
			// A number that is less than a quarter larger hardly helps.
			little := func(can int) bool { return 4*can < 5*size && can < s.Max }
			can := s.affordable(r.Trials, next)
			if !next.Once && little(can) {
				next.Once = true
				can = s.affordable(r.Trials, next)
			}
			if little(can) {
				left := (s.Time - s.Clock()).Seconds()
				if left > 0 {
					chooseTrial(r, fmt.Sprintf("of %s, %.1f s were left, too little for many more than %d features", s.Time, left, size))
				} else {
					chooseTrial(r, fmt.Sprintf("%d features took %.1f s longer than was left of %s", size, -left, s.Time))
				}
				return r, nil
			}
			// Doubling once more keeps predictions accurate. But if that would leave too little time
			// for a much larger number, use all of the time now.
			if can < 4*size {
				next.Features = can
			}
		}
	}
}

// whyNot explains why the features of the trial are not worth more than fewer are.
func whyNot(t *results.SizeTrial, fewer int, worth options.Share) string {
	verb, reason := "reduce", ", which may be chance"
	switch {
	case t.Gain < 0:
		verb, reason = "increase", ""
	case t.Gain < float64(worth):
		reason = fmt.Sprintf(", less than %s", worth)
	}
	return fmt.Sprintf("%d features instead of %d %s the held-out error by %s ± %s%s", t.Features, fewer, verb,
		percent(math.Abs(t.Gain)), percent(t.StdErr), reason)
}

// chooseTrial takes the trial with the smallest loss, or the last one without losses. why is the reason
// to stop.
func chooseTrial(r *results.Size, why string) {
	best := r.Trials[len(r.Trials)-1]
	for _, t := range r.Trials {
		if t.Loss < best.Loss {
			best = t
		}
	}
	if last := r.Trials[len(r.Trials)-1].Features; best.Features != last {
		why = fmt.Sprintf("%s; %d features have the least held-out error", why, best.Features)
	}
	takeTrial(r, &best)
	r.Why = why
}

// takeTrial makes t the chosen trial.
func takeTrial(r *results.Size, t *results.SizeTrial) { r.Features, r.Once = t.Features, t.Once }

// percent returns a fraction as a percentage with two digits.
func percent(share float64) string { return fmt.Sprintf("%.2g%%", 100*share) }

// gain returns the share by which the loss of b is smaller than the loss of a on the same rows, and
// the standard error of this share. Both are 0 if a has no loss.
func gain(a, b *results.SizeTrial) (share, stdErr float64) {
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

// oneFold divided by the square root of the number of rows approximates the standard error of the
// relative difference of two errors on the same rows. It serves if only one fold is held out.
const oneFold = 0.3

// pays reports whether the gain is at least worth, and significantly above 0 at the level of 5%
// (one-sided t-test over the folds).
func pays(t *results.SizeTrial, worth float64) bool {
	return t.Gain >= worth && t.Gain > student(len(t.Folds)-1)*t.StdErr
}

// student returns the 95% quantile of Student's t distribution by its degrees of freedom,
// rounded. With 0 or fewer it is the quantile of the normal distribution.
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

// SplitCost divides the seconds of a trial into stages. mapped, summed and solved are the seconds
// that workers report for each stage. If workers ran in parallel their total can exceed seconds; it
// is then scaled down.
func SplitCost(seconds, mapped, summed, solved float64) results.SizeCost {
	if all := mapped + summed + solved; all > seconds {
		by := seconds / all
		mapped, summed, solved = mapped*by, summed*by, solved*by
	}
	return results.SizeCost{Map: mapped, Sum: summed, Solve: solved, Rest: seconds - mapped - summed - solved}
}

// predict returns the expected seconds of a planned trial. It scales the last trial by the ratio of
// the costs that Expect returns. If the last trial took longer than predicted from the one before
// it, predict assumes the same delay for each further doubling.
func (s *SizeSearch) predict(trials []results.SizeTrial, planned results.SizeTrial) float64 {
	last := len(trials) - 1
	t := trials[last]
	seconds := s.scaled(t, planned)
	if last > 0 {
		was := trials[last-1]
		late := math.Pow(sized(t.Cost)/s.scaled(was, t), 1/math.Log2(float64(t.Features)/float64(was.Features)))
		if late > 1 { // false for NaN
			seconds *= math.Pow(min(late, maxSlowdown), math.Log2(float64(planned.Features)/float64(t.Features)))
		}
	}
	return t.Cost.Rest + seconds
}

// maxSlowdown is the largest factor of that delay for a doubling.
const maxSlowdown = 1.6

// sized returns the part of the cost that depends on the number of features.
func sized(c results.SizeCost) float64 { return c.Map + c.Sum + c.Solve }

// scaled returns the part of the cost that depends on the number of features, in seconds, scaled
// from the trial t to a planned trial, of which only Features and Once are used.
func (s *SizeSearch) scaled(t, planned results.SizeTrial) float64 {
	was := s.Expect(t)
	will := s.Expect(results.SizeTrial{Features: planned.Features, Once: planned.Once, Lambda: t.Lambda})
	by := func(took, was, will float64) float64 { return took * will / max(was, math.SmallestNonzeroFloat64) }
	return by(t.Cost.Map, was.Map, will.Map) + by(t.Cost.Sum, was.Sum, will.Sum) + by(t.Cost.Solve, was.Solve, will.Solve)
}

// affordable returns the largest number of features, at most Max, that the remaining time allows
// for a trial that is otherwise as planned: a multiple of unit, or Max. It returns the last trial's
// number if the time is too short for more.
func (s *SizeSearch) affordable(trials []results.SizeTrial, planned results.SizeTrial) int {
	left := (s.Time - s.Clock()).Seconds()
	fits := func(features int) bool {
		planned.Features = features
		return s.predict(trials, planned) <= left
	}
	low := trials[len(trials)-1].Features
	if fits(s.Max) {
		return s.Max
	}
	for high := s.Max; high-low > unit; {
		if at := (low + high) / 2 / unit * unit; at > low && fits(at) {
			low = at
		} else {
			high = max(at, low+unit)
		}
	}
	return low
}
