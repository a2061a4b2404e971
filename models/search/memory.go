package search

import (
	"github.com/bochner-ml/bochner/models/ridge"
)

// Memory returns the most bytes that a search takes for a pilot of n rows of d numbers, with that many
// outputs, views and threads.
func Memory(n, d, outputs, views, threads int) int64 {
	rows := 4 * int64(n) * int64(d)
	last := sizes[len(sizes)-1]
	shape := ridge.Shape{Dim: last.features, Outputs: outputs, Regression: outputs == 1}
	// A fit: the sum, the system, features of the rows to judge, and a metric's rows.
	fit := ridge.Memory(shape, 0, 1, 1) + shape.Bytes() + 4*int64(last.judge)*int64(last.features) + rows + 4*int64(d)*int64(last.features)
	fit += 8 * int64(last.judge) * int64(outputs)
	// Kernels without features: those of all rows, of the training rows twice, and to the others.
	exact := int64(sizes[1].train + 4*sizes[1].judge)
	pairs := 8 * (2*exact*exact + 3*int64(sizes[1].train*sizes[1].train))
	workers := int64(max(1, min(threads, maxWorkers)))
	return rows*int64(1+views) + workers*max(fit, pairs) + int64(views)*2*4*exact*exact
}
