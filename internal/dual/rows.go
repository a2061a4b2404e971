// Package dual solves ridge regression where rows are fewer than features, from sums over the rows alone, for
// the folds of a cross-validation.
//
// The sum of a fold has, but for a rotation, the rows themselves: with s = Σz and n
// rows, Σzzᵀ = s sᵀ/n + BᵀB, where B is r×D from a pivoted Cholesky factorisation of the centred
// matrix, r below n. So the rows s/√n and B, of which the first has √n in the column of ones and
// the others 0, have the sums of the fold, and so has a target of each that solves
// Bᵀy = Σzq - s t/n. Ridge and its errors are functions of the sums, so these rows serve as well
// as the data. With fewer rows than features the dual problem is the smaller one: with
// K = ZR⁻¹Zᵀ, u the column of ones, and R the diagonal by which μ penalises weights,
//
//	(K + μI)α = y - u b,   uᵀα = 0,   V = R⁻¹Zᵀα,
//
// and a held-out fold has the residuals y_f - K_f α - u_f b.
package dual

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
)

const (
	// tolerance is the largest part of the squares of a feature that a fold's rows may miss,
	// relative to those of the largest. It is far below the rounding of features to a grid, and
	// above that of float64.
	tolerance = 0x1p-42

	blockSize = 32 // pivots that are looked for at once
)

// Sums are the sums of the rows of a fold, of D features z and k targets q.
type Sums struct {
	Rows    int64                  // an upper bound of the rank
	Weight  float64                // the sum of the weights of the rows, n
	Columns []float64              // Σz, length D
	Targets []float64              // Σq, length k
	Squares []float64              // Σ(q-q̄)², length k
	At      func(i, j int) float64 // Σ z_i z_j, j ≤ i
	Cross   func(i, c int) float64 // Σ z_i q_c
}

// Rows stand in for the rows of a fold.
type Rows struct {
	n     int       // 0 if the fold is empty
	z     []float64 // n×D; the first is s/√n
	steps []int16   // in place of z: rows of the data
	y     []float64 // n×k
	other []float64 // for each output, Σ(q-q̄)² that no row has
	root  float64   // √ of the weight

	first int // position of the first row among those of all folds
}

// RowsOf returns rows that have those sums.
func RowsOf(s *Sums, threads int) *Rows {
	d, k := len(s.Columns), len(s.Targets)
	if s.Weight == 0 {
		return new(Rows)
	}
	mean := make([]float64, d)
	for j, v := range s.Columns {
		mean[j] = v / s.Weight
	}
	pivots, z := pivoted(s, mean, threads)
	r := len(pivots)
	out := &Rows{n: r + 1, z: z, y: make([]float64, (r+1)*k), other: slices.Clone(s.Squares), root: math.Sqrt(s.Weight)}
	for j, m := range mean {
		z[j] = out.root * m
	}
	// The triangle of B at the pivots, and the sums there.
	l, x := make([]float64, r*r), make([]float64, k*r)
	for i, p := range pivots {
		for j := range i + 1 {
			l[i*r+j] = z[(j+1)*d+p]
		}
		for c := range k {
			x[c*r+i] = s.Cross(p, c) - float64(mean[p]*s.Targets[c])
		}
	}
	blas.SolveRows(x, k, l, r, false, threads)
	for c := range k {
		out.y[c] = s.Targets[c] / out.root
		for i, v := range x[c*r:][:r] {
			out.y[(i+1)*k+c] = v
			out.other[c] -= float64(v * v)
		}
		out.other[c] = max(out.other[c], 0)
	}
	return out
}

// pivoted returns features that span all that differs from the mean, and, after a row of zeros,
// rows B with BᵀB = Σ(z-z̄)(z-z̄)ᵀ: a Cholesky factorisation that takes blocks of the features of
// which most is left (Harbrecht, Peters & Schneider 2012).
func pivoted(s *Sums, mean []float64, threads int) (pivots []int, z []float64) {
	d := len(mean)
	most := int(min(s.Rows, int64(d)))
	at := func(i, j int) float64 {
		return s.At(max(i, j), min(i, j)) - float64(float64(s.Weight*mean[i])*mean[j])
	}
	left := make([]float64, d) // the squares of each feature that the pivots do not have
	order := make([]int, d)
	for j := range left {
		left[j] = at(j, j)
	}
	least := tolerance * slices.Max(left)
	z = blas.Make[float64]((most + 1) * d)
	rest, factors := blas.Make[float64](blockSize*d), make([]float64, most*blockSize)
	for len(pivots) < most {
		for j := range order {
			order[j] = j
		}
		slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(left[j], left[i]), cmp.Compare(i, j)) })
		block := order[:min(blockSize, d)]
		top := left[block[0]]
		if !(top > least) {
			break
		}
		// What is left of the columns of the block.
		b, r := len(block), len(pivots)
		for a, p := range block {
			for j := range d {
				rest[a*d+j] = at(j, p)
			}
			for i := range r {
				factors[i*b+a] = -z[(i+1)*d+p]
			}
		}
		blas.Gradient(rest, factors, z[d:], r, d, b, threads)
		// Pivots within the block, as long as they are not much smaller than its first.
		taken := make([]bool, b)
		for len(pivots) < most {
			best := -1
			for a, p := range block {
				if !taken[a] && (best < 0 || left[p] > left[block[best]]) {
					best = a
				}
			}
			if best < 0 {
				break
			}
			p, column := block[best], rest[best*d:][:d]
			if !(left[p] > least) || left[p] < top/16 || !(column[p] > 0) {
				break
			}
			taken[best] = true
			root := math.Sqrt(column[p])
			for j := range column {
				column[j] /= root
				left[j] -= float64(column[j] * column[j])
			}
			left[p] = 0
			for a, q := range block {
				if !taken[a] {
					v := column[q]
					for j, u := range column {
						rest[a*d+j] -= float64(v * u)
					}
				}
			}
			pivots = append(pivots, p)
			copy(z[len(pivots)*d:], column)
		}
		if !slices.Contains(taken, true) {
			break
		}
	}
	return pivots, z[:(len(pivots)+1)*d]
}
