package sums

import (
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/models/ridge"
)

// distance compares the features of the rows of two sums: numbers of rows, and in units of the
// mean square of a row's features, which is 1 for features of a normalised kernel,
//
//	squared    ‖μ_a − μ_b‖², μ the mean features
//	trace      tr C, with the covariance C of features within the two
//	frobenius  ‖C‖²_F, without what the error of C adds to it
//
// From the last two follows how squared is distributed if the rows of both are drawn alike.
type distance struct {
	rows                      [2]float64
	squared, trace, frobenius float64
}

// between compares the features of a with the features of b, a sum over other rows. Rows count by
// their weights. It panics if the shapes differ. Both sums need rows, at least three together.
func between(a, b *ridge.Sum, threads int) distance {
	if a.Shape() != b.Shape() {
		panic("drift: sums of different shapes")
	}
	return distanceOf([2]float64{a.Weight(), b.Weight()}, a.Columns(), b.Columns(), a, b, threads)
}

// within compares the features of a part of the rows of a sum with the features of the other rows.
// The part has that many rows, by their weights, and features with those sums. Both need rows, at
// least three together.
func within(all *ridge.Sum, rows float64, sums []float64, threads int) distance {
	others := all.Columns()
	for j, v := range sums {
		others[j] -= v
	}
	return distanceOf([2]float64{rows, all.Weight() - rows}, append([]float64(nil), sums...), others, all, nil, threads)
}

// distanceOf compares rows with features of those sums, which it overwrites. The products of sum
// and more add up to the products of both; more may be nil.
func distanceOf(n [2]float64, meanA, meanB []float64, sum, more *ridge.Sum, threads int) distance {
	d := len(meanA)
	a, b := n[0], n[1]
	for j := range meanA {
		meanA[j], meanB[j] = meanA[j]/a, meanB[j]/b
	}
	out := distance{rows: [2]float64{a, b}}
	for j := range meanA {
		e := meanA[j] - meanB[j]
		out.squared += float64(e * e)
	}
	// Tiles are summed apart, so that results do not depend on the threads.
	parts := blas.NumTiles(d)
	squares, traces, norms := make([]float64, parts), make([]float64, parts), make([]float64, parts)
	parallel.Each(parts, threads, func(_, k int) {
		i, j := 0, k
		for ; j > i; i++ {
			j -= i + 1
		}
		rows, cols := blas.TileRows(d, i), blas.TileRows(d, j)
		top, left := i*blas.TileDim, j*blas.TileDim
		for r := range rows {
			last := cols
			if i == j {
				last = r + 1
			}
			x, y := sum.Part(1 + k)[r*cols:], []float64(nil)
			if more != nil {
				y = more.Part(1 + k)[r*cols:]
			}
			wa, wb := a*meanA[top+r], b*meanB[top+r]
			for c := range last {
				g := x[c]
				if y != nil {
					g += y[c]
				}
				v := (g - float64(wa*meanA[left+c]) - float64(wb*meanB[left+c])) / (a + b - 2)
				if i == j && c == r {
					traces[k] += v
					norms[k] += g
					squares[k] += float64(v * v)
				} else {
					squares[k] += 2 * float64(v*v)
				}
			}
		}
	})
	var norm float64
	for k := range parts {
		out.frobenius += squares[k]
		out.trace += traces[k]
		norm += norms[k]
	}
	unit := norm / (a + b)
	if unit == 0 {
		return distance{rows: out.rows}
	}
	out.squared /= unit
	out.trace /= unit
	// Of normal features, E‖Ĉ‖² = ‖C‖² + ((tr C)² + ‖C‖²)/(n − 2).
	free := a + b - 2
	out.frobenius = max(0, (out.frobenius/(unit*unit)-float64(out.trace*out.trace)/free)*free/(free+1))
	return out
}
