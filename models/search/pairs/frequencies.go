package pairs

import (
	"cmp"
	"math"
	"slices"
)

// Frequencies returns the frequencies of one and of two columns whose waves are aligned with the labels beyond chance
// (rows of D numbers, in turns), those with the largest z first; at most so many. It overwrites the labels.
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

// findSingle looks at wave a of m alone, whose products with n labels are in every m-th place of weighted.
func (f *finder) findSingle(weighted []float32, a, m, n int) {
	var sum float64
	for i := range n {
		sum += float64(weighted[i*m])
	}
	if z := float64(sum*sum) / float64(n); z > f.bound {
		f.sums[a/2*(m/2)+a/2] += z
	}
}
