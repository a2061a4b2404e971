package score

import (
	"math"
	"math/bits"

	"github.com/bochner-ml/bochner/io/wire"
	"gonum.org/v1/gonum/stat/distuv"
)

// auc returns the area under the ROC curve of kind 1 against kind 0: the share of pairs, one row of each
// kind, in which the row of kind 1 has the larger value; equal values count half (Mann and Whitney 1947).
// It is 0 if a kind has no rows. The true area is within slack of it. slack is 0 if r is exact, apart from
// the rounding of the last division.
func (r *ranks) auc() (area, slack float64) {
	n := r.rows
	if n[0] == 0 || n[1] == 0 {
		return 0, 0
	}
	r.flush()
	var twice, mixed wide
	below := int64(0)
	for _, c := range r.cells {
		twice.add(c.n[1], 2*below+c.n[0])
		mixed.add(c.n[1], c.n[0])
		below += c.n[0]
	}
	var pairs wide
	pairs.add(n[0], n[1])
	pairs.add(n[0], n[1])
	area = twice.float() / pairs.float()
	if r.shift > 0 {
		slack = mixed.float() / pairs.float()
	}
	return area, slack
}

// wide is a 128-bit sum of products of counts below 2⁶³.
type wide struct{ hi, lo uint64 }

func (w *wide) add(a, b int64) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, lo, 0)
	w.hi += hi + carry
}

func (w *wide) merge(v *wide) {
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, v.lo, 0)
	w.hi += v.hi + carry
}

// Code implements wire.Coded.
func (w *wide) Code(c *wire.Coder) {
	if !wire.Merged(c, new(wide), w.merge) {
		c.Uint64(&w.hi, &w.lo)
	}
}

func (w *wide) float() float64 { return float64(float64(w.hi)*0x1p64) + float64(w.lo) }

// averagePrecision returns Σ (R_i − R_{i−1})·P_i, with the different values as thresholds, from the largest
// to the smallest. P_i is the share of kind 1 among the rows at or above threshold i, and R_i the share of
// all rows of kind 1 that are at or above it. The true value is between low and high. All three are equal
// if r is exact, apart from rounding, and 0 if no row is of kind 1.
func (r *ranks) averagePrecision() (mean, low, high float64) {
	n := r.rows
	if n[1] == 0 {
		return 0, 0, 0
	}
	r.flush()
	var above [2]int64
	for i := len(r.cells) - 1; i >= 0; i-- {
		c := r.cells[i].n
		if p := float64(c[1]); p > 0 {
			hits, others := float64(above[1]), float64(above[0])
			value := float64(p * ((hits + p) / (hits + p + others + float64(c[0]))))
			mean += value
			if r.shift == 0 {
				low += value
				high += value
			} else {
				// The precision at a row is least if all others of the cell precede its first row, and
				// greatest if none precedes its last row.
				low += float64(p * ((hits + 1) / (hits + 1 + others + float64(c[0]))))
				high += float64(p * ((hits + p) / (hits + p + others)))
			}
		}
		above[0] += c[0]
		above[1] += c[1]
	}
	p := float64(n[1])
	return mean / p, low / p, high / p
}

// quantile returns the smallest value, of either kind, such that at least the share q of the rows is not
// above it. The value is between low and high, which are equal if r is exact, and 0 without rows. quantile
// panics unless 0 < q ≤ 1.
func (r *ranks) quantile(q float64) (low, high float32) {
	if !(q > 0 && q <= 1) {
		panic("score: quantile out of range")
	}
	r.flush()
	need := int64(math.Ceil(float64(q * float64(r.ranked()))))
	for _, c := range r.cells {
		need -= c.n[0] + c.n[1]
		if need <= 0 {
			return r.ends(c)
		}
	}
	return 0, 0
}

// fewRanked is a number of rows of the rarer kind. With fewer rows, an interval of the area also covers the
// variance for two exponential distributions, because few rows tell little about their own variance.
const fewRanked = 100

// areaInterval returns the ends of the 95% interval of the area under the ROC curve, if the share effective
// of the rows is independent. It is an interval of the logit of the area, from the variance (DeLong, DeLong
// and Clarke-Pearson 1988)
//
//	s₁²/n₁ + s₀²/n₀,   where s² is the variance of the share of rows of the other kind that a row precedes,
//
// and quantiles of Student's t (Welch). Without rows of both kinds it is 0 to 1.
func (r *ranks) areaInterval(effective float64) (low, high float64) {
	n := r.rows
	if n[0] == 0 || n[1] == 0 {
		return 0, 1
	}
	area, slack := r.auc()
	ones, zeros := float64(n[1]), float64(n[0])
	var below, above, v1, v0 float64 // rows of kind 0 below, rows of kind 1 up to this cell, and variances of the shares
	for _, c := range r.cells {
		a, b := float64(c.n[1]), float64(c.n[0])
		d1 := (below+b/2)/zeros - area
		d0 := 1 - (above+a/2)/ones - area
		v1 += float64(a * float64(d1*d1))
		v0 += float64(b * float64(d0*d0))
		below += b
		above += a
	}
	m1, m0 := max(1, ones*effective), max(1, zeros*effective)
	few := int64(math.RoundToEven(min(m1, m0)))
	if few < fewRanked {
		low, _ = areaInterval(max(0, area-slack), int64(math.RoundToEven(m0)), int64(math.RoundToEven(m1)))
		_, high = areaInterval(min(1, area+slack), int64(math.RoundToEven(m0)), int64(math.RoundToEven(m1)))
	} else {
		low, high = max(0, area-slack), min(1, area+slack)
	}
	v1, v0 = v1/ones/max(1, m1-1), v0/zeros/max(1, m0-1)
	if !(area > 0 && area < 1 && v1+v0 > 0 && few > 1) {
		return low, high
	}
	freedom := float64((v1+v0)*(v1+v0)) / (float64(v1*v1)/(m1-1) + float64(v0*v0)/(m0-1))
	half := distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(0.975) * math.Sqrt(v1+v0) / (area * (1 - area))
	end := func(area, by float64) float64 {
		if area <= 0 || area >= 1 {
			return area
		}
		return 1 / (1 + math.Exp(-(math.Log(area/(1-area)) + by)))
	}
	return min(low, end(area-slack, -half)), max(high, end(area+slack, half))
}

// areaInterval returns the ends of a 95% interval of the area under the ROC curve, given the area of n0 and
// n1 independent rows: the areas A from which it differs by at most 1.96 times their standard error
//
//	√(A(1−A)(1 + m(1−A)/(2−A) + mA/(1+A)) / (n₀n₁)),   m = (n₀+n₁)/2 − 1
//
// (Newcombe 2006, method 5). It is within 0 and 1 and never has width 0. Without rows of
// both kinds it is 0 to 1.
func areaInterval(area float64, n0, n1 int64) (low, high float64) {
	if n0 < 1 || n1 < 1 {
		return 0, 1
	}
	pairs, m := float64(float64(n0)*float64(n1)), (float64(n0)+float64(n1))/2-1
	within := func(a float64) bool {
		f := 1 + float64(m*(1-a)/(2-a)) + float64(m*a/(1+a))
		return math.Abs(area-a) <= z*math.Sqrt(float64(float64(a*(1-a))*f)/pairs)
	}
	end := func(in, out float64) float64 {
		if within(out) {
			return out
		}
		return Bisect(out, in, within)
	}
	return end(area, 0), end(area, 1)
}

// CurvePoint is the result of assigning the rows at or above a threshold to a class.
type CurvePoint struct {
	Threshold     float64 // of the probability or the score
	FalsePositive float64 // share of the other rows that are assigned to the class
	TruePositive  float64 // recall: share of the rows of the class that are assigned to it
	Precision     float64 // share of the assigned rows that are of the class
}

// Curve has points of the ROC curve and the precision-recall curve of a class.
type Curve struct {
	Class  int
	Area   float64 // under the ROC curve
	Points []CurvePoint
}

// Curves returns the curve of the positive of two classes, or of each of several classes against all
// others. A curve has about points points. Classes that are not ranked, or have no rows, have no curve.
func (r *Ranking) Curves(points int) (all []Curve) {
	for c := range r.ranks {
		class, ranks := c, &r.ranks[c]
		if r.k == 2 {
			class, ranks = r.positive, &r.ranks[len(r.ranks)-1]
		}
		if n := ranks.rows; n[0] > 0 && n[1] > 0 {
			area, _ := ranks.auc()
			all = append(all, Curve{class, area, ranks.curve(points)})
		}
		if r.k == 2 {
			break
		}
	}
	return all
}

// curve returns points at about equal distances along the ROC curve.
func (r *ranks) curve(points int) []CurvePoint {
	n := r.rows
	r.flush()
	all := []CurvePoint{{Threshold: math.Inf(1), Precision: 1}}
	var above [2]int64
	for i := len(r.cells) - 1; i >= 0; i-- {
		c := r.cells[i]
		above[0], above[1] = above[0]+c.n[0], above[1]+c.n[1]
		low, _ := r.ends(c)
		p := CurvePoint{float64(low), float64(above[0]) / float64(n[0]), float64(above[1]) / float64(n[1]),
			float64(above[1]) / float64(max(1, above[0]+above[1]))}
		last := all[len(all)-1]
		if i == 0 || float64(points)*(p.FalsePositive-last.FalsePositive+p.TruePositive-last.TruePositive) >= 2 {
			all = append(all, p)
		}
	}
	return all
}
