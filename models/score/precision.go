package score

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
	"gonum.org/v1/gonum/stat/distuv"
)

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

// SetIntervals sets the 95% intervals of the scores of the report, for effective rows of equal weights. The
// intervals of RMSE and MAE are intervals of the means of r² and |r|. The interval of R² is from the logarithm of
// 1 − R² = Σr²/Σ(y−ȳ)², whose variance is, to first order, the variance of the mean of r²/Var r − (y−ȳ)²/Var y.
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

// Code implements wire.Coded.
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
