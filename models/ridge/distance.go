package ridge

import (
	"github.com/bochner-ml/bochner/internal/blas"
)

// Distance compares the features of the rows of two sums: numbers of rows, and in units of the
// mean square of a row's features, which is 1 for features of a normalised kernel,
//
//	Squared    ‖μ_a − μ_b‖², μ the mean features
//	Trace      tr C, with the covariance C of features within the two
//	Frobenius  ‖C‖²_F, without what the error of C adds to it
//
// From the last two follows how Squared is distributed if the rows of both are drawn alike.
type Distance struct {
	Rows                      [2]float64
	Squared, Trace, Frobenius float64
}

// Distance compares the features of s with those of t, a sum over other rows. Rows count by
// their weights. It panics if the shapes differ. Both sums need rows, at least three together.
func (s *Sum) Distance(t *Sum, threads int) Distance {
	if s.shape != t.shape {
		panic("ridge: sums of different shapes")
	}
	meanA, meanB := make([]float64, s.shape.Dim), make([]float64, s.shape.Dim)
	s.columnSums(meanA)
	t.columnSums(meanB)
	return distance(s.shape.Dim, [2]float64{s.head[0], t.head[0]}, meanA, meanB, s.tiles, t.tiles, threads)
}

// DistanceWithin compares the features of a part of the rows of s with those of the others. The
// part has that many rows, by their weights, and features with those sums. Both need rows, at least
// three together.
func (s *Sum) DistanceWithin(rows float64, sums []float64, threads int) Distance {
	all := make([]float64, s.shape.Dim)
	s.columnSums(all)
	others := make([]float64, len(all))
	for j := range all {
		others[j] = all[j] - sums[j]
	}
	return distance(s.shape.Dim, [2]float64{rows, s.head[0] - rows}, append([]float64(nil), sums...), others, s.tiles, nil, threads)
}

// distance compares rows with features of those sums, which it overwrites. The tiles add up to
// those of both; more may be nil.
func distance(d int, n [2]float64, meanA, meanB []float64, tiles, more [][]float64, threads int) Distance {
	a, b := n[0], n[1]
	for j := range meanA {
		meanA[j], meanB[j] = meanA[j]/a, meanB[j]/b
	}
	out := Distance{Rows: [2]float64{a, b}}
	for j := range meanA {
		e := meanA[j] - meanB[j]
		out.Squared += float64(e * e)
	}
	// Tiles are summed apart, so that results do not depend on the threads.
	parts := blas.NumTiles(d)
	squares, traces, norms := make([]float64, parts), make([]float64, parts), make([]float64, parts)
	forTiles(d, threads, func(_, k, i, j int) {
		rows, cols := blas.TileRows(d, i), blas.TileRows(d, j)
		top, left := i*blas.TileDim, j*blas.TileDim
		for r := range rows {
			last := cols
			if i == j {
				last = r + 1
			}
			x, y := tiles[k][r*cols:], []float64(nil)
			if more != nil {
				y = more[k][r*cols:]
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
		out.Frobenius += squares[k]
		out.Trace += traces[k]
		norm += norms[k]
	}
	unit := norm / (a + b)
	if unit == 0 {
		return Distance{Rows: out.Rows}
	}
	out.Squared /= unit
	out.Trace /= unit
	// Of normal features, E‖Ĉ‖² = ‖C‖² + ((tr C)² + ‖C‖²)/(n − 2).
	free := a + b - 2
	out.Frobenius = max(0, (out.Frobenius/(unit*unit)-float64(out.Trace*out.Trace)/free)*free/(free+1))
	return out
}
