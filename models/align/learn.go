package align

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
)

var sampleRow = stream.PurposeOf("align/sample")

// Result is the result of Learn.
type Result struct {
	W       []float32 // frequencies in turns (T×d), in the order in which they were found
	Reports []Report  // one per round
	Dual    *Dual     // the dual weights after the last round
}

// Learn plays the game for rows in memory: Algorithm 2 of Bullins, Zhang & Zhang (2018). x (n×d,
// row-major) are the rows and class their classes, 0 … classes−1. The frequencies found have equal
// weights. The result depends on the rows and their order, but not on threads. progress, if not
// nil, is called with the report of each round. The error names the invalid option or class, or
// says that values are too large. It panics if x is too short.
func Learn(x []float32, d int, class []int32, classes int, o Options, threads int,
	progress func(Report)) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	n := len(class)
	if d < 1 || len(x) < n*d {
		panic("align: Learn: slice too short")
	}
	t, err := newTable(class, classes, o)
	if err != nil {
		return nil, err
	}
	seen := t.sample()
	rows := make([]float32, 0, len(seen)*d)
	for _, i := range seen {
		rows = append(rows, x[i*d:(i+1)*d]...)
	}
	field := NewField(rows, len(seen), d)
	a := make([]float32, t.dual.K*len(seen))
	result := &Result{Dual: t.dual}
	for len(result.W) < o.Frequencies*d {
		for k := range t.dual.K {
			alpha, y := t.dual.Row(k)
			for j, i := range seen {
				a[k*len(seen)+j] = float32(alpha[i]) * y[i]
			}
		}
		found := o.Search.run(field, a, t.dual.K, t.Rounds, 0, o.Search.Chains, threads)
		if err := found.lost(); err != nil {
			return nil, fmt.Errorf("align: %w", err)
		}
		taken := found.pick(min(o.Take, o.Frequencies-len(result.W)/d), o.Apart/o.Search.Width)
		w := make([]float32, 0, len(taken)*d)
		for _, j := range taken {
			w = append(w, found.W[j*d:(j+1)*d]...)
		}
		result.W = append(result.W, w...)
		packed := blas.Pack(w, nil, len(taken), d)
		report, err := t.step(2*len(taken), len(taken), func(dst []float32, lo, hi int) {
			packed.CosSin(dst, x[lo*d:hi*d], hi-lo, 1, threads)
		})
		if err != nil {
			return nil, err
		}
		report.Zeta, report.Xi = found.Zeta, found.Xi
		result.Reports = append(result.Reports, report)
		if progress != nil {
			progress(report)
		}
	}
	return result, nil
}

// sample returns the indices of the rows that the search uses, in ascending order.
func (t *table) sample() []int {
	order := make([]int, t.n)
	for i := range order {
		order[i] = i
	}
	if t.o.Sample == 0 || t.o.Sample >= t.n {
		return order
	}
	rank := make([]uint64, t.n)
	for i := range rank {
		rank[i] = stream.New(t.o.Search.Seed, sampleRow, uint64(i)).Uint64()
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(rank[i], rank[j]), cmp.Compare(i, j)) })
	order = order[:t.o.Sample]
	slices.Sort(order)
	return order
}

// SampleSize returns how many rows a search should use. With that many rows, and with probability
// at least 1−δ, the potential differs by at most eps from the potential of the distribution that
// the rows come from, at all frequencies with ‖ω‖ ≤ radius (in radians) at once:
//
//	n ≥ (8R_x²R_ω²/ε²)(d·log(2R_xR_ω/ε) + log(1/δ))      (Bullins, Zhang & Zhang 2018, Theorem 4.4, Appendix E)
//
// Rows have length d and ‖x‖ ≤ norm, and all dual weights are 1. The bound is proven but far too
// large in practice. The error names the invalid argument.
func SampleSize(d int, norm, radius, eps, delta float64) (float64, error) {
	for _, o := range []struct {
		name  string
		value float64
	}{{"norm", norm}, {"radius", radius}, {"eps", eps}, {"delta", delta}} {
		if !(o.value > 0) || math.IsInf(o.value, 1) {
			return 0, fmt.Errorf("align: sample size: %s must be > 0 and finite (have %v)", o.name, o.value)
		}
	}
	if d < 1 || delta >= 1 {
		return 0, fmt.Errorf("align: sample size: want d ≥ 1 and delta < 1 (have %d, %v)", d, delta)
	}
	r := float64(norm * radius)
	net := float64(d) * math.Log(max(1, 2*r/eps)) // log of the size of a net over the frequencies
	per := 8 * r * r / (eps * eps)
	return math.Ceil(per * (float64(net) - math.Log(delta))), nil
}
