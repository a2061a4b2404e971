package search

import (
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/search/pairs"
)

// oneJudges is a number of rows from which on, with a wide margin, a single part of the pilot has fewJudged rows.
const oneJudges = parts * fewJudged * 4 / 3

// levelViews is the largest number of views with levels, in addition to the given views.
const levelViews = 3

// Memory returns an upper bound on the bytes that a search needs for a pilot of n rows of d numbers. In views
// with levels, rows are longer by up to more numbers. views is the number of given views.
func Memory(n, d, more, outputs, views, threads int) int64 {
	plain := 4 * int64(n) * int64(d) * int64(1+views)
	d += more
	rows := 4 * int64(n) * int64(d)
	var fit, small, near, shared int64
	for _, i := range levelsOf(n) {
		size := sizes[i]
		if size.exact {
			// Exact kernels: matrices of all rows of the trial with the additional features, twice of
			// the training rows, and between these and the judged rows. Of few rows more than one part judges.
			train := min(int64(size.train), int64(n))
			all := train + int64(size.judge)
			if n < oneJudges {
				all *= 2
			}
			all = min(all, int64(n))
			fit = max(fit, drawnBytes(all))
			small = 8 * (all*(all+1) + 2*train*train + train*int64(size.judge) + all*(mostHats+productRows))
			near = 2 * all * (all + 1)
			// Rows in two metrics of each part, with distances in two norms.
			parts := min(parts, parts*fewJudged/int64(max(n, 1))+2)
			shared = 2 * parts * (rows + 2*near)
			// Fits to learn metrics from.
			fit = max(fit, fitBytes(n, d, min(mostFeatures, max(leastFeatures, n)), 0, outputs))
			continue
		}
		shared = 0                            // metrics are not learned at the first level
		judge := min(size.judge, n/parts*5/4) // rows of a part, which chance makes larger
		beside := min(mostHats, preprocess.MostKnots*d)
		fit = max(fit, fitBytes(n, d, max(size.features, landmarkFeatures)+beside, judge, outputs))
	}
	workers := int64(max(1, min(threads, maxWorkers)))
	// Views, distances of each in two norms, and two columns of one.
	return plain + levelViews*rows + workers*max(fit, small) + int64(views+levelViews)*2*near + 8*int64(n) + near +
		shared + max(pairs.Memory(n, d-more), pairs.Memory(n, d))
}

// fitBytes bounds the memory of a fit: its sum, equations, features of judged rows, and rows in a metric.
func fitBytes(n, d, features, judge, outputs int) int64 {
	shape := ridge.Shape{Dim: features, Outputs: outputs, Regression: outputs == 1}
	return ridge.Memory(shape, 0, 1, 1, false) + shape.Bytes() + 4*int64(judge)*int64(features) + 4*int64(n)*int64(d) +
		4*int64(d)*int64(features) + 8*int64(judge)*int64(outputs)
}
