// Package audit compares exact sums with their rows by a random test, which costs much less than adding
// them up again. Audit.Add adds rows to a vector of residues, Audit.Subtract subtracts the parts of a sum
// from it, and Audit.Wrong describes the difference, if there is one.
package audit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
)

// Audit compares a ridge.Sum with its rows by Freivalds' test (1977), with two inner products of length D per row.
// For a row z with weight w and labels e (the indicators of the classes; or the targets q and a 1) Add adds w·z·(zᵀr
// + eᵀs) modulo the prime p = 2⁶¹ − 1, where r and s are random and the same for all rows. Subtract subtracts Σwzzᵀ·r
// + Σwzeᵀ·s of the Sum. If both agree, zeros remain. The head is compared directly.
//
// A wrong Sum passes with probability at most 1/p < 2⁻⁶⁰. Let Δ be [Σwzzᵀ Σwzeᵀ] of the Sum minus the
// rows' own, and t = (r, s) uniform and chosen after the Sum was stored. If Δ_ij is not 0 modulo p, then
// (Δt)_i = 0 for exactly one of the p values of t_j, whatever the others are. If several folds are wrong,
// each must pass, so all may share one t. Numbers of a Sum are at most 2⁵³, and sums of rows below 2⁶⁰
// (maxAudited), so they are equal if they are equal modulo p.
//
// The result has Len residues: the head, a number for each feature, and a count of numbers in the Sum that
// no rows can give. Results for rows in several places are added residue by residue.
type Audit struct {
	Shape  ridge.Shape
	Random []uint64 // t, RandomLen residues
}

// maxAudited is the largest sum of weights of rows for which an Audit is reliable.
const maxAudited = (1<<60 - 1) / (features.MaxSteps * blas.MaxTarget)

// Len returns the number of residues of an audit's result.
func Len(s ridge.Shape) int { return s.PartLen(0) + s.Dim + 1 }

// RandomLen returns the number of random residues that an Audit needs.
func RandomLen(s ridge.Shape) int {
	_, width, _ := s.CrossPosition(s.NumParts() - 1)
	return s.Dim + width
}

// Add adds rows to the residues left, as ridge.Sum.Add adds them to a sum.
func (a Audit) Add(left []uint64, z *features.Grid, y []float64, grid linear.Grids, weights []int64, threads int) {
	head := ridge.NewPartSum(a.Shape, 0, 1)
	head.Add(z, y, grid, weights, threads)
	for j, v := range head.Part(0) {
		left[j] = exact.AddResidues(left[j], exact.Residue(int64(v)))
	}
	all, n, d := ridge.AppendLabels(nil, z.N(), y, grid), z.N(), z.D()
	r, s, left, k := a.Random[:d], a.Random[d:], left[len(head.Part(0)):], len(all)/max(1, n)
	var mu sync.Mutex
	parallel.Ranges(n, n/max(1, threads)+1, threads, func(first, end int) {
		row, sum := make([]int16, d), exact.NewCombination(d)
		for i := first; i < end; i++ {
			z.Row(row, i)
			labels, w := all[i*k:][:k], uint64(1)
			if weights != nil {
				w = exact.Residue(weights[i])
			}
			u := exact.DotResidues(row, r)
			if a.Shape.Regression {
				u = exact.AddResidues(u, exact.AddResidues(exact.DotResidues(labels, s[:k]), s[k]))
			} else {
				u = exact.AddResidues(u, s[labels[0]])
			}
			exact.AddRow(sum, exact.MulResidues(u, w), row)
		}
		mu.Lock()
		defer mu.Unlock()
		for j := range d {
			left[j] = exact.AddResidues(left[j], sum.At(j))
		}
	})
}

// Subtract subtracts part i of a Sum from the residues left.
func (a Audit) Subtract(left []uint64, i int, part []float64) {
	l, last := a.Shape, len(left)-1
	for _, v := range part {
		if math.Abs(v) > 1<<53 {
			left[last]++
			return
		}
	}
	less := func(j int, v uint64) { left[j] = exact.SubResidues(left[j], v) }
	if i == 0 {
		if left[0] > maxAudited {
			left[last]++
		}
		for j, v := range part {
			less(j, exact.Residue(int64(v)))
		}
		return
	}
	head := l.PartLen(0)
	if from, width, ok := l.CrossPosition(i); ok {
		for j := range len(part) / width {
			less(head+from+j, exact.DotResidues(part[j*width:][:width], a.Random[l.Dim:]))
		}
		return
	}
	ti, tj := l.TilePosition(i)
	cols, up, down := blas.TileRows(l.Dim, tj), ti*blas.TileDim, tj*blas.TileDim
	mirrored := exact.NewCombination(cols)
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
		less(head+up+j, exact.DotResidues(row, a.Random[down:][:len(row)]))
		exact.AddRow(mirrored, a.Random[up+j], below)
	}
	for j := range cols {
		less(head+down+j, mirrored.At(j))
	}
}

// Wrong describes the difference between a Sum and the rows, given the residues left; "" if there is none.
func (a Audit) Wrong(left []uint64) string {
	var labels, others bool
	var columns []string
	for j, v := range left {
		switch f := j - a.Shape.PartLen(0); {
		case v == 0:
		case f < 0:
			labels = true
		case f < a.Shape.Dim:
			columns = append(columns, strconv.Itoa(f+1))
		default:
			others = true
		}
	}
	var all []string
	if labels {
		all = append(all, "counts or sums of labels")
	}
	if n := len(columns); n > 3 {
		all = append(all, fmt.Sprintf("products of features %s and %d more", strings.Join(columns[:2], ", "), n-2))
	} else if n > 0 {
		all = append(all, "products of features "+strings.Join(columns, ", "))
	}
	if others {
		all = append(all, "numbers above a diagonal, or too large for an audit")
	}
	return strings.Join(all, ", ")
}
