package training

import (
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
)

// Weigh sets the grid to which weights of rows and classes are rounded, so that sums are exact. classWeights is
// the option class_weight.
func (t *Training) Weigh(classWeights []string) error {
	var names []string
	if t.Target != nil && t.Target.Classes != nil {
		names = t.Target.Classes.Classes
	}
	classes, err := iterative.ClassWeights(classWeights, names, t.ByClass())
	if err != nil {
		return spec.Usage(err)
	}
	t.grid = profile.NewWeightGrid(t.Weights(), classes, t.ByClass())
	return nil
}

// gridWeights returns the weights of the classes in sums, nil if all are 1.
func (t *Training) gridWeights() (weights []float64) {
	if t.grid != nil {
		for c := range t.grid.Classes {
			weights = append(weights, t.grid.Class(c))
		}
	}
	return weights
}

// classWeights returns the weights of the classes in the loss, nil if all are 1.
func (t *Training) classWeights() ([]float64, error) {
	b, ok := t.opts.Rounds()
	if !ok {
		return t.Learner.ClassWeights, nil
	}
	weights, err := iterative.ClassWeights(b.Common().Weights, t.Target.Classes.Classes, t.ByClass())
	return weights, spec.Usage(err)
}

// scoring returns the grid of the weights of rows in scores, without weights of classes. It is nil if rows have
// no weights.
func (t *Training) scoring() *profile.WeightGrid { return profile.NewWeightGrid(t.Weights(), nil, nil) }

// rowWeights describes the weights of the rows, nil if they have none.
func (t *Training) rowWeights() *models.RowWeights {
	if t.given != nil {
		return t.recipeWeights()
	}
	if t.Profile.Weights == nil {
		return nil
	}
	w := &models.RowWeights{Column: dataset.RoleName(t.Data, dataset.WeightRole), Weights: *t.Profile.Weights}
	if !w.Equal() {
		w.Grid = t.grid
	}
	return w
}

// sizes returns the number of rows in the sums, where rows with whole weights count as repeated rows, and the
// largest sum of weights.
func (t *Training) sizes() (rows, total int64) { return ridge.Size(t.Weights(), t.grid) }

// tooMany returns an error if there are so many rows that sums of features on a grid of that many steps are not
// exact.
func (t *Training) tooMany(shape ridge.Shape, steps int) error {
	_, total := t.sizes()
	most := shape.MaxRows(steps)
	switch {
	case total <= most:
		return nil
	case t.grid != nil:
		return exit.Refuse("pipelines: the weights of %s rows are too large together: sums are exact for up to %s in units "+
			"of their grid, which is that of the first rows; write smaller weights, or train a recipe on rows with these",
			report.Groups(t.Counts.Used), report.Groups(most))
	}
	return exit.Refuse("pipelines: %s rows are too many: sums are exact for up to %s rows", report.Groups(t.Counts.Used),
		report.Groups(most))
}
