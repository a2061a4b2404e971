package spec

import (
	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// sumsMemory adds the memory of a fit of ridge to m: exact sums over all rows, and a solve.
func (o Options) sumsMemory(m *results.Memory, f Facts, e engine.Engine, readers int) {
	l, folding := o.Ridge(), o.PlannedFolding(f)
	n := int64(folding.numSums())
	shape := ridge.Shape{Dim: f.Features, Outputs: f.Outputs, Regression: f.Regression}
	threads := int64(max(e.Threads, 1))
	// Each sum has a buffer of rows and one of their features. Features on a 16-bit grid, which may be chosen
	// automatically, take two limbs.
	limbs := int64(2)
	if l.Grid == features.Bits8 && !o.size(f).Sampled {
		limbs = 1
	}
	buffer := f.blockBytes(f.Dim)
	if f.Weighted || len(l.Weights) > 0 {
		buffer = profile.WeightCollectorBytes(f.Dim)
		limbs += limbs + 2 // also features times weights
	}
	if f.Rows > 0 {
		// Few rows fill only a part of the buffers; the rest takes memory only if it was in use before.
		buffer = (buffer + min(buffer, 4*int64(f.Dim)*f.Rows/n)) / 2
	}
	loads := 2 * threads * min(job.LargestPart, shape.Bytes())
	carried := folding.Carries(shape, f.Rows)
	m.SolveBytes = folding.SolveMemory(shape, f.Rows, carried, int(threads))
	others := m.WorkerBytes
	reader := func(held int, bytes int64) int64 {
		return others + bytes + loads + int64(held)*(buffer+limbs*int64(f.Features)*rowio.MaxRows)
	}
	if carried {
		m.CarriedBytes = RowBytes(shape, f.Rows)
		// A fold has a file of rows and a block in memory. It has all of its rows if one file of the data is much
		// longer than the others.
		fold := RowBytes(shape, int64(ridge.RowsPerPart(shape))+rowio.MaxRows)
		reader = func(held int, _ int64) int64 {
			return others + 2*min(m.CarriedBytes, int64(held)*fold) +
				max(2*ridge.MaxPartBytes, min(m.CarriedBytes, threads*ridge.MaxPartBytes)) +
				int64(held)*(buffer+limbs*int64(f.Features)*f.atMostRows(rowio.MaxRows))
		}
	} else if f.Components == 0 {
		m.SolveBytes += loads
	}
	cut, worker, least := ridge.FitStripes(shape, int(n), readerLimit(e, readers, m.SolveBytes), reader)
	m.Stripes, m.WorkerBytes = len(cut), worker
	if least > 0 && e.WorkerBytes > 0 {
		m.LeastBytes = workerBytesForReader(e, readers, least)
	}
}

// RowBytes returns the memory of rows that are passed to the solve instead of their sums.
func RowBytes(shape ridge.Shape, rows int64) int64 { return rows * (2*int64(shape.Dim) + 16) }

// Folding holds the folds of a fit by sums, and the values of λ to try. Plans and training compute the sums and the
// memory from it.
type Folding struct {
	ridge.FoldPlan
	Lambda     []float64 // values of λ to try
	Ordered    bool      // folds follow each other in time
	Components int       // number of components of an embedding; 0 for other models
	Segments   int       // number of segments with separate sums; 0 if all rows are summed together
}

// numSums returns the number of sums of a pass.
func (f Folding) numSums() int { return f.Folds * max(1, f.Segments) }

// Folding returns the folding for rows with that sum of weights. With first, only the first fold is held
// out.
func (o Options) Folding(weight float64, first bool) Folding {
	lambda, folds := LambdaValues(o.Lambda, weight)
	if folds > 1 && o.rule != nil {
		folds = o.rule.Folds
	}
	f := Folding{FoldPlan: ridge.FoldPlan{Folds: folds, FitWithoutFirst: o.FitsWithoutFirst()}, Lambda: lambda,
		Ordered: o.rule.Ordered()}
	switch {
	case folds > 1 && first:
		f.Validation = ridge.FirstFold
	case folds == 1 && f.FitWithoutFirst:
		f.Validation = ridge.NoFold
	default:
		return f
	}
	f.Folds, f.Cut = 2, o.FoldCount() // one sum of the held-out rows, and one of the others
	if o.rule != nil && o.rule.Gap {
		f.Folds = 3 // and one of the rows in the gap
	}
	return f
}

// PlannedFolding returns the folding of a training run that has not begun.
func (o Options) PlannedFolding(f Facts) Folding {
	if f.Stored != nil {
		return *f.Stored
	}
	p := o.Folding(float64(max(f.Rows, 1)), o.LearnsFeatures() || o.Searching() || f.SummedLevels > 0)
	p.Components = f.Components
	return p
}

// FoldingOf returns the folding of sums that are stored for a recipe. They are always sums, never rows, because
// the format of stored sums does not depend on the number of rows.
func FoldingOf(r *sums.Rule) Folding {
	return Folding{FoldPlan: r.FoldPlan(), Ordered: r.Split.Ordered(), Components: r.Components}
}

// Carries reports whether the solve gets the rows themselves, because they are few, and not their sums. rows is 0 if
// unknown.
func (f Folding) Carries(shape ridge.Shape, rows int64) bool {
	return rows > 0 && f.HoldsOut() && !f.Ordered && len(f.Lambda) > 0 && f.Components == 0 &&
		ridge.StoresRows(shape, rows, f.Lambda)
}

// SolveMemory returns the memory of the solve in bytes. With carried, it solves from rows, and otherwise from sums.
func (f Folding) SolveMemory(shape ridge.Shape, rows int64, carried bool, threads int) int64 {
	var plan ridge.FoldPlan
	switch {
	case f.Components > 0:
		return shape.Bytes() + pca.Memory(shape.Dim, f.Components)
	case carried:
		return ridge.MemoryOfRows(shape, rows, f.Folds, threads)
	case f.HoldsOut():
		plan = f.FoldPlan
	}
	return ridge.Memory(shape, plan, rows, threads)
}

// MemoryOfSums bounds the memory of a job that adds sums of a recipe on some threads, and fits a model to the
// total. First each thread holds a part of the sums; Worker is the memory of all threads. Then comes the
// solve. classes is the number of classes in the sums, and ignored for other tasks. listed is the number of row
// hashes, which are held in memory.
func MemoryOfSums(r *sums.Recipe, classes int, rows, listed int64, threads int) (m results.Memory) {
	shape, threads64 := r.Shape(classes), int64(max(1, threads))
	part := min(ridge.MaxPartBytes, shape.Bytes())
	// A thread holds the sum, the addend, the stored part, and the input and output of its packing.
	m.WorkerBytes = 5*part*threads64 + 8*int64(r.Rule.Folds)*int64(shape.Dim)
	loads := 2 * threads64 * min(job.LargestPart, shape.Bytes())
	m.SolveBytes = FoldingOf(&r.Rule).SolveMemory(shape, rows, false, threads) + loads
	publish := 5 * 4 * int64(max(shape.Outputs, r.Rule.Components)) * int64(shape.Dim)
	drawn := 2 * 4 * int64(shape.Dim) * int64(r.Input.Dim) // two copies of the map while it is drawn
	// Hashes of subtracted rows take at most the same memory again, and so does the written file of hashes.
	list := 8 * listed
	m.PeakBytes = peakOf(max(m.WorkerBytes+list, m.SolveBytes+drawn/2+list, drawn, publish, 3*list))
	return m
}

// Lambdas returns the number of values of λ that a fit to sums of a recipe tries.
func Lambdas(r *sums.Recipe, l options.Lambda) int {
	if r.Rule.Components > 0 {
		return 0
	}
	if l.Auto() {
		l.Path, l.C = r.Rule.Lambda, r.Rule.C
	}
	lambda, _ := LambdaValues(l, 1)
	return len(lambda)
}
