package ridge

import (
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// FoldRows holds the rows of the folds themselves, which Solve uses instead of sums when n < D. Features are on
// a grid of Steps steps from 0 to the bound.
type FoldRows struct {
	Shape Shape
	Steps int
	Folds []*GridRows
}

// StoresRows reports whether a choice among the values of lambda should store the rows instead of summing
// them: they are so few that a fold takes less memory than its sum, and Solve less time. It is false if a
// value is below all of SmallerLambda, because the dual problem is not accurate enough for it.
func StoresRows(shape Shape, rows int64, lambda []float64) bool {
	return solver.StoresRows(solverShape(shape), rows) && slices.Min(lambda) >= slices.Min(SmallerLambda())
}

// NewGridRows returns an empty GridRows for sums of the shape.
func NewGridRows(shape Shape) *GridRows {
	return &GridRows{Dim: shape.Dim, Labels: shape.labels(), Weighted: shape.Weighted}
}

// RowsPerPart returns the number of rows that take as much memory as a part of their sum.
func RowsPerPart(shape Shape) int { return max(1, MaxPartBytes/(2*shape.Dim)) }

// rowsAtOnce rows and their converted numbers fit in the cache; a multiple of 4.
const rowsAtOnce = 32

// AddGridRows adds the rows of a set, on a grid of the given number of steps.
func (s *Sum) AddGridRows(steps, threads int, rows *GridRows) {
	z, d := features.NewGrid(s.shape.Dim, steps), s.shape.Dim
	for first := 0; first < rows.N(); first += features.MaxRows {
		n := min(features.MaxRows, rows.N()-first)
		z.Resize(n)
		parallel.Each((n+rowsAtOnce-1)/rowsAtOnce, threads, func(_, i int) {
			at := i * rowsAtOnce
			chunk := rows.Z[(first+at)*d : (first+min(at+rowsAtOnce, n))*d]
			values := make([]float32, len(chunk))
			blas.Floats(values, chunk)
			z.QuantizeRows(at, values, len(chunk)/d, float32(steps)) // a step is 1
		})
		var weights []int64
		if rows.Weighted {
			weights = rows.W[first : first+n]
		}
		s.AddLabels(z, rows.Q[first*rows.Labels:(first+n)*rows.Labels], weights, threads)
	}
}

// foldsOfRows is loadFolds for stored rows. An outline of the total is enough for their dual problem.
func (p *problem) foldsOfRows() *foldSums {
	folds := &foldSums{total: outline(p.From.Shape)}
	for f, rows := range p.From.Rows.Folds {
		// Only the total needs products of features.
		head := &Sum{shape: p.From.Shape, head: make([]float64, p.From.Shape.headLen()), tiles: folds.total.tiles,
			cross: make([]float64, len(folds.total.cross))}
		head.AddGridRows(p.From.Rows.Steps, p.Threads, rows)
		head.tiles = make([][]float64, len(folds.total.tiles))
		folds.merge(f, head)
		folds.heads = append(folds.heads, head)
	}
	return folds
}

// subsetOfRows returns the sums of the folds over some of the features.
func (p *problem) subsetOfRows(subset []int) (sums []*Sum) {
	shape := p.From.Rows.Shape
	shape.Dim = len(subset)
	for _, rows := range p.From.Rows.Folds {
		sums = append(sums, NewSum(shape))
		sums[len(sums)-1].AddGridRows(p.From.Rows.Steps, p.Threads, rows.pick(subset))
	}
	return sums
}

// dualOfRows returns the dual problem of the rows. mean and target are the means over all rows.
func (p *problem) dualOfRows(mean, target, ridge []float64) *solver.Problem {
	var folds []solver.Points
	k := p.From.Rows.Shape.Outputs
	for _, rows := range p.From.Rows.Folds {
		fold := solver.Points{Z: rows.Z, Q: make([]float64, rows.N()*k)}
		for i, q := range rows.Q {
			if p.From.Rows.Shape.Regression {
				fold.Q[i] = float64(q)
			} else {
				fold.Q[i*k+int(q)] = 1
			}
		}
		for _, w := range rows.W {
			fold.Weights = append(fold.Weights, float64(w))
		}
		folds = append(folds, fold)
	}
	return solver.NewDual(folds, p.From.Rows.Steps, mean, target, ridge, p.Threads)
}
