package pairs

import (
	"cmp"
	"math"
	"slices"
)

// Frequencies returns the frequencies of one or two columns that are aligned with the labels beyond chance, in
// turns (row-major, r.D numbers each). Those with the largest z come first; there are at most most. It returns
// nil if there are too many columns, and overwrites labels.
func Frequencies(r Rows, labels [][]float32, most, threads int) (out []float32) {
	f, r, _ := ofTwo(r, labels, threads, true)
	if f == nil {
		return nil
	}
	var order []int
	for at, z := range f.sums {
		if z > 0 {
			order = append(order, at)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(f.sums[b], f.sums[a]), cmp.Compare(a, b)) })
	var turns []float32 // by columns
	for _, deviation := range f.deviations {
		for _, of := range f.of {
			turns = append(turns, of/float32(2*math.Pi*deviation))
		}
	}
	for _, at := range order {
		a, b := at/len(turns), at%len(turns)
		for _, sign := range []float32{1, -1} { // a product of two waves has the sum and the difference
			if len(out) < most*r.D && (a != b || sign > 0) {
				w := make([]float32, r.D)
				w[b/len(f.of)], w[a/len(f.of)] = sign*turns[b], turns[a]
				out = append(out, w...)
			}
		}
	}
	return out
}

// findSingle tests wave a of m alone, for n rows. weighted starts at its product with the label of the first row;
// the next row follows m elements later.
func (f *finder) findSingle(weighted []float32, a, m, n int) {
	var sum float64
	for i := range n {
		sum += float64(weighted[i*m])
	}
	if z := float64(sum*sum) / float64(n); z > f.bound {
		f.sums[a/2*(m/2)+a/2] += z
	}
}
