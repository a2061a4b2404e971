package align

import (
	"slices"

	"github.com/bochner-ml/bochner/models/search/pairs"
)

const (
	// mostStarts is the largest number of starts, probes the number of chains that they are compared with.
	mostStarts = 1000
	probes     = 50
	// ahead is the multiple of the largest potential of random frequencies that a needle has to exceed.
	ahead = 2
)

// needles returns frequencies of one or two columns of the rows x (n×d) that are aligned with the classes beyond chance
// (package pairs). Random frequencies hardly ever come near them among many columns. The result does not depend on
// threads.
func needles(x []float32, d int, class []int32, classes, threads int) []float32 {
	r := pairs.Rows{X: x, D: d, Of: make([]int, min(len(class), pairs.MaxRows))}
	for i := range r.Of {
		r.Of[i] = i
	}
	dual := newDual(class[:len(r.Of)], classes, 1)
	return pairs.Frequencies(r, slices.Collect(slices.Chunk(dual.Y, dual.N)), mostStarts, threads)
}

// farAhead returns those of the frequencies w, of potentials v, that are far ahead of the best of random ones.
func farAhead(w []float32, v []float64, best float64) (out []float32) {
	for j, d := 0, len(w)/max(len(v), 1); j < len(v); j++ {
		if v[j] > ahead*best {
			out = append(out, w[j*d:(j+1)*d]...)
		}
	}
	return out
}

// FindStarts sets Starts to the needles of the rows x (n×d) that chains from random frequencies miss: their potentials
// are far ahead of what some of these chains reach.
func (s *Search) FindStarts(x []float32, d int, class []int32, classes, threads int) {
	s.Starts = nil
	w := needles(x, d, class, classes, threads)
	if len(w) == 0 {
		return
	}
	dual := newDual(class, classes, 1)
	dual.project()
	f, a := NewField(x, len(class), d), make([]float32, len(dual.Y))
	dual.Signed(a)
	best := slices.Max(s.Run(f, a, dual.K, 0, 0, min(probes, s.Chains), threads).V)
	s.Starts = farAhead(w, f.potentials(w, len(w)/d, a, dual.K, threads), best)
}

// AddNeedles adds to frequencies w (in turns) of alignments v with the classes those needles of the field's rows x that
// are far ahead of all of them.
func AddNeedles(f *Field, w []float32, v []float64, x []float32, class []int32, classes, threads int) ([]float32, []float64) {
	alignment := func(w []float32) []float64 { return Alignment(f, w, len(w)/f.d, class, classes, threads) }
	more := needles(x, f.d, class, classes, threads)
	more = farAhead(more, alignment(more), slices.Max(v))
	return slices.Concat(w, more), slices.Concat(v, alignment(more))
}
