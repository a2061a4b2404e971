package ridge

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/internal/parallel"
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
// wrong, each of them must pass, so all may share t, and one t is enough. Numbers of a Sum are at most
// 2⁵³ and those of rows below 2⁶⁰ (MaxAudited), so they are equal if they are equal modulo p.
//
// What is left is AuditLen residues: the head, a number for each feature, and how many numbers of the
// Sum no rows can have. Those of rows in several places add up, residue by residue.
type Audit struct {
	head   *Sum     // of the head alone
	random []uint64 // t
}

// MaxAudited is the largest sum of weights of rows that an Audit can tell apart from others.
const MaxAudited = (1<<60 - 1) / (features.MaxSteps * maxTarget)

// AuditLen returns how many residues an audit leaves.
func (s Shape) AuditLen() int { return s.headLen() + s.Dim + 1 }

// RandomLen returns how many random residues an Audit takes.
func (s Shape) RandomLen() int { return s.Dim + s.width() }

// NewAudit returns an Audit with random residues, shape.RandomLen of them.
func NewAudit(shape Shape, random []uint64) *Audit { return &Audit{NewPartSum(shape, 0, 1), random} }

// Add adds rows to what is left, as Sum.Add does to a Sum.
func (a *Audit) Add(left []uint64, z *features.Grid, y []float64, grid linear.Grids, weights []int64, threads int) {
	a.head.Clear()
	a.head.Add(z, y, grid, weights, threads)
	for j, v := range a.head.head {
		left[j] = exact.AddResidues(left[j], exact.Residue(int64(v)))
	}
	n, d, k := z.N(), z.D(), len(a.head.labels)/max(1, z.N())
	r, s, left := a.random[:d], a.random[d:], left[len(a.head.head):]
	var mu sync.Mutex
	parallel.Ranges(n, n/max(1, threads)+1, threads, func(first, end int) {
		row, sum := make([]int16, d), exact.Combination{make([]uint64, d), make([]uint64, d)}
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
		mu.Lock()
		defer mu.Unlock()
		for j := range d {
			left[j] = exact.AddResidues(left[j], sum.At(j))
		}
	})
}

// Subtract takes part i of a Sum away from what is left.
func (a *Audit) Subtract(left []uint64, i int, part []float64) {
	l, last := LayoutOf(a.head.shape), len(left)-1
	for _, v := range part {
		if math.Abs(v) > 1<<53 {
			left[last]++
			return
		}
	}
	less := func(j int, v uint64) { left[j] = exact.SubResidues(left[j], v) }
	if i == 0 {
		for j, v := range part {
			less(j, exact.Residue(int64(v)))
		}
		return
	}
	head := l.headLen()
	if from, width, ok := l.Cross(i); ok {
		for j := range len(part) / width {
			less(head+from+j, exact.DotResidues(part[j*width:][:width], a.random[l.Dim:]))
		}
		return
	}
	ti, tj := l.tile(i)
	cols, up, down := blas.TileRows(l.Dim, tj), ti*blas.TileDim, tj*blas.TileDim
	mirrored := exact.Combination{make([]uint64, cols), make([]uint64, cols)}
	for j := range len(part) / cols {
		row := part[j*cols:][:cols]
		below := row
		if ti == tj {
			for _, v := range row[j+1:] {
				if v != 0 {
					left[last]++
				}
			}
			row, below = row[:j+1], row[:j]
		}
		less(head+up+j, exact.DotResidues(row, a.random[down:][:len(row)]))
		exact.AddRow(mirrored, a.random[up+j], below)
	}
	for j := range cols {
		less(head+down+j, mirrored.At(j))
	}
}

// Wrong says what of a Sum is not that of the rows, by what is left; "" if there is nothing.
func (a *Audit) Wrong(left []uint64) string {
	var wrong []string
	head, last := len(a.head.head), len(left)-1
	for _, part := range []struct {
		what string
		left []uint64
	}{{"counts or sums of labels", left[:head]}, {"products of features", left[head:last]},
		{"numbers above a diagonal or beyond 2⁵³", left[last:]}} {
		n, first := 0, ""
		for j, v := range part.left {
			if v > 0 {
				if n++; n <= 2 {
					first += fmt.Sprintf(" %d", j+1)
				}
			}
		}
		if n > 0 {
			wrong = append(wrong, fmt.Sprintf("%s%s (%d of %d)", part.what, first, n, len(part.left)))
		}
	}
	return strings.Join(wrong, ", ")
}
