package spec

import (
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
)

// MemoryOfSums bounds the memory of a job that adds sums of a recipe on that many threads, and fits a model to
// the total. First each thread holds a part of the sums; Worker is the memory of all threads. Then comes the
// solve. classes is the number of classes in the sums, and ignored for other tasks. listed is the number of row
// hashes, which are held in memory.
func MemoryOfSums(r *sums.Recipe, classes int, rows, listed int64, threads int) (m Memory) {
	shape, threads64 := r.Shape(classes), int64(max(1, threads))
	part := min(ridge.MaxPartBytes, shape.Bytes())
	// A thread holds the sum, the addend, the stored part, and the input and output of its packing.
	m.Worker = 5*part*threads64 + 8*int64(r.Rule.Folds)*int64(shape.Dim)
	loads := 2 * threads64 * min(job.LargestPart, shape.Bytes())
	m.Solve = FoldingOf(&r.Rule).Solve(shape, rows, false, threads) + loads
	publish := 5 * 4 * int64(max(shape.Outputs, r.Rule.Components)) * int64(shape.Dim)
	drawn := 2 * 4 * int64(shape.Dim) * int64(r.Input.Dim) // two copies of the map while it is drawn
	// Hashes of subtracted rows take at most the same memory again, and so does the written file of hashes.
	list := 8 * listed
	m.Peak = peakOf(max(m.Worker+list, m.Solve+drawn/2+list, drawn, publish, 3*list))
	return m
}

// Lambdas returns the number of values of λ that a fit to sums of a recipe tries.
func Lambdas(r *sums.Recipe, l LambdaOptions) int {
	if r.Rule.Components > 0 {
		return 0
	}
	if l.Auto() {
		l.Path, l.C = r.Rule.Lambda, r.Rule.C
	}
	lambda, _ := l.Values(1)
	return len(lambda)
}
