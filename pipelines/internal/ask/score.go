package ask

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features/stream"
)

// Score is how good predictions were.
type Score struct {
	Rows float64 `json:"judged_rows"` // that were predicted, or the sum of their weights on their grid
	// R2 is 1 − error/variance over the judged rows together; below 0 the mean of the judged rows would have
	// been better. For classes the variance is that of the shares of the classes: the Brier skill score.
	R2 float64 `json:"r2"`
	// Low and High are the 95% interval of R2 by the bootstrap over judged units; nil for fewer than five.
	Low  *float64 `json:"r2_low,omitempty"`
	High *float64 `json:"r2_high,omitempty"`
	// Error is the mean squared error of a target; the share of the variances over all sums that it is, for
	// several targets; for classes the Brier score of the scores as probabilities: Σ(o−p)² over the classes.
	Error float64 `json:"error"`
}

// tally is the squared errors on judged rows, in the units of ridge.Row.MSE, and the head of their sum.
type tally struct {
	squares float64
	head    []float64
}

// head returns the head of the sum of a unit.
func (d *data) head(u unit) []float64 {
	head := make([]float64, len(d.all.Part(0)))
	for _, i := range u.parts {
		for k, v := range d.parts[i].head {
			head[k] += v
		}
	}
	return head
}

// r2 returns R² over tallies, each counted as often as times says; all once if that is nil.
func (d *data) r2(all []tally, times []float64) float64 {
	head, squares := make([]float64, len(all[0].head)), 0.0
	for i, t := range all {
		n := 1.0
		if times != nil {
			n = times[i]
		}
		squares += float64(n * t.squares)
		for k, v := range t.head {
			head[k] += float64(n * v)
		}
	}
	if spread := d.Spread(head); spread > 0 {
		return 1 - squares/spread
	}
	return 0 // nothing differs
}

// score returns the score over judged units, with an interval.
func (d *data) score(all []tally) (s Score) {
	if len(all) == 0 {
		return s
	}
	s.R2 = d.r2(all, nil)
	for _, t := range all {
		s.Rows += t.head[0]
		s.Error += t.squares
	}
	if s.Error /= s.Rows; d.units.Grid == nil {
		s.Error /= 4 // from codes −1 and 1 to shares
	}
	s.Low, s.High = d.interval(len(all), func(times []float64) float64 { return d.r2(all, times) })
	return s
}

const (
	leastJudged = 5    // units for an interval
	resamples   = 1000 // of the bootstrap
)

var resample = stream.PurposeOf("ask/bootstrap")

// interval returns the 95% interval of a statistic of n units by the bootstrap over them, by percentiles
// (Efron 1979): rows of a unit are alike, so units are drawn as wholes.
func (d *data) interval(n int, statistic func(times []float64) float64) (low, high *float64) {
	if n < leastJudged {
		return nil, nil
	}
	values := make([]float64, resamples)
	times := make([]float64, n)
	for b := range values {
		clear(times)
		s := stream.New(d.Seed, resample, uint64(b))
		for range n {
			times[s.Below(uint64(n))]++
		}
		values[b] = statistic(times)
	}
	slices.Sort(values)
	tail := int(math.Round(0.025 * resamples))
	return &values[tail], &values[resamples-1-tail]
}
