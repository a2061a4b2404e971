package score

import (
	"math"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
)

// Targets sums the errors of a regression. Create it with NewTargets. The zero value is empty, too, but gives no
// intervals. It is not safe for concurrent use.
type Targets struct {
	rows           int64     // rows with a finite residual
	n              int64     // the same rows, each as often as it counts
	notFinite      int64     // other rows
	y, y2, r2, abs exact.Sum // of targets y and residuals r: Σy, Σy², Σr², Σ|r|
	max            float64   // max |r|
	ratio          exact.Sum // Σ|r/y|
	noRatio        int64     // rows without a ratio: the target is 0, or the ratio exceeds float32
	errors         ranks     // |r|, rounded to float32
	moments        targetMoments
}

// NewTargets returns Targets of no rows, for targets with that middle, in a unit near their spread.
func NewTargets(middle, unit float64) *Targets {
	return &Targets{moments: targetMoments{middle: middle, unit: unit}}
}

// newTargets returns empty Targets that distinguish up to cells errors for quantiles; see newRanks.
func newTargets(cells int) *Targets { return &Targets{errors: *newRanks(cells)} }

// Add counts a row often times, with its residual r = predicted − truth rounded to float64. often is below
// 2²⁴ or has at most 24 significant bits. A row whose residual does not fit in float32 is counted
// separately, and not added to the sums. The truth must fit in float32.
func (t *Targets) Add(truth, predicted float64, often int64) {
	r := math.Abs(predicted - truth)
	if !(r <= math.MaxFloat32) {
		t.notFinite++
		return
	}
	t.rows++
	if often == 0 {
		return
	}
	t.n += often
	t.max = max(t.max, r)
	t.errors.Add(float32(r), 0, often)
	part := r / math.Abs(truth)
	if !(part <= math.MaxFloat32) {
		t.noRatio++
		part = 0
	}
	w := float32(often)
	t.y.AddWeighted64(w, truth)
	t.y2.AddWeightedSquare64(w, truth)
	t.r2.AddWeightedSquare64(w, r)
	t.abs.AddWeighted64(w, r)
	t.ratio.AddWeighted64(w, part)
	t.moments.add(truth, r, w)
}

// TargetReport has the scores of a regression over its finite residuals. All are 0 if there are none.
type TargetReport struct {
	Rows int64 `json:"rows"` // rows with a finite residual
	// NotFinite counts the rows left out because their residual is infinite or NaN.
	NotFinite int64   `json:"not_finite,omitempty"`
	RMSE      float64 `json:"rmse"` // √(Σr²/n)
	MAE       float64 `json:"mae"`  // Σ|r|/n
	MaxError  float64 `json:"max_error"`
	ErrorQuantiles
	// MAPE is Σ|r/y|/n. It is nil if a target is 0, or so small that a ratio exceeds
	// float32; NoMAPE is the number of such rows.
	MAPE       *float64 `json:"mape,omitempty"`
	NoMAPE     int64    `json:"mape_undefined,omitempty"`
	TargetMean float64  `json:"target_mean"`
	TargetDev  float64  `json:"target_dev"` // population standard deviation
	// R2 is 1 − Σr²/Σ(y−ȳ)², the share of the variance that is explained. It is nil (null in JSON) if all
	// targets are equal, as for one row.
	R2 *float64 `json:"r2"`
	TargetIntervals
	// OutOfRange has the rows with predictions far outside the range of the training targets; nil if there are
	// none.
	OutOfRange *OutOfRange `json:"far_predictions,omitempty"`
}

// ErrorQuantiles are quantiles of |r|, rounded to float32: the smallest error such that at least this
// percentage of the rows does not exceed it. If there are more different errors than cells of ranks,
// each is an upper bound, above the quantile by at most QuantileSlack.
type ErrorQuantiles struct {
	P50           float64 `json:"p50_error"`
	P90           float64 `json:"p90_error"`
	P95           float64 `json:"p95_error"`
	P99           float64 `json:"p99_error"`
	QuantileSlack float64 `json:"quantile_slack,omitempty"`
}

// TargetIntervals are the ends of 95% intervals, for independent rows like these; nil for fewer than
// MinMeanRows rows.
type TargetIntervals struct {
	RMSEInterval *[2]float64 `json:"rmse_interval,omitempty"`
	MAEInterval  *[2]float64 `json:"mae_interval,omitempty"`
	R2Interval   *[2]float64 `json:"r2_interval,omitempty"`
}

// Report returns the scores. Means and variances are rounded once, from exact sums.
func (t *Targets) Report() TargetReport {
	r := TargetReport{Rows: t.rows, NotFinite: t.notFinite, MaxError: t.max}
	if t.n == 0 {
		return r
	}
	mse := exact.Mean(t.n, &t.r2)
	mean, variance := exact.Moments(t.n, &t.y, &t.y2)
	r.RMSE, r.MAE = math.Sqrt(mse), exact.Mean(t.n, &t.abs)
	r.TargetMean, r.TargetDev = mean, math.Sqrt(max(variance, 0))
	for _, p := range []struct {
		share float64
		to    *float64
	}{{0.5, &r.P50}, {0.9, &r.P90}, {0.95, &r.P95}, {0.99, &r.P99}} {
		low, high := t.errors.quantile(p.share)
		*p.to = float64(high)
		r.QuantileSlack = max(r.QuantileSlack, float64(high)-float64(low))
	}
	r.NoMAPE = t.noRatio
	if r.NoMAPE == 0 {
		mape := exact.Mean(t.n, &t.ratio)
		r.MAPE = &mape
	}
	if variance > 0 {
		r2 := 1 - mse/variance
		r.R2 = &r2
	}
	return r
}

// sums returns the sums in the order of the encoding.
func (t *Targets) sums() [5]*exact.Sum { return [...]*exact.Sum{&t.y, &t.y2, &t.r2, &t.abs, &t.ratio} }

// Code implements wire.Coded. Sums over the same rows have equal encodings.
func (t *Targets) Code(c *wire.Coder) {
	c.Counts(&t.n, &t.notFinite, &t.noRatio)
	c.Largest(&t.max)
	c.Counts(&t.rows)
	for _, s := range t.sums() {
		c.Part(s)
	}
	t.errors.Code(c)
	c.Float64(&t.moments.middle, &t.moments.unit)
	for i := range t.moments.sums {
		c.Part(&t.moments.sums[i])
		c.Check(i > 2 || t.moments.sums[i].Sign() >= 0) // powers of |r|
	}
	if !c.Reading() {
		return
	}
	c.Check(t.noRatio <= t.rows && (t.rows > 0 || t.n == 0) && t.errors.rows == [2]int64{t.n, 0})
	c.Check(len(t.errors.cells) == 0 || t.errors.cells[0].key<<t.errors.shift|(1<<t.errors.shift-1) >= order(0))
	c.Check(t.max >= 0 && t.max <= math.MaxFloat32 && !math.Signbit(t.max))
	c.Check(t.y2.Sign() >= 0 && t.r2.Sign() >= 0 && t.abs.Sign() >= 0 && t.ratio.Sign() >= 0 &&
		(t.noRatio < t.rows || t.ratio.IsZero()))
	c.Check(t.n > 0 || t.max == 0 && t.y.IsZero() && t.y2.IsZero() && t.r2.IsZero() && t.abs.IsZero())
}
