package ridge

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models/linear"
)

// Audit compares a Sum with its rows by Freivalds' test (1977), for two inner products of length D a
// row. For a row z with weight w and labels e (the indicators of the classes; or the targets q and a 1)
// Add adds w·z·(zᵀr + eᵀs) modulo the prime p = 2⁶¹ − 1, where r and s are random and the same for all
// rows. Subtract takes Σwzzᵀ·r + Σwzeᵀ·s of the Sum away again. Then nothing may be left. The head is
// compared as it is.
//
// A wrong Sum passes with probability at most 1/p < 2⁻⁶⁰. Let Δ = [Σwzzᵀ Σwzeᵀ] of the Sum less that of
// the rows, and t = (r, s) uniform and chosen after the Sum was stored. If Δ_ij is not 0 modulo p, then
// (Δt)_i = 0 for exactly one of the p values of t_j, whatever the others are. If several folds are
// wrong, each of them must pass, so all may share t, and one t is enough. Numbers of a Sum are below 2⁵⁵
// and those of rows below 2⁶⁰ (MaxAudited), so they are equal if they are equal modulo p.
type Audit struct {
	head   *Sum        // of the head alone
	random []uint64    // t
	left   []uint64    // D numbers modulo p
	above  atomic.Bool // a tile had numbers above the diagonal, which is no part of a Sum
	mu     sync.Mutex
}

// MaxAudited is the largest sum of weights of rows that an Audit can tell apart from others.
const MaxAudited = (1<<60 - 1) / (features.MaxSteps * maxTarget)

// RandomLen returns how many random numbers below exact.Prime an Audit takes.
func (s Shape) RandomLen() int { return s.Dim + s.width() }

// NewAudit returns an Audit of no rows. random has shape.RandomLen numbers.
func NewAudit(shape Shape, random []uint64) *Audit {
	return &Audit{head: NewPartSum(shape, 0, 1), random: random, left: make([]uint64, shape.Dim)}
}

// Weight returns the sum of the weights of the rows.
func (a *Audit) Weight() float64 { return a.head.Weight() }

// Add adds rows as Sum.Add does.
func (a *Audit) Add(z *features.Grid, y []float64, grid linear.Grids, weights []int64, threads int) {
	a.head.Add(z, y, grid, weights, threads)
	threads = max(1, threads)
	n, d, k := z.N(), z.D(), len(a.head.labels)/max(1, z.N())
	r, s := a.random[:d], a.random[d:]
	parallel.Ranges(n, (n+threads-1)/threads, threads, func(first, end int) {
		row, sum := make([]int16, d), exact.NewCombination(d)
		for i := first; i < end; i++ {
			z.Row(row, i)
			labels := a.head.labels[i*k:][:k]
			u := exact.DotResidues(row, r)
			if a.head.shape.Regression {
				u = exact.AddResidues(u, exact.AddResidues(exact.DotResidues(labels, s[:k]), s[k]))
			} else {
				u = exact.AddResidues(u, s[labels[0]])
			}
			exact.AddRow(sum, exact.MulResidues(u, exact.Residue(weightOf(weights, i))), row)
		}
		a.merge(0, sum.Residues(), exact.AddResidues)
	})
}

// Subtract takes part i of a Sum away. Several goroutines may call it.
func (a *Audit) Subtract(i int, part []float64) {
	l := LayoutOf(a.head.shape)
	if i == 0 {
		for j, v := range part {
			a.head.head[j] -= v
		}
		return
	}
	if from, width, ok := l.Cross(i); ok {
		out := make([]uint64, len(part)/width)
		for j := range out {
			out[j] = exact.DotResidues(part[j*width:][:width], a.random[l.Dim:])
		}
		a.merge(from, out, exact.SubResidues)
		return
	}
	ti, tj := l.tile(i)
	rows, cols := blas.TileRows(l.Dim, ti), blas.TileRows(l.Dim, tj)
	r, to := a.random[ti*blas.TileDim:][:rows], a.random[tj*blas.TileDim:][:cols]
	out, mirrored := make([]uint64, rows), exact.NewCombination(cols)
	for j := range out {
		row := part[j*cols:][:cols]
		below := row
		if ti == tj {
			if slices.ContainsFunc(row[j+1:], func(v float64) bool { return v != 0 }) {
				a.above.Store(true)
			}
			row, below = row[:j+1], row[:j]
		}
		out[j] = exact.DotResidues(row, to[:len(row)])
		exact.AddRow(mirrored, r[j], below)
	}
	a.merge(ti*blas.TileDim, out, exact.SubResidues)
	a.merge(tj*blas.TileDim, mirrored.Residues(), exact.SubResidues)
}

// merge makes numbers of left, from that place on, the sums or differences of them and others.
func (a *Audit) merge(from int, others []uint64, f func(a, b uint64) uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for j, v := range others {
		a.left[from+j] = f(a.left[from+j], v)
	}
}

// Merge adds the rows of b.
func (a *Audit) Merge(b *Audit) {
	a.head.Merge(b.head)
	a.merge(0, b.left, exact.AddResidues)
}

// Code implements wire.Coded. The random numbers are not part of the encoding.
func (a *Audit) Code(c *wire.Coder) {
	if a.head == nil {
		a.head = new(Sum)
	}
	s := &a.head.shape
	s.Dim, s.Outputs = c.Int(s.Dim, MaxDim), c.Int(s.Outputs, MaxOutputs)
	c.Bool(&s.Regression)
	c.Bool(&s.Weighted)
	if c.Check(s.Validate() == nil && 8*(s.headLen()+s.Dim) <= c.Left()); c.Reading() {
		a.head, a.left = NewPartSum(*s, 0, 1), make([]uint64, s.Dim)
	}
	for j := range a.head.head {
		c.Float64(&a.head.head[j])
	}
	for j := range a.left {
		c.Uint64(&a.left[j])
		c.Check(a.left[j] < exact.Prime)
	}
}

// Wrong says what of a Sum that was subtracted is not that of the rows; nil if there is nothing. classes are
// the names of classes, as far as they are known.
func (a *Audit) Wrong(classes []string) (wrong []string) {
	s := a.head.shape
	for j, v := range a.head.head {
		if v == 0 {
			continue
		}
		name := "the sum of weights"
		switch c := (j - 1) % s.Outputs; {
		case j == len(a.head.head)-1 && s.Weighted, j == 0 && !s.Weighted:
			name = "the number of rows"
		case j == 0:
		case s.Regression:
			name = fmt.Sprintf("a sum of target %d", c+1)
		case c < len(classes):
			name = fmt.Sprintf("the number of rows of class %q", classes[c])
		}
		wrong = append(wrong, fmt.Sprintf("%s is %.0f too large", name, -v))
	}
	var features []int
	for j, v := range a.left {
		if v != 0 {
			features = append(features, j)
		}
	}
	switch n := len(features); {
	case n > 2:
		wrong = append(wrong, fmt.Sprintf("products of %d of %d features are not those of the rows", n, s.Dim))
	case n == 2:
		wrong = append(wrong, fmt.Sprintf("products of features %d and %d are not those of the rows", features[0]+1,
			features[1]+1))
	case n == 1:
		wrong = append(wrong, fmt.Sprintf("products of feature %d are not those of the rows", features[0]+1))
	}
	if a.above.Load() {
		wrong = append(wrong, "there are numbers above the diagonal")
	}
	return wrong
}
