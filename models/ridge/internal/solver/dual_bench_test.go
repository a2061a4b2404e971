package solver

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// BenchmarkSolve leaves out a fold of 3,000 rows with 4,096 features.
func BenchmarkSolve(b *testing.B) {
	const d, n, k, folds = 4096, 3000, 1, 5
	r := rand.New(rand.NewPCG(1, 0))
	points := make([]Points, folds)
	for f := range points {
		for range n / folds {
			for range d {
				points[f].Z = append(points[f].Z, int16(r.IntN(255)-127))
			}
			points[f].Q = append(points[f].Q, r.NormFloat64())
		}
	}
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("%d threads", threads), func(b *testing.B) {
			p := NewDual(points, 127, make([]float64, d), make([]float64, k), slices.Repeat([]float64{1}, d), threads)
			for i := 0; b.Loop(); i++ {
				p.Solve(nil, []float64{1}, 3e4, i%folds, threads)
			}
		})
	}
}
