package spec

import (
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
)

// Folding says how the rows of a fit by sums are divided. A plan and the training that it is of both
// decide by it what is held in memory.
type Folding struct {
	Lambda []float64 // to try
	Folds  int       // by which λ is chosen; 1 if by none
	// sums of parts of the rows; of two, one is of the first fold and one of the others, of three
	// with First one of a gap between
	Sums       int
	Cut        int  // parts into which rows are cut, if they are more than Sums; else 0
	First      bool // only the first fold chooses
	Ordered    bool // folds follow each other in time
	HeldOut    bool // weights are also fitted without the first fold
	Components int  // of an embedding; 0 for none
}

// Folding returns the folding of rows whose weights have that sum. first tells that only the first fold may
// judge.
func (o Options) Folding(weight float64, first bool) Folding {
	f := Folding{HeldOut: o.HoldsOut()}
	f.Lambda, f.Folds = o.Lambda.Values(weight)
	if f.Folds > 1 && o.rule != nil {
		f.Folds = o.rule.Parts
	}
	f.Sums, f.First = f.Folds, first && f.Folds > 1
	if f.First || f.Folds == 1 && f.HeldOut {
		f.Sums, f.Cut = 2, o.Parts() // the held-out rows and the others
		if o.rule != nil && o.rule.Gap {
			f.Sums = 3 // and those between
		}
	}
	f.Ordered = o.rule.Ordered()
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
	f := Folding{Folds: r.Folds, Sums: r.Folds, Cut: r.Cut, First: r.First, Ordered: r.Split.Ordered(), Components: r.Components}
	if f.Cut > 0 && !f.First {
		f.Folds = 1
	}
	return f
}

// Carries tells whether that many rows, 0 if their number is not known, are carried to the solve in place of
// their sums.
func (f Folding) Carries(shape ridge.Shape, rows int64) bool {
	return rows > 0 && f.Folds > 1 && !f.Ordered && len(f.Lambda) > 0 && f.Components == 0 && ridge.Carries(shape, rows, f.Lambda)
}

// Solve is the memory of the solve, of rows that are carried or of sums.
func (f Folding) Solve(shape ridge.Shape, rows int64, carried bool, threads int) int64 {
	switch {
	case f.Components > 0:
		return shape.Bytes() + pca.Memory(shape.Dim, f.Components)
	case carried:
		return ridge.MemoryOfRows(shape, rows, f.Sums, threads)
	}
	return ridge.Memory(shape, rows, min(f.Folds, f.Sums), threads, f.First)
}
