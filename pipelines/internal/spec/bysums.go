package spec

import (
	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
)

// bySums fits ridge: exact sums over all rows, and a solve.
type bySums struct{ *ridge.Training }

func (b bySums) options() iterative.Options { return b.Training }

func (b bySums) validate(Options) error { return nil }

func (b bySums) Values(o Options, n float64) (lambda []float64, folds int) { return o.Lambda.Values(n) }

func (b bySums) memory(o Options, m *Memory, f Facts, e engine.Engine, lanes int) {
	folding := o.Planned(f)
	sums := int64(folding.Sums())
	shape := ridge.Shape{Dim: f.Features, Outputs: f.Outputs, Regression: f.Regression}
	threads := int64(max(e.Threads, 1))
	// Each sum has a buffer of rows and one of their features. Features on a 16-bit grid, which may be chosen
	// automatically, take two limbs.
	limbs := int64(2)
	if b.Grid == features.Bits8 && !o.size(f).Sampled {
		limbs = 1
	}
	buffer := f.blockBytes(f.Dim)
	if f.Weighted || len(b.Weights) > 0 {
		buffer = profile.WeightCollectorBytes(f.Dim, true)
		limbs += limbs + 2 // also features times weights
	}
	if f.Rows > 0 {
		// Few rows fill only a part of the buffers; the rest takes memory only if it was in use before.
		buffer = (buffer + min(buffer, 4*int64(f.Dim)*f.Rows/sums)) / 2
	}
	loads := 2 * threads * min(job.LargestPart, shape.Bytes())
	carried := folding.Carries(shape, f.Rows)
	m.Solve = folding.Solve(shape, f.Rows, carried, int(threads))
	others := m.Worker
	lane := func(held int, bytes int64) int64 {
		return others + bytes + loads + int64(held)*(buffer+limbs*int64(f.Features)*rows.MaxRows)
	}
	if carried {
		m.Carried = RowBytes(shape, f.Rows)
		// A fold has a file of rows and a block in memory. It has all of its rows if one file of the data is much
		// longer than the others.
		fold := RowBytes(shape, int64(ridge.GridRowsOfPart(shape))+rows.MaxRows)
		lane = func(held int, _ int64) int64 {
			return others + 2*min(m.Carried, int64(held)*fold) +
				max(2*ridge.MaxPartBytes, min(m.Carried, threads*ridge.MaxPartBytes)) +
				int64(held)*(buffer+limbs*int64(f.Features)*f.atMostRows(rows.MaxRows))
		}
	} else if f.Components == 0 {
		m.Solve += loads
	}
	cut, worker, least := ridge.FitStripes(shape, int(sums), laneLimit(e, lanes, m.Solve), lane)
	m.Stripes, m.Worker = len(cut), worker
	if least > 0 && e.WorkerBytes > 0 {
		m.Least = workerBytesForLane(e, lanes, least)
	}
}

// RowBytes returns the memory of rows that are passed to the solve instead of their sums.
func RowBytes(shape ridge.Shape, rows int64) int64 { return rows * (2*int64(shape.Dim) + 16) }

func (b bySums) reducingFlags(o Options) string {
	if _, folds := o.Lambda.Values(1); folds > 1 {
		return " or --folds, or one --lambda"
	}
	return ""
}
