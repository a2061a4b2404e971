package preprocess

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/exact"
)

// MaxKnots is the largest number of knots of a column of NormalScores.
const MaxKnots = 256

// NormalScores is the recipe of x_j ↦ s_j(x_j), where s_j is piecewise linear through the knots of column j and
// constant beyond them. With the knots of NewNormalScores, which are quantiles, columns become nearly standard normal
// for any distribution, and no value is further from zero than the outermost scores (van der Waerden 1952). A column
// without knots, such as the numbers of a category, is unchanged. NaN stays NaN.
//
// Between the knots a < b with scores s < t it is s + (t−s)·((x−a)/(b−a)), in float64 and rounded to
// float32 once, so s_j never decreases.
type NormalScores struct {
	Columns []Knots `json:"columns"` // one per column
}

// Knots holds the knots of one column of NormalScores. Both slices are empty, or have 1 to MaxKnots numbers.
type Knots struct {
	At     features.Floats `json:"at,omitempty"`     // values of the column, strictly ascending
	Scores features.Floats `json:"scores,omitempty"` // of each, ascending
}

// NewNormalScores returns the recipe for columns distributed as in the n rows of x (n×d, row-major, n ≥ 1),
// which may be a sample and must not have NaN. The knots of a column are its smallest and its largest
// value, and quantiles between them with about equally spaced scores: at most knots of them, or all
// distinct values if there are fewer. The score of a knot v is
//
//	Φ⁻¹(p),   p = (rows below v + half the rows that equal v) / n
//
// so equal values share the score of their middle, and a constant column becomes 0. Columns for which keep
// is true have no knots.
func NewNormalScores(x []float32, n, d, knots int, keep func(column int) bool) NormalScores {
	if n < 1 || d < 1 || len(x) < n*d || knots < 2 || knots > MaxKnots {
		panic("scale: NewNormalScores: no rows, slice too short, or number of knots out of range")
	}
	r := NormalScores{Columns: make([]Knots, d)}
	values, places := make([]float32, n), ranks(n, knots)
	for j := range d {
		if keep != nil && keep(j) {
			continue
		}
		for i := range values {
			values[i] = x[i*d+j]
		}
		slices.Sort(values)
		r.Columns[j] = knotsOf(values, places, knots)
	}
	return r
}

// ranks returns the ranks, from 0 to n−1, of at most limit of n sorted values, about equally spaced in normal scores.
func ranks(n, limit int) []int {
	score := func(i int) float64 { return stream.Quantile((float64(i) + 0.5) / float64(n)) }
	step := (score(n-1) - score(0)) / float64(limit-1)
	places, last := []int{0}, score(0)
	for i := 1; i < n-1 && len(places) < limit-1; i++ {
		if s := score(i); s >= last+step {
			places, last = append(places, i), s
		}
	}
	if n > 1 {
		places = append(places, n-1)
	}
	return places
}

// knotsOf returns the knots of a column with these ascending values: at the ranks in places, or at all
// distinct values.
func knotsOf(values []float32, places []int, limit int) (k Knots) {
	n := len(values)
	if distinct := slices.Compact(slices.Clone(values)); len(distinct) <= limit {
		places = places[:0:0]
		for i := range values {
			if i == 0 || values[i] != values[i-1] {
				places = append(places, i)
			}
		}
	}
	for _, at := range places {
		v := values[at]
		if m := len(k.At); m > 0 && k.At[m-1] == v {
			continue
		}
		below := sort.Search(n, func(i int) bool { return values[i] >= v })
		to := below + sort.Search(n-below, func(i int) bool { return values[below+i] > v })
		p := (float64(below) + float64(to)) / float64(2*n)
		k.At, k.Scores = append(k.At, v), append(k.Scores, float32(stream.Quantile(p)))
	}
	return k
}

// New returns the map.
func (r NormalScores) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	columns := make([]Knots, len(r.Columns))
	for j, k := range r.Columns {
		columns[j] = Knots{slices.Clone(k.At), slices.Clone(k.Scores)}
	}
	return byColumns(len(columns), func(first, n int) func(dst, x []float32) {
		columns := columns[first : first+n]
		return func(dst, x []float32) {
			for j, v := range x {
				dst[j] = columns[j].score(v)
			}
		}
	}), nil
}

// score returns s(v).
func (k *Knots) score(v float32) float32 {
	last := len(k.At) - 1
	switch {
	case last < 0 || math.IsNaN(float64(v)):
		return v
	case v <= k.At[0]:
		return k.Scores[0]
	case v >= k.At[last]:
		return k.Scores[last]
	}
	i := sort.Search(last, func(i int) bool { return k.At[i] > v }) // At[i−1] ≤ v < At[i]
	a, b := float64(k.At[i-1]), float64(k.At[i])
	s, t := float64(k.Scores[i-1]), float64(k.Scores[i])
	return float32(s + float64((t-s)*((float64(v)-a)/(b-a))))
}

// Validate returns an error that names the invalid column.
func (r NormalScores) Validate() error {
	if err := checkDim("NormalScores: columns", len(r.Columns)); err != nil {
		return err
	}
	for j, k := range r.Columns {
		if len(k.At) != len(k.Scores) || len(k.At) > MaxKnots {
			return fmt.Errorf("scale: NormalScores: column %d must have at most %d knots, and a score for each (have %d and %d)",
				j+1, MaxKnots, len(k.At), len(k.Scores))
		}
		for i, v := range k.At {
			if s := k.Scores[i]; !exact.Finite(v) || !exact.Finite(s) || i > 0 && !(v > k.At[i-1] && s >= k.Scores[i-1]) {
				return fmt.Errorf("scale: NormalScores: knot %d of column %d must be finite and above the one before it, and its "+
					"score not below (have %v ↦ %v)", i+1, j+1, v, s)
			}
		}
	}
	return nil
}

// Dims implements features.Recipe.
func (r NormalScores) Dims() (in, out int) { return len(r.Columns), len(r.Columns) }
