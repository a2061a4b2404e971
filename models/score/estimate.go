package score

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// MinMeanRows is the number of rows (effective rows, if they have weights) below which a Mean has neither
// p-values nor bounds, because these assume many rows.
const MinMeanRows = 30

// Mean is the mean over rows of a value, such as a loss or a difference of losses, with its precision.
type Mean struct {
	Mean   float64 // of the rows, by weight
	StdErr float64 // its standard error; 0 if all rows have the same value
	// Skew is the skewness of the mean: the skewness of the rows divided by √rows.
	Skew      float64
	Effective float64 // number of rows of equal weights of the same precision
}

// PBelow returns the p-value of the hypothesis that the population mean is at least margin, against the
// alternative that it is less. It is 1 for fewer than MinMeanRows rows.
//
// It is the p-value of a t test, corrected for skewness by the transformation of Hall (1992,
// J. R. Statist. Soc. B 54:221)
//
//	g(t) = t + G(t²/3 + 1/6) + G²t³/27,    G the skewness of the mean,
//
// which makes the error of the p-value fall as 1/n instead of 1/√n, as with the BCa bootstrap but without
// resampling. Losses and their differences are often very skewed, because a few rows have large ones.
func (e Mean) PBelow(margin float64) float64 {
	switch {
	case e.Effective < MinMeanRows:
		return 1
	case e.StdErr == 0 && e.Mean < margin:
		return 0
	case e.StdErr == 0:
		return 1
	}
	return e.student().CDF(e.transformed((e.Mean - margin) / e.StdErr))
}

// P returns the two-sided p-value of the hypothesis that the mean is 0.
func (e Mean) P() float64 {
	if e.StdErr == 0 || e.Effective < MinMeanRows {
		return 1
	}
	return 2 * e.student().CDF(-math.Abs(e.transformed(e.Mean/e.StdErr)))
}

// Bounds returns a lower and an upper bound of the population mean. Each holds with the given confidence,
// between 0.5 and 1. They are infinite for fewer than MinMeanRows rows.
func (e Mean) Bounds(confidence float64) (low, high float64) {
	if e.Effective < MinMeanRows {
		return math.Inf(-1), math.Inf(1)
	}
	t := e.student().Quantile(confidence)
	return e.Mean - e.StdErr*e.inverse(t), e.Mean - e.StdErr*e.inverse(-t)
}

func (e Mean) student() distuv.StudentsT { return distuv.StudentsT{Sigma: 1, Nu: e.Effective - 1} }

// transformed returns g(t) = ((1 + Gt/3)³ − 1)/G + G/6.
func (e Mean) transformed(t float64) float64 {
	u := e.Skew * t / 3
	return t*(1+u*(1+u/3)) + e.Skew/6
}

// inverse returns t with transformed(t) = s.
func (e Mean) inverse(s float64) float64 {
	s -= e.Skew / 6
	if math.Abs(e.Skew) < 1e-8 {
		return s
	}
	return 3 / e.Skew * (math.Cbrt(1+e.Skew*s) - 1)
}

// newMean returns the mean of rows with its precision, from the means of the values, of their squares and
// of their cubes, and the effective number of rows.
func newMean(mean, square, cube, effective float64) Mean {
	e := Mean{Mean: mean, Effective: effective}
	if variance := square - mean*mean; variance > 0 && effective > 1 {
		e.StdErr = math.Sqrt(variance / (effective - 1))
		e.Skew = (cube - mean*(3*square-2*mean*mean)) / math.Pow(variance, 1.5) / math.Sqrt(effective)
	}
	return e
}

// meanInterval returns the 95% interval of the mean of values ≥ 0; the arguments are as for newMean. It is
// nil for fewer than MinMeanRows.
func meanInterval(mean, square, cube, effective float64) *[2]float64 {
	if effective < MinMeanRows {
		return nil
	}
	low, high := newMean(mean, square, cube, effective).Bounds(0.975)
	return &[2]float64{max(low, 0), high}
}

// WilsonInterval returns the ends of the 95% interval of a rate, given k of n independent
// rows: the score interval (Wilson 1927),
//
//	(p + z²/2n ± z√(p(1−p)/n + z²/4n²)) / (1 + z²/n),   p = k/n, z = 1.96.
//
// It is within 0 and 1 and never has width 0: if none of n rows is wrong, the rate is at most z²/(n + z²),
// where p ± √(p(1−p)/n) would give 0. Without rows the interval is 0 to 1.
func WilsonInterval(k, n int64) (low, high float64) {
	return intervalOf(float64(k)/float64(max(n, 1)), float64(n))
}

// z975 is the 97.5% quantile of the normal distribution.
const z975 = 1.959963984540054

// intervalOf is WilsonInterval for a rate p of independent rows, whose number need not be whole.
func intervalOf(p, rows float64) (low, high float64) {
	if rows <= 0 {
		return 0, 1
	}
	square := float64(z975 * z975 / rows)
	centre := p + square/2
	half := math.Sqrt(float64(square*(p*(1-p))) + float64(square*square/4))
	low, high = (centre-half)/(1+square), (centre+half)/(1+square)
	if p == 0 {
		low = 0 // remove the rounding error
	}
	if p == 1 {
		high = 1
	}
	return low, high
}

// Bisect returns the point between out and in that is closest to out such that holds is true from there to
// in.
func Bisect(out, in float64, holds func(float64) bool) float64 {
	for range 60 {
		if middle := (out + in) / 2; holds(middle) {
			in = middle
		} else {
			out = middle
		}
	}
	return in
}
