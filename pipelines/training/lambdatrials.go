package training

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/transforms/scores"
)

// scoreTrials scores the rows of the first fold for every tried λ, in a pass over the data, and
// adds the results to the table of the learner. Sums give the squared errors of rounded features
// and no classification errors; this pass gives both as in predictions.
func (t *Training) scoreTrials(ctx context.Context) error {
	table := t.Learner.Table
	if t.trials.sum == "" {
		return nil
	}
	t.Progress.Phase("scoring held-out rows", t.Counts.Used)
	defer t.Progress.Done()
	var fits int
	for _, row := range table {
		if row.Failed == "" {
			fits++
		}
	}
	folds := t.opts.parts()
	pass := &scores.Trials{Pass: t.Pass(folds), HeldOut: scores.HeldOut{
		Folds: folds, Recipe: t.Recipe.Sealed, Outputs: t.Outputs(), Fits: fits, Weights: t.trials.file, SHA256: t.trials.sum,
	}}
	var sum score.Trials
	if _, _, err := t.ScanSum(ctx, pass, "trials", &sum); err != nil {
		return err
	}
	if sum.Rows() != t.firstRows {
		return fmt.Errorf("pipelines: %d rows were held out of the trials, %d were scored", t.firstRows, sum.Rows())
	}
	unit := 1.0
	if t.Target.Grid != nil {
		unit = t.Target.Grid.Half() * t.Target.Grid.Half()
	}
	fit := 0
	for i := range table {
		row := &table[i]
		if row.Failed != "" {
			continue
		}
		row.HeldOutRows = sum.Rows()
		row.HeldOutErrors, row.HeldOutMSE = sum.Of(fit)
		row.HeldOutMSE *= unit
		fit++
	}
	return nil
}

// trialMemory is a bound on the memory for scoring the held-out rows, and on what the weights for
// it add to a solve; 0 if there is only one λ.
func (o Options) trialMemory(f Facts, threads, lanes int) (pass, solve int64) {
	r, ok := o.fitter().(bySums)
	if !ok || f.Components > 0 {
		return 0, 0
	}
	lambda, folds := o.Lambda.values(1)
	n := len(lambda)
	if o.Lambda.auto() && r.Grid != ridge.Bits8 {
		n += len(ridge.SmallerLambda())
	}
	shape := ridge.Shape{Dim: f.Features, Outputs: f.Outputs, Regression: f.Regression}
	weights := ridge.TrialBytes(shape, n)
	if folds < 2 || weights > ridge.MaxTrialBytes {
		return 0, 0
	}
	block := f.block(f.Dim)
	each := 3*block + f.featureBlock() + block/int64(f.Dim)*int64(n*f.Outputs)
	if f.Prepared {
		each += f.block(f.Scaled)
	}
	return int64(lanes)*each + o.mapBytes(f) + 3*weights, weights
}
