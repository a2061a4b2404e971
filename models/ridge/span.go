package ridge

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
)

// Few rows span few directions. r features, the pivots of a Cholesky factorisation of the
// Gram matrix, have them all: φ = Cφ_p for each row, C of D×r. Weights V act on rows by
// u = CᵀV alone, and of those with the same u the smallest in the norm VᵀΛV, Λ = diag(ridge),
// are V = Λ⁻¹CK⁻¹u with K = CᵀΛ⁻¹C = FFᵀ. So ridge on the r features x = Fᵀφ_p is the same
// problem, with V = Λ⁻¹CF⁻ᵀv.

// spanShare is how many times as many features as rows there must be.
const spanShare = 4

// span is the space of the rows of a sum.
type span struct {
	shape  Shape
	pivots []int
	c      []float64 // Λ⁻¹C, row-major D×r
	f, ft  []float64 // F, a lower triangle, and its transpose; r×r
	ranges Ranges    // of the features

	threads int
}

const (
	// spanTolerance is the largest part of the squares of a feature that the pivots may not
	// have, relative to those of the largest. It is far below the rounding of features to a
	// grid, and above that of float64.
	spanTolerance = 0x1p-42

	spanBlock = 32 // pivots that are looked for at once
)

// spanOf returns the span of the rows of a sum, or nil if rounding errors spoil it. y has
// the ridge of the features.
func spanOf(total *Sum, y *system) *span {
	d := total.shape.Dim
	pivots, b := pivoted(total, y.threads)
	r := len(pivots)
	s := &span{shape: total.shape, pivots: pivots, ranges: y.ranges, threads: y.threads, f: make([]float64, r*r), ft: make([]float64, r*r)}
	own := make([]float64, r*r)
	for i, p := range pivots {
		copy(own[i*r:][:r], b[p*r:])
	}
	blas.SolveRows(b, d, own, r, true, y.threads) // B = C·B_p
	s.c = b
	half := blas.Make[float64](r * d) // Λ^(-½)C as columns
	for j := range d {
		w := 1 / math.Sqrt(y.ridge[j])
		for i, v := range b[j*r:][:r] {
			half[i*d+j] = -w * v
		}
	}
	back := slices.Clone(half)
	for i := range back {
		back[i] = -back[i]
	}
	blas.SubProduct(s.f, half, back, r, r, d, y.threads)
	if _, ok := blas.Cholesky(s.f, r, y.threads); !ok {
		return nil
	}
	for i := range r {
		clear(s.f[i*r+i+1 : (i+1)*r])
	}
	transpose(s.ft, s.f, r, r)
	for j := range d {
		for i := range s.c[j*r:][:r] {
			s.c[j*r+i] /= y.ridge[j]
		}
	}
	if !finite(s.c) || !finite(s.f) {
		return nil
	}
	return s
}

// pivoted returns features that span all, and B, row-major D×r with BBᵀ the Gram matrix:
// a Cholesky factorisation that takes blocks of the features of which most is left
// (Harbrecht, Peters & Schneider 2012).
func pivoted(total *Sum, threads int) (pivots []int, b []float64) {
	d, most := total.shape.Dim, int(min(total.Rows(), int64(total.shape.Dim)))
	left := make([]float64, d) // the squares of each feature that the pivots do not have
	for j := range left {
		left[j] = total.at(j, j)
	}
	least := spanTolerance * slices.Max(left)
	columns := make([][]float64, 0, most) // of B
	order := make([]int, d)
	for len(pivots) < most {
		for j := range order {
			order[j] = j
		}
		slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(left[j], left[i]), cmp.Compare(i, j)) })
		block := order[:min(spanBlock, d)]
		top := left[block[0]]
		if !(top > least) {
			break
		}
		// What is left of the columns of the block.
		n, r := len(block), len(pivots)
		rest := make([]float64, n*d)
		for a, p := range block {
			for j := range d {
				rest[a*d+j] = total.at(max(j, p), min(j, p))
			}
		}
		if r > 0 {
			rows, all := make([]float64, n*r), make([]float64, d*r)
			for i, column := range columns {
				for a, p := range block {
					rows[a*r+i] = column[p]
				}
				for j, v := range column {
					all[j*r+i] = v
				}
			}
			blas.SubProduct(rest, rows, all, n, d, r, threads)
		}
		// Pivots within the block, as long as they are not much smaller than its first.
		taken := make([]bool, n)
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
			pivots, columns = append(pivots, p), append(columns, column)
		}
		if !slices.Contains(taken, true) {
			break
		}
	}
	r := len(pivots)
	b = blas.Make[float64](d * r)
	for i, column := range columns {
		for j, v := range column {
			b[j*r+i] = v
		}
	}
	return pivots, b
}

// sum returns the sum of x = Fᵀφ_p over the rows of t.
func (s *span) sum(t *Sum) *Sum {
	r, w := len(s.pivots), s.shape.width()
	shape := s.shape
	shape.Dim = r
	to := NewSum(shape)
	copy(to.head, t.head)
	g, y, x := make([]float64, r*r), make([]float64, r*r), make([]float64, r*r)
	for i, p := range s.pivots {
		for j, q := range s.pivots {
			g[i*r+j] = t.at(max(p, q), min(p, q))
		}
	}
	blas.SubProduct(y, s.ft, g, r, r, r, s.threads) // -FᵀG
	blas.SubProduct(x, s.ft, y, r, r, r, s.threads)
	forTiles(r, s.threads, func(_, tile, i, j int) {
		rows, cols := blas.TileRows(r, i), blas.TileRows(r, j)
		for a := range rows {
			row := x[(i*blas.TileDim+a)*r+j*blas.TileDim:]
			if i == j {
				cols = a + 1
			}
			copy(to.tiles[tile][a*blas.TileRows(r, j):][:cols], row)
		}
	})
	cross := make([]float64, w*r)
	for i, p := range s.pivots {
		for c := range w {
			cross[c*r+i] = -t.cross[p*w+c]
		}
	}
	blas.SubProduct(to.cross, s.ft, cross, r, w, r, s.threads)
	return to
}

// lift returns the weights V of all features, D×k, for those of x, r×k.
func (s *span) lift(v []float64) []float64 {
	d, r, k := s.shape.Dim, len(s.pivots), s.shape.Outputs
	q := make([]float64, k*r)
	transpose(q, v, r, k)
	for i := range q {
		q[i] = -q[i]
	}
	blas.SolveRows(q, k, s.f, r, true, s.threads)
	out := make([]float64, d*k)
	blas.SubProduct(out, s.c, q, d, k, r, s.threads)
	return out
}

// spansFew tells whether so many rows are few.
func spansFew(shape Shape, rows int64) bool {
	return shape.Dim >= partFrom && rows <= int64(shape.Dim/spanShare)
}

// spans returns the span of the rows if there are so few that the search is faster in it,
// else nil. λ must be large enough for the matrix of all features to be positive definite
// to working precision.
func (p *path) spans(y *system, total *Sum) *span {
	d := total.shape.Dim
	if !spansFew(total.shape, total.Rows()) {
		return nil
	}
	y.mass = y.masses(total.head)
	least := math.Inf(1)
	for _, v := range p.values {
		least = min(least, p.mu(y, v))
	}
	for j := range d {
		if !(least*y.ridge[j] > float64(d)*0x1p-50*total.at(j, j)) {
			return nil
		}
	}
	return spanOf(total, y)
}

// searchIn is search in the span of the rows.
func (p *path) searchIn(s *span, total *Sum) (best int, err error) {
	var folds []*Sum
	for f := range p.Folds {
		fold, err := p.load(f)
		if err != nil {
			return 0, err
		}
		folds = append(folds, s.sum(fold))
	}
	o := p.Options
	o.Load, o.Ranges = func(fold int) (*Sum, error) { return folds[fold], nil }, Ranges{}
	q := &path{Options: o, variance: p.variance, span: s}
	few, err := q.loadTotal()
	if err != nil {
		return 0, err
	}
	y := newSystem(few.shape, o.Weights, o.Threads)
	y.share(few)
	best, err = q.search(y, few)
	p.tallies = q.tallies
	return best, err
}
