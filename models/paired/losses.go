package paired

import (
	"math"
	"math/big"

	"github.com/bochner-ml/bochner/internal/exact"
	"gonum.org/v1/gonum/stat/distuv"
)

// Limits of Losses.
const (
	// MaxLoss is the largest loss that can be added.
	MaxLoss = 1 << 24
	// LeastRows is the number of rows, effective ones if they have weights, below which
	// Losses has no p-values: they rest on the mean of many rows.
	LeastRows = 30
)

// Losses has the moments of the losses of two models on the same rows: the sums of all
// products of up to three of
//
//	w, wa, wb
//
// with the weight w of a row, its loss a of the champion, and its loss b of the challenger,
// the products wa and wb rounded to float32. Mean, variance and skewness of every difference
// b − ra follow from them. The zero value is that of no rows.
type Losses struct {
	rows int64
	sums [moments]exact.Sum
}

// moments is the number of products of one to three factors out of three: 3 + 6 + 10.
const moments = 19

// monomials lists the products: exponents of w, wa and wb.
var monomials = func() (all [moments][3]int) {
	i := 0
	for degree := 1; degree <= 3; degree++ {
		for w := degree; w >= 0; w-- {
			for a := degree - w; a >= 0; a-- {
				all[i] = [3]int{w, a, degree - w - a}
				i++
			}
		}
	}
	return all
}()

// Valid reports whether both losses can be added.
func Valid(a, b float64) bool { return a >= 0 && a <= MaxLoss && b >= 0 && b <= MaxLoss }

// Add adds a row of a weight with its losses of the champion and of the challenger. It panics
// unless they are Valid and the weight is a whole number from 0 to 2³⁸ of at most 24 significant
// bits. A row of weight 0 changes nothing.
func (l *Losses) Add(weight int64, champion, challenger float64) {
	if weight < 0 || weight > 1<<38 || !Valid(champion, challenger) {
		panic("paired: weight or loss out of range")
	}
	if weight == 0 {
		return
	}
	l.rows++
	w := float32(weight)
	x := [3]float32{w, float32(float64(w) * champion), float32(float64(w) * challenger)}
	for i, e := range monomials {
		var f [3]float32
		n := 0
		for j, times := range e {
			for range times {
				f[n] = x[j]
				n++
			}
		}
		switch n {
		case 1:
			l.sums[i].Add(f[0])
		case 2:
			l.sums[i].AddProduct(f[0], f[1])
		default:
			l.sums[i].AddWeightedProduct(f[0], f[1], f[2])
		}
	}
}

// Merge adds the rows of m.
func (l *Losses) Merge(m *Losses) {
	l.rows += m.rows
	for i := range l.sums {
		l.sums[i].Merge(&m.sums[i])
	}
}

// Rows returns how many rows of a weight above 0 were added.
func (l *Losses) Rows() int64 { return l.rows }

// Effective returns how many rows of equal weights a mean is as precise as, (Σw)²/Σw² (Kish
// 1965).
func (l *Losses) Effective() float64 {
	if l.rows == 0 {
		return 0
	}
	w := l.sums[0].Float64()
	return min(float64(l.rows), w*w/l.sums[3].Float64())
}

// Means returns the mean losses of the champion and of the challenger, by weight, 0 without
// rows.
func (l *Losses) Means() (champion, challenger float64) {
	if l.rows == 0 {
		return 0, 0
	}
	w := l.sums[0].Float64()
	return l.sums[1].Float64() / w, l.sums[2].Float64() / w
}

// Difference returns the statistics of the challenger's losses minus those of the champion
// times ratio: with ratio 1.01, of how much the challenger is worse than one percent more
// than the champion.
func (l *Losses) Difference(ratio float64) Difference {
	d := Difference{Effective: l.Effective()}
	if l.rows == 0 {
		return d
	}
	// Two models that are nearly the same have nearly equal moments, which cancel; so the
	// arithmetic is that of numbers of 512 bits.
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(512).SetFloat64(v) }
	of := func(e [3]int) *big.Float {
		for i, m := range monomials {
			if m == e {
				f := number(0).SetInt(l.sums[i].Big())
				return f.SetMantExp(f, -298)
			}
		}
		panic("paired: not a moment")
	}
	mean := number(0).Mul(number(-ratio), of([3]int{0, 1, 0}))
	mean.Quo(mean.Add(mean, of([3]int{0, 0, 1})), of([3]int{1, 0, 0}))
	// The residuals of rows are −mean·w − ratio·wa + wb. Their square and cube are sums over
	// choices of a term in each factor.
	terms := [3]*big.Float{number(0).Neg(mean), number(-ratio), number(1)}
	power := func(degree int) *big.Float {
		sum := number(0)
		choices := 1
		for range degree {
			choices *= 3
		}
		for c := range choices {
			var e [3]int
			product := number(1)
			for k, rest := 0, c; k < degree; k, rest = k+1, rest/3 {
				e[rest%3]++
				product.Mul(product, terms[rest%3])
			}
			sum.Add(sum, product.Mul(product, of(e)))
		}
		return sum
	}
	squares := power(2)
	d.Mean, _ = mean.Float64()
	if squares.Sign() <= 0 {
		return d
	}
	root := number(0).Sqrt(squares)
	d.Error, _ = number(0).Quo(root, of([3]int{1, 0, 0})).Float64()
	d.Error *= math.Sqrt(d.Effective / max(1, d.Effective-1))
	d.Skew, _ = number(0).Quo(power(3), root.Mul(root, squares)).Float64()
	return d
}

// Difference describes the mean of a difference of losses.
type Difference struct {
	Mean  float64 // of the rows, by weight
	Error float64 // its standard error; 0 if all rows have the same difference
	// Skew is the skewness of the mean: that of the rows over √rows.
	Skew      float64
	Effective float64 // rows, in rows of equal weights
}

// PBelow returns the p-value of the hypothesis that the mean difference of all possible rows
// is at least margin, against its being less; 1 for fewer than LeastRows rows.
//
// It is that of a paired t test, corrected for skewness by the transformation of Hall (1992,
// J. R. Statist. Soc. B 54:221)
//
//	g(t) = t + G(t²/3 + 1/6) + G²t³/27,    G the skewness of the mean,
//
// which makes its error fall as 1/n instead of 1/√n, as that of the BCa bootstrap does, without
// resampling. Differences of losses are often very skewed, because a few rows have large ones.
func (d Difference) PBelow(margin float64) float64 {
	switch {
	case d.Effective < LeastRows:
		return 1
	case d.Error == 0 && d.Mean < margin:
		return 0
	case d.Error == 0:
		return 1
	}
	return d.student().CDF(d.transformed((d.Mean - margin) / d.Error))
}

// P returns the two-sided p-value of the hypothesis that the mean difference is 0.
func (d Difference) P() float64 {
	if d.Error == 0 || d.Effective < LeastRows {
		return 1
	}
	return 2 * d.student().CDF(-math.Abs(d.transformed(d.Mean/d.Error)))
}

// Bounds returns the bounds below and above which the mean difference is, with that confidence
// each, between 0.5 and 1; infinite for fewer than LeastRows rows.
func (d Difference) Bounds(confidence float64) (low, high float64) {
	if d.Effective < LeastRows {
		return math.Inf(-1), math.Inf(1)
	}
	t := d.student().Quantile(confidence)
	return d.Mean - d.Error*d.inverse(t), d.Mean - d.Error*d.inverse(-t)
}

// detectable returns the improvement of the mean that a test at 95 % shows with probability 80 %.
func (d Difference) detectable() float64 {
	if d.Effective < LeastRows {
		return math.Inf(1)
	}
	return d.Error * (distuv.UnitNormal.Quantile(0.95) + distuv.UnitNormal.Quantile(0.8))
}

func (d Difference) student() distuv.StudentsT {
	return distuv.StudentsT{Sigma: 1, Nu: d.Effective - 1}
}

// transformed returns g(t) = ((1 + Gt/3)³ − 1)/G + G/6.
func (d Difference) transformed(t float64) float64 {
	u := d.Skew * t / 3
	return t*(1+u*(1+u/3)) + d.Skew/6
}

// inverse returns the t of which transformed is s.
func (d Difference) inverse(s float64) float64 {
	if s -= d.Skew / 6; math.Abs(d.Skew) < 1e-8 {
		return s
	}
	return 3 / d.Skew * (math.Cbrt(1+d.Skew*s) - 1)
}
