package score

import (
	"math"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
	"gonum.org/v1/gonum/stat/distuv"
)

// TargetMoments has the sums for the intervals of a regression's scores. With the residual r and the target y
// of a row, both in a unit near the spread of the targets and y relative to their middle, these are the
// sums of
//
//	|r|³, r⁴, r⁶, y³, y⁴, r²y and r²y².
//
// Sums of lower powers are in Targets. The sums are exact sums of products of numbers rounded to float32.
// The zero value has no rows.
type TargetMoments struct {
	rows int64
	sums [7]exact.Sum
}

// Add adds a number of equal rows with their target and prediction, which it converts to units from the
// middle. It adds nothing if unit is 0 or the prediction is not finite.
func (p *TargetMoments) Add(truth, predicted, middle, unit float64, rows int64) {
	residual := math.Abs(predicted - truth)
	if rows == 0 || !(unit > 0) || !(residual <= math.MaxFloat32) {
		return
	}
	// Beyond 2³¹ units, a fourth power would overflow float32.
	limited := func(v float64) float32 { return float32(max(-0x1p31, min(v/unit, 0x1p31))) }
	r, y := limited(residual), limited(truth-middle)
	u, v := r*r, y*y
	p.rows += rows
	for i, f := range [len(p.sums)][2]float32{{u, r}, {u, u}, {u * u, u}, {v, y}, {v, v}, {u, y}, {u, v}} {
		p.sums[i].AddWeightedProduct(float32(rows), f[0], f[1])
	}
}

// Merge adds the rows of q.
func (p *TargetMoments) Merge(q *TargetMoments) {
	p.rows += q.rows
	MergeAll(p.sums[:], q.sums[:])
}

// Code codes the number of rows and the sums.
func (p *TargetMoments) Code(c *wire.Coder) {
	c.Counts(&p.rows)
	for i := range p.sums {
		c.Part(&p.sums[i])
	}
	c.Check(p.sums[0].Sign() >= 0 && p.sums[1].Sign() >= 0 && p.sums[2].Sign() >= 0)
}

// SquareVariance returns the variance of the squared residuals of a report, as a multiple of unit⁴.
func (p *TargetMoments) SquareVariance(r *TargetReport, unit float64) float64 {
	return max(0, exact.Mean(p.rows, &p.sums[1])-math.Pow(r.RMSE/unit, 4))
}

// SetIntervals sets the 95% intervals of the scores of a report, for effective rows of equal weights that were
// added with this middle and unit. The intervals of RMSE and MAE are intervals of the means of r² and |r|.
// The interval of R² is from the logarithm of 1 − R² = Σr²/Σ(y−ȳ)², whose variance is, to first order, the
// variance of the mean of r²/Var r − (y−ȳ)²/Var y.
func (p *TargetMoments) SetIntervals(r *TargetReport, middle, unit, effective float64) {
	if p.rows == 0 || effective < MinMeanRows || r.MaxError > 0x1p31*unit { // the sums are limited
		return
	}
	var m [len(p.sums)]float64
	for i := range m {
		m[i] = exact.Mean(p.rows, &p.sums[i])
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
