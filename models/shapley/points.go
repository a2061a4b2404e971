package shapley

import (
	"cmp"
	"slices"

	"github.com/bochner-ml/bochner/models/profile"
)

// mostPoints is the largest number of points for a number of a row.
const mostPoints = 32

// Points returns up to 32 values of each number of a row, spread like its values in the sample: the i-th of
// n is the quantile (i+½)/n. Missing values are left out, and categories have no points. A column may have
// several numbers; first has for each number the first number of its column. The points of its numbers come
// from the same rows, at quantiles of its first number. Points returns nil if rows are longer than 4,096
// numbers.
func Points(s *profile.Sum, first []int) [][]float32 {
	x, n, d := s.Sample()
	if d > profile.MostDeciles || d > len(first) {
		return nil
	}
	points := make([][]float32, d)
	var rows []int
	for j := range points {
		if s.Levels(j) != nil {
			continue
		}
		if f := first[j]; f == j {
			rows = rows[:0]
			for i := range n {
				missing := false
				for k := j; k < d && first[k] == j; k++ {
					missing = missing || x[i*d+k] != x[i*d+k]
				}
				if !missing {
					rows = append(rows, i)
				}
			}
			slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(x[a*d+j], x[b*d+j]) })
			size := min(len(rows), mostPoints)
			for q := range size {
				rows[q] = rows[(2*q+1)*len(rows)/(2*size)]
			}
			rows = rows[:size]
		}
		for _, i := range rows {
			points[j] = append(points[j], x[i*d+j])
		}
	}
	return points
}
