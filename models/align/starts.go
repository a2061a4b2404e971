package align

import (
	"slices"

	"github.com/bochner-ml/bochner/models/search/pairs"
)

const (
	mostStarts = 1000 // frequencies that package pairs may propose
	probes     = 50   // chains that FindStarts runs from random frequencies, for comparison
	ahead      = 2    // a needle has more than this multiple of the largest potential found at random
)

// needles returns the needles of the field's rows x (n×d), in turns, with their potentials. A
// needle is a frequency of one or two columns that is aligned with the labels beyond chance
// (package pairs) and whose potential is more than twice random(a). random returns the largest
// potential of random frequencies under the weightings a. Among many columns, random frequencies
// hardly ever come near a needle. Both results are nil if there are none. They do not depend on
// threads.
func (f *Field) needles(x []float32, dual *Dual, threads int, random func(a []float32) float64) (out []float32, v []float64) {
	r := pairs.Rows{X: x, D: f.d, Of: make([]int, min(dual.N, pairs.MaxRows))}
	for i := range r.Of {
		r.Of[i] = i
	}
	var labels [][]float32
	for k := range dual.K {
		_, y := dual.Row(k)
		labels = append(labels, slices.Clone(y[:len(r.Of)]))
	}
	w := pairs.Frequencies(r, labels, mostStarts, threads)
	if w == nil {
		return nil, nil
	}
	a := make([]float32, len(dual.Y))
	dual.Signed(a)
	least := ahead * random(a)
	for j, potential := range f.potentials(w, len(w)/f.d, a, dual.K, threads) {
		if potential > least {
			out, v = append(out, w[j*f.d:(j+1)*f.d]...), append(v, potential)
		}
	}
	return out, v
}

// FindStarts sets Starts to the needles of the rows x (n×d): frequencies of one or two columns that
// agree with the classes much better than the peaks that chains reach from random frequencies. The
// result does not depend on threads.
func (s *Search) FindStarts(x []float32, d int, class []int32, classes, threads int) {
	dual, f := newDual(class, classes, 1), NewField(x, len(class), d)
	dual.project()
	s.Starts, _ = f.needles(x, dual, threads, func(a []float32) float64 {
		return slices.Max(s.run(f, a, dual.K, 0, 0, min(probes, s.Chains), threads).V)
	})
}

// AddNeedles appends needles to the frequencies w (m×d, in turns) and their potentials to v. A
// needle is a frequency of one or two columns of the field's rows x whose potential, with all dual
// weights 1, is more than twice the largest of v (see Alignment).
func AddNeedles(f *Field, w []float32, v []float64, x []float32, class []int32, classes, threads int) ([]float32, []float64) {
	more, of := f.needles(x, newCodes(class, classes), threads, func([]float32) float64 { return slices.Max(v) })
	return slices.Concat(w, more), slices.Concat(v, of)
}
