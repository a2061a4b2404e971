package score

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
	"gonum.org/v1/gonum/stat/distuv"
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

// Code codes the counts, the largest residual, the sums and the ranks. Sums over the same rows
// have equal encodings.
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

// targetMoments has the sums for the intervals of a regression's scores. With the residual r and the target y
// of a row, both in a unit near the spread of the targets and y relative to their middle, these are the
// sums of
//
//	|r|³, r⁴, r⁶, y³, y⁴, r²y and r²y².
//
// Sums of lower powers are in Targets. The sums are exact sums of products of numbers rounded to float32.
type targetMoments struct {
	middle, unit float64 // without a unit, there are no sums
	sums         [7]exact.Sum
}

// add adds a number of equal rows with their target and the absolute value of their residual.
func (p *targetMoments) add(truth, residual float64, rows float32) {
	if !(p.unit > 0) {
		return
	}
	// Beyond 2³¹ units, a fourth power would overflow float32.
	limited := func(v float64) float32 { return float32(max(-0x1p31, min(v/p.unit, 0x1p31))) }
	r, y := limited(residual), limited(truth-p.middle)
	u, v := r*r, y*y
	for i, f := range [len(p.sums)][2]float32{{u, r}, {u, u}, {u * u, u}, {v, y}, {v, v}, {u, y}, {u, v}} {
		p.sums[i].AddWeightedProduct(rows, f[0], f[1])
	}
}

// SquareVariance returns the variance of the squared residuals of the report, as a multiple of unit⁴.
func (t *Targets) SquareVariance(r *TargetReport) float64 {
	return max(0, exact.Mean(t.n, &t.moments.sums[1])-math.Pow(r.RMSE/t.moments.unit, 4))
}

// SetIntervals sets the 95% intervals of the scores of the report, for effective rows of equal weights. The intervals of RMSE and MAE are intervals of the means of r² and |r|.
// The interval of R² is from the logarithm of 1 − R² = Σr²/Σ(y−ȳ)², whose variance is, to first order, the
// variance of the mean of r²/Var r − (y−ȳ)²/Var y.
func (t *Targets) SetIntervals(r *TargetReport, effective float64) {
	middle, unit, sums := t.moments.middle, t.moments.unit, &t.moments.sums
	if t.n == 0 || !(unit > 0) || effective < MinMeanRows || r.MaxError > 0x1p31*unit { // the sums are limited
		return
	}
	var m [len(sums)]float64
	for i := range m {
		m[i] = exact.Mean(t.n, &sums[i])
	}
	// In units and from the middle: the means of |r|, r² and y, and the variance of y.
	a, u := r.MAE/unit, math.Pow(r.RMSE/unit, 2)
	y, spread := (r.TargetMean-middle)/unit, math.Pow(r.TargetDev/unit, 2)
	au, uu, uuu, vy, vv, uy, uv := m[0], m[1], m[2], m[3], m[4], m[5], m[6] // with v = y²
	r.RMSEInterval, r.MAEInterval = meanInterval(u, uu, uuu, effective), meanInterval(a, u, au, effective)
	for i := range r.RMSEInterval {
		r.RMSEInterval[i] = unit * math.Sqrt(r.RMSEInterval[i])
		r.MAEInterval[i] *= unit
	}
	if r.R2 == nil || !(spread > 0) || !(u > 0) {
		return
	}
	both := uv - 2*y*uy + y*y*u                            // the mean of r²(y−ȳ)²
	fourth := vv - 4*y*vy + 6*y*y*(spread+y*y) - 3*y*y*y*y // the mean of (y−ȳ)⁴
	variance := uu/(u*u) - 2*both/(u*spread) + fourth/(spread*spread)
	width := math.Exp(distuv.StudentsT{Sigma: 1, Nu: effective - 1}.Quantile(0.975) * math.Sqrt(max(variance,
		0)/(effective-1)))
	r.R2Interval = &[2]float64{1 - (1-*r.R2)*width, 1 - (1-*r.R2)/width}
}

// OutOfRange counts the rows whose predictions are outside the range of the training targets by more than half of
// the range. The zero value counts no rows.
type OutOfRange struct {
	Rows     int64   `json:"rows"`
	Furthest float64 `json:"furthest"` // the prediction that is furthest from the range
	// Low and High are the smallest and the largest training target; set by On.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Add adds a row. The prediction is in half ranges of the targets from their middle: within the range it is
// from −1 to 1.
func (f *OutOfRange) Add(predicted float64) {
	if math.Abs(predicted) > 2 && !math.IsInf(predicted, 0) {
		f.Merge(&OutOfRange{Rows: 1, Furthest: predicted})
	}
}

// Merge adds the rows of g.
func (f *OutOfRange) Merge(g *OutOfRange) {
	f.Rows += g.Rows
	if a, b := math.Abs(f.Furthest), math.Abs(g.Furthest); b > a || b == a && g.Furthest > 0 {
		f.Furthest = g.Furthest
	}
}

// Code codes the counts.
func (f *OutOfRange) Code(c *wire.Coder) {
	if wire.Merged(c, new(OutOfRange), f.Merge) {
		return
	}
	c.Counts(&f.Rows)
	c.Float64(&f.Furthest)
	c.Check((f.Rows > 0) == (math.Abs(f.Furthest) > 2))
}

// Unscaled returns f with its prediction in the unit of the targets, whose range is low to high; nil if there are
// no rows.
func (f OutOfRange) Unscaled(low, high float64) *OutOfRange {
	if f.Rows == 0 {
		return nil
	}
	f.Low, f.High, f.Furthest = low, high, low+(high-low)/2*(1+f.Furthest)
	return &f
}

// Text describes the result of On for people. rows is the number of all rows.
func (f *OutOfRange) Text(rows int64) string {
	return fmt.Sprintf("%d of %d predictions are far outside the range of the training targets, %.6g to %.6g; the "+
		"furthest is %.6g", f.Rows, rows, f.Low, f.High, f.Furthest)
}
