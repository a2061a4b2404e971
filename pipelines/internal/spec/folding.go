package spec

import (
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
)

// Folding says what a fit by sums tries on which sums. A plan and the training that it is of both
// decide by it what is held in memory.
type Folding struct {
	ridge.FoldPlan
	Lambda     []float64 // to try
	Ordered    bool      // folds follow each other in time
	Components int       // of an embedding; 0 for none
	Levels     int       // whose rows are summed apart; 0 for none
}

// Sums returns the number of sums of a pass.
func (f Folding) Sums() int { return f.Folds * max(1, f.Levels) }

// Folding returns the folding of rows whose weights have that sum. first tells that only the first
// fold may judge.
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
	f.Folds, f.Cut = 2, o.Parts() // a sum of the held-out rows, and one of the others
	if o.rule != nil && o.rule.Gap {
		f.Folds = 3 // and one of those between
	}
	return f
}

// Planned returns the folding of a training that is not begun.
func (o Options) Planned(f Facts) Folding {
	if f.Stored != nil {
		return *f.Stored
	}
	p := o.Folding(float64(max(f.Rows, 1)), o.LearnsFeatures() || o.Searching() || f.Summed > 0)
	p.Components = f.Components
	return p
}

// FoldingOf returns the folding of sums that are stored for a recipe, whose rows are not carried:
// what is stored has a form that does not depend on how many rows there are.
func FoldingOf(r *sums.Rule) Folding {
	return Folding{FoldPlan: r.FoldPlan(), Ordered: r.Split.Ordered(), Components: r.Components}
}

// Carries tells whether that many rows, 0 if their number is not known, are carried to the solve in place of
// their sums.
func (f Folding) Carries(shape ridge.Shape, rows int64) bool {
	return rows > 0 && f.Validates() && !f.Ordered && len(f.Lambda) > 0 && f.Components == 0 &&
		ridge.StoresRows(shape, rows, f.Lambda)
}

// Solve is the memory of the solve, of rows that are carried or of sums.
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
