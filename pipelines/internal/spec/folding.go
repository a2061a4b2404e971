package spec

import (
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
)

// Folding says which sums a fit by sums needs, and which values of λ it tries on them. Plans and training
// compute the memory from it.
type Folding struct {
	ridge.FoldPlan
	Lambda     []float64 // values of λ to try
	Ordered    bool      // folds follow each other in time
	Components int       // number of components of an embedding; 0 for none
	Levels     int       // number of levels with separate sums; 0 for none
}

// Sums returns the number of sums of a pass.
func (f Folding) Sums() int { return f.Folds * max(1, f.Levels) }

// Folding returns the folding for rows with that sum of weights. first tells that only the first fold is held
// out.
func (o Options) Folding(weight float64, first bool) Folding {
	lambda, folds := o.Lambda.Values(weight)
	if folds > 1 && o.rule != nil {
		folds = o.rule.Parts
	}
	f := Folding{FoldPlan: ridge.FoldPlan{Folds: folds, HeldOut: o.HoldsOut()}, Lambda: lambda, Ordered: o.rule.Ordered()}
	switch {
	case folds > 1 && first:
		f.Judge = ridge.JudgeFirst
	case folds == 1 && f.HeldOut:
		f.Judge = ridge.JudgeNone
	default:
		return f
	}
	f.Folds, f.Cut = 2, o.Parts() // one sum of the held-out rows, and one of the others
	if o.rule != nil && o.rule.Gap {
		f.Folds = 3 // and one of the rows in the gap
	}
	return f
}

// Planned returns the folding of a training run that has not begun.
func (o Options) Planned(f Facts) Folding {
	if f.Stored != nil {
		return *f.Stored
	}
	p := o.Folding(float64(max(f.Rows, 1)), o.LearnsFeatures() || o.Searching() || f.Summed > 0)
	p.Components = f.Components
	return p
}

// FoldingOf returns the folding of sums that are stored for a recipe. They are always sums, never rows, because
// the format of stored sums does not depend on the number of rows.
func FoldingOf(r *sums.Rule) Folding {
	return Folding{FoldPlan: r.FoldPlan(), Ordered: r.Split.Ordered(), Components: r.Components}
}

// Carries reports whether that many rows are passed to the solve instead of their sums. rows is 0 if unknown.
func (f Folding) Carries(shape ridge.Shape, rows int64) bool {
	return rows > 0 && f.Validates() && !f.Ordered && len(f.Lambda) > 0 && f.Components == 0 &&
		ridge.StoresRows(shape, rows, f.Lambda)
}

// Solve returns the memory of the solve in bytes, from rows if carried is set, and otherwise from sums.
func (f Folding) Solve(shape ridge.Shape, rows int64, carried bool, threads int) int64 {
	folds := 1
	switch {
	case f.Components > 0:
		return shape.Bytes() + pca.Memory(shape.Dim, f.Components)
	case carried:
		return ridge.MemoryOfRows(shape, rows, f.Folds, threads)
	case f.Validates():
		folds = f.Folds
	}
	return ridge.Memory(shape, rows, folds, threads, f.Judge == ridge.JudgeFirst)
}
