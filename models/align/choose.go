package align

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features/learned"
)

// HarmonicsResult is the result of a game over given features.
type HarmonicsResult struct {
	Count   []int    // how often each feature was taken
	Reports []Report // one per round
	Dual    *Dual    // the dual weights after the last round
}

// potentials stores in v (length r) the potentials v_j = Σ_k (sums_kj/n)² of r features. sums (K×r)
// has the sums Σ_i α_i y_i φ_j(x_i) over n rows for each of the K weightings.
func potentials(v, sums []float64, r int, n int64) {
	clear(v[:r])
	for i, s := range sums {
		s /= float64(n)
		v[i%r] += float64(s * s)
	}
}

// choose plays the game with the kernel player restricted to the values of the rows, which are features.
// Each round takes the o.Take features of the largest potential, until o.Frequencies were taken in
// all. A feature may be taken again. With spherical harmonics as features this is the game of
// rotation-invariant kernels (Bullins, Zhang & Zhang 2018, Appendix A.3).
//
// o.Search, o.Sample and o.Apart are ignored. The largest potential is exact, so Report.Lower is a
// proven bound. The error names the invalid option or class.
func choose(rows Rows, o Options, progress func(Report)) (*HarmonicsResult, error) {
	o.Search = Search{Chains: 1, Steps: 1, Width: 1, StartDeviation: 1, Step: 1}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	z, r, n := rows.X, rows.D, len(rows.Class)
	t, err := newTable(rows, o)
	if err != nil {
		return nil, err
	}
	t.Peak = 0
	for _, v := range z[:n*r] {
		t.Peak = max(t.Peak, math.Abs(float64(v)))
	}
	chosen := &HarmonicsResult{Count: make([]int, r), Dual: t.dual}
	v, order := make([]float64, r), make([]int, r)
	for left := o.Frequencies; left > 0; {
		sums := make([]float64, t.dual.K*r)
		t.each(func(lo, hi int) { t.dual.addSums(sums, z[lo*r:hi*r], lo) })
		potentials(v, sums, r, int64(n))
		for j := range order {
			order[j] = j
		}
		slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(v[j], v[i]), cmp.Compare(i, j)) })
		taken := order[:min(o.Take, left, r)]
		for _, j := range taken {
			chosen.Count[j]++
		}
		left -= len(taken)
		report, err := t.step(len(taken), len(taken), func(dst []float32, lo, hi int) {
			for i := lo; i < hi; i++ {
				for l, j := range taken {
					dst[(i-lo)*len(taken)+l] = z[i*r+j]
				}
			}
		})
		if err != nil {
			return nil, err
		}
		chosen.Reports = append(chosen.Reports, report)
		if progress != nil {
			progress(report)
		}
	}
	return chosen, nil
}

// Harmonics plays the game with the first spherical harmonics on the rows, of which only the
// directions matter. first is the number of harmonics to choose from; each has mean square 1 on the
// sphere. It returns the harmonics that were taken, with their counts. progress, if not nil, is called
// with the report of each round. The error names what is invalid.
func Harmonics(rows Rows, first int, o Options, progress func(Report)) (learned.Harmonics, *HarmonicsResult, error) {
	d, n := rows.D, len(rows.Class)
	taken := learned.Harmonics{In: d}
	if d < 2 || first < 1 {
		return taken, nil, fmt.Errorf(
			"align: harmonics need rows of at least 2 values, and at least 1 harmonic (have %d, %d)", d, first)
	}
	all := learned.Harmonics{In: d, Terms: learned.FirstHarmonics(d, first)}
	m, err := all.New()
	if err != nil {
		return taken, nil, err
	}
	z := make([]float32, n*first)
	m.Apply(z, rows.X, n)
	scale := float32(math.Sqrt(float64(first))) // the map gives each harmonic mean square 1/first
	for i := range z {
		z[i] *= scale
	}
	chosen, err := choose(Rows{z, first, rows.Class, rows.Classes}, o, progress)
	if err != nil {
		return taken, nil, err
	}
	for j, count := range chosen.Count {
		if count > 0 {
			term := all.Terms[j]
			term.Count = count
			taken.Terms = append(taken.Terms, term)
		}
	}
	return taken, chosen, nil
}
