package spec

import (
	"testing"

	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// The solver with the lower cost, as docs/learners.md states costs, is chosen.
func TestCheaperSolverIsChosen(t *testing.T) {
	for _, c := range []struct {
		rows              int64
		features, outputs int
		path              []float64
		want              string
	}{
		{1e5, 32768, 1, nil, "cg"},
		{1e5, 32768, 1, []float64{1e-6}, "cg"},
		{1e5, 65536, 1, []float64{1e-6}, "cg"},
		{1e5, 32768, 10, nil, "ridge"}, // fifty columns
		{1e6, 32768, 1, nil, "ridge"},  // factors cost little
		{1e6, 131072, 1, nil, "cg"},    //
		{1e4, 131072, 1, nil, "ridge"}, // the Gram matrix of the rows is small
		{1e5, 30000, 1, nil, "ridge"},  // few features
		{1e5, 65536, 1, []float64{0}, "ridge"},
	} {
		o := Options{Train: options.Train{Learner: ridge.NewLearnerOptions(), Lambda: options.Lambda{Path: c.path}}}
		if got := o.WithSolver(c.rows, c.features, c.outputs, c.outputs == 1).LearnerName(); got != c.want {
			t.Errorf("%d rows, %d features, %d outputs, lambda %g: %s, want %s", c.rows, c.features, c.outputs, c.path, got,
				c.want)
		}
	}
	for name, o := range map[string]options.Train{
		"raw":    {Learner: ridge.NewLearnerOptions(), Prepare: options.Prepare{Kernel: &identity.Options{}}},
		"grid":   {Learner: &ridge.LearnerOptions{Grid: "8"}},
		"gram":   {Learner: &ridge.LearnerOptions{Solver: iterative.Gram}},
		"select": {Learner: ridge.NewLearnerOptions(), Lambda: options.Lambda{Select: options.SelectError}},
	} {
		if got := (Options{Train: o}).WithSolver(1e5, 65536, 1, true).LearnerName(); got != "ridge" {
			t.Errorf("%s: %s", name, got)
		}
	}
}
