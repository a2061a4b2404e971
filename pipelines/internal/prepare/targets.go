package prepare

import (
	"fmt"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/transforms"
)

// Targets is DecideTask for several labels with the given ranges, which are the targets of a regression.
func Targets(task string, d *dataset.Dataset, ranges []profile.Range) (transforms.Labeling, error) {
	fail := func(format string, args ...any) (transforms.Labeling, error) {
		return transforms.Labeling{}, &dataset.Error{Format: d.Schema.Format, Name: d.Files[0].Name,
			Err: fmt.Errorf(format, args...)}
	}
	if task == string(models.Classification) {
		return transforms.Labeling{}, exit.Usage("--task classification takes one label; the %d columns %s are the targets "+
			"of a regression", len(d.Targets), SomeOf(d.Targets))
	}
	if len(ranges) != len(d.Targets) {
		return fail("rows have no labels")
	}
	var t transforms.Labeling
	for c, r := range ranges {
		if r.Min == r.Max {
			return fail("every row has the target %g in column %q, so there is nothing to learn; leave it out of --label",
				r.Min, d.Targets[c])
		}
		if err := normal(r.Min, r.Max); err != nil {
			return fail("column %q: %w", d.Targets[c], err)
		}
		t.Grid = append(t.Grid, linear.TargetGrid{Low: r.Min, High: r.Max})
	}
	return t, t.Grid.Validate()
}
