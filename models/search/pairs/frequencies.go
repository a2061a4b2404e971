package pairs

import (
	"cmp"
	"math"
	"slices"
)

// Frequencies returns the frequencies of one and of two columns whose waves are aligned with the labels beyond chance
// (rows of D numbers, in turns), those with the largest z first; at most so many. It overwrites the labels.
func Frequencies(r Rows, labels [][]float32, most, threads int) []float32 {
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
	perColumn, turns := len(f.of), make([]float32, len(f.of)*r.D)
	for j := range r.D {
		for k, of := range f.of {
			turns[j*perColumn+k] = of / float32(2*math.Pi*r.deviation(j))
		}
	}
	var out []float32
	for _, at := range order {
		a, b := at/len(turns), at%len(turns)
		for _, sign := range []float32{1, -1} { // a product of two waves has the sum and the difference
			if len(out) == most*r.D || a == b && sign < 0 {
				continue
			}
			w := make([]float32, r.D)
			w[b/perColumn] = sign * turns[b]
			w[a/perColumn] = turns[a]
			out = append(out, w...)
		}
	}
	return out
}

// findSingle looks for waves of single columns.
func (f *finder) findSingle(y, waves []float32) {
	n := len(y)
	m := len(waves) / n
	for a := range m {
		var sum float64
		for i, v := range y {
			sum += float64(v * waves[i*m+a])
		}
		if z := float64(sum*sum) / float64(n); z > f.bound {
			f.sums[a/2*(m/2)+a/2] += z
		}
	}
}

// deviation returns the standard deviation of a column.
func (r Rows) deviation(j int) float64 {
	var sum, squares float64
	for _, row := range r.Of {
		sum += float64(r.X[row*r.D+j])
	}
	mean := sum / float64(len(r.Of))
	for _, row := range r.Of {
		e := float64(r.X[row*r.D+j]) - mean
		squares += float64(e * e)
	}
	return math.Sqrt(squares / float64(len(r.Of)))
}
