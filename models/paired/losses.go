package paired

import (
	"math"
	"math/big"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/models/score"
)

// maxLoss is the largest loss that can be added.
const maxLoss = 1 << 24

// losses holds the moments of the losses of two models on the same rows: the sums of all products of up to
// three of
//
//	w, wa, wb
//
// where w is the weight of a row, a its loss by the champion and b by the challenger. The products wa and
// wb are rounded to float32. Mean, variance and skewness of every difference b − ra follow from these sums.
// The zero value has no rows.
type losses struct {
	rows int64
	sums [moments]exact.Sum
}

// moments is the number of products of one to three factors from a set of three: 3 + 6 + 10.
const moments = 19

// monomials lists the products by the exponents of w, wa and wb.
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

// valid reports whether both losses are in the range that can be added.
func valid(a, b float64) bool { return a >= 0 && a <= maxLoss && b >= 0 && b <= maxLoss }

// Add adds a row with its weight, and its losses by the champion and by the challenger. It panics unless
// the losses are valid and the weight is a whole number from 0 to 2³⁸ with at most 24 significant bits. A
// row of weight 0 changes nothing.
func (l *losses) Add(weight int64, champion, challenger float64) {
	if weight < 0 || weight > 1<<38 || !valid(champion, challenger) {
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

// effective returns the number of rows of equal weights that give a mean of the same precision, (Σw)²/Σw²
// (Kish 1965).
func (l *losses) effective() float64 {
	if l.rows == 0 {
		return 0
	}
	w := l.sums[0].Float64()
	return min(float64(l.rows), w*w/l.sums[3].Float64())
}

// means returns the weighted mean losses of the champion and of the challenger; 0 without rows.
func (l *losses) means() (champion, challenger float64) {
	if l.rows == 0 {
		return 0, 0
	}
	w := l.sums[0].Float64()
	return l.sums[1].Float64() / w, l.sums[2].Float64() / w
}

// difference returns the mean, with its precision, of the challenger's losses minus ratio times the
// champion's. With ratio 1.01, a mean above 0 means that the challenger is worse by more than one percent.
func (l *losses) difference(ratio float64) score.Mean {
	d := score.Mean{Effective: l.effective()}
	if l.rows == 0 {
		return d
	}
	// Moments of two similar models are nearly equal and cancel, so the arithmetic has 512 bits.
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(512).SetFloat64(v) }
	moment := func(e [3]int) *big.Float {
		for i, m := range monomials {
			if m == e {
				f := number(0).SetInt(l.sums[i].Big())
				return f.SetMantExp(f, -298)
			}
		}
		panic("paired: not a moment")
	}
	mean := number(0).Mul(number(-ratio), moment([3]int{0, 1, 0}))
	mean.Quo(mean.Add(mean, moment([3]int{0, 0, 1})), moment([3]int{1, 0, 0}))
	// The residuals of rows are −mean·w − ratio·wa + wb. Expand their square and cube, one term from each
	// factor.
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
			sum.Add(sum, product.Mul(product, moment(e)))
		}
		return sum
	}
	squares := power(2)
	d.Mean, _ = mean.Float64()
	if squares.Sign() <= 0 {
		return d
	}
	root := number(0).Sqrt(squares)
	d.StdErr, _ = number(0).Quo(root, moment([3]int{1, 0, 0})).Float64()
	d.StdErr *= math.Sqrt(d.Effective / max(1, d.Effective-1))
	d.Skew, _ = number(0).Quo(power(3), root.Mul(root, squares)).Float64()
	return d
}
