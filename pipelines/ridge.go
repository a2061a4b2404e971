package pipelines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
	"github.com/bochner-ml/bochner/transforms/gram"
)

// fitRidge adds up the ridge sums and solves for the weights.
func (t *training) fitRidge(ctx context.Context) error {
	steps := t.steps(t.opts.Grid, smallGram)
	if err := t.fitRidgeOn(ctx, steps); err != nil {
		return err
	}
	if fine := t.fine(); t.opts.Grid != "8" && steps != fine && t.atFloor(t.learner.Lambda) && t.again() {
		t.progress.note("lambda %g is too small for features rounded to %s; adding up again on a grid of %s", t.learner.Lambda, gridText(steps), gridText(fine))
		if err := t.fitRidgeOn(ctx, fine); err != nil {
			return err
		}
	}
	if err := t.scoreTrials(ctx); err != nil {
		return err
	}
	if t.opts.Calibrate != "" {
		return t.calibrate(ctx, t.held, t.opts.parts())
	}
	return nil
}

// fitRidgeOn is fitRidge on a grid of that many steps.
func (t *training) fitRidgeOn(ctx context.Context, steps int) error {
	lambda, folds := t.opts.Lambda.path(t.counts.Used)
	fold := gram.Fold{Recipe: t.recipe.sealed, Outputs: t.outputs(), Folds: folds, Lambda: lambda, Steps: steps}
	if t.opts.Lambda.auto() && steps > blas.MostByte {
		fold.Smaller = ridge.SmallerLambda()
	}
	cut := t.opts.parts()
	fold.Held = t.opts.Calibrate != ""
	if first := folds > 1 && t.firstJudges(); first || folds == 1 && fold.Held {
		// Two sums do: that of the rows held out, and that of the others.
		fold.Folds, fold.Cut, fold.First = 2, cut, first
	}
	fit, err := t.fitSums(ctx, t.target, fold)
	if err != nil {
		return err
	}
	t.learner = models.Learner{Kind: "ridge", Lambda: fit.Lambda, Folds: folds, Table: fit.Table, Steps: steps}
	return nil
}

// fitSums adds up the sums of the folds, and has what they are for solved: the
// weights become the model's.
func (t *training) fitSums(ctx context.Context, target *transforms.Target, fold gram.Fold) (fit gram.FitReport, err error) {
	parts := max(fold.Folds, fold.Cut)
	if parts > 1 {
		if err := t.countCopies(ctx); err != nil {
			return fit, err
		}
	}
	pass := &gram.Pass{Pass: t.pass(parts), Fold: fold}
	pass.Target = target
	shape := pass.Shape(t.recipe.dim)
	if err := shape.Validate(); err != nil {
		return fit, &UsageError{err}
	}
	if most := shape.MaxRows(fold.Steps); t.counts.Used > most {
		return fit, refuse("pipelines: %s rows are more than the %s whose sums are exact", groups(t.counts.Used), groups(most))
	}
	solve := ridge.Memory(shape, t.counts.Used, fold.Folds, t.engine.Threads)
	switch {
	case fold.Components > 0:
		solve = shape.Bytes() + pca.Memory(shape.Dim, fold.Components)
	case fold.Cut > 0 && !fold.First:
		solve = ridge.Memory(shape, t.counts.Used, 1, t.engine.Threads) + shape.Bytes()
	}
	t.progress.note("training on %s rows of %d numbers: %s, %d features on %s, %s of %s in each of %s, %s to solve",
		groups(t.counts.Used), t.found.Dim, t.recipe.name, t.recipe.dim, gridText(fold.Steps), counted(fold.Folds, "sum"), bytesText(shape.Bytes()),
		counted(max(1, min(t.engine.Lanes, len(t.shards))), "lane"), bytesText(solve))
	st := gram.State{
		Dir: storage.Join(t.work.dir, "parts"), Reports: t.work.file("fold.reports", program(), pass),
		Sum: t.work.file("sum.jsonl", program(), pass), Fit: t.work.file("fit.json", program(), pass),
		Weights: t.work.file("weights.safetensors", program(), pass), Held: t.work.file("held.safetensors", program(), pass),
		Trials: t.work.file("trials.safetensors", program(), pass),
	}
	failed := t.runFold(ctx, pass, st)
	lines, err := readReports[gram.Report](ctx, st.Reports)
	if failed != nil && err != nil {
		return fit, failed // before there were reports
	}
	if err != nil {
		return fit, err
	}
	reports := make([]dataset.Report, len(lines))
	var saturated int64
	for i, line := range lines {
		reports[i] = line.Report
		saturated += line.Saturated
	}
	// What kept rows from being read is told before what the solve lacked.
	if err := fault.OfReports(reports); err != nil {
		return fit, err
	}
	if saturated > 0 {
		return fit, refuse("pipelines: %s features of the %s are not finite, or lie far beyond the bound that the recipe states (%d times and more): rows are of another scale than what it was made for; see --scale", groups(saturated), t.recipe.name, blas.MaxSteps/fold.Steps)
	}
	if failed != nil {
		return fit, failed
	}
	counts, err := count(t.data, reports, t.opts.MaxBadFraction)
	if err != nil {
		return fit, err
	}
	if fit, err = t.loadFit(ctx, st, max(shape.Outputs, fold.Components)); err != nil {
		return fit, err
	}
	t.firstRows = fit.FirstRows
	t.held, t.trials, t.floor = scorer{st.Held, fit.HeldSHA256}, scorer{st.Trials, fit.TrialsSHA256}, fit.Floor
	if counts.Used != t.counts.Used || fit.Rows != counts.Used {
		return fit, fmt.Errorf("pipelines: the first pass used %d rows, the second %d, of which %d were added up", t.counts.Used, counts.Used, fit.Rows)
	}
	return fit, nil
}

// runFold runs what is left to run: nothing, the solve alone, or pass and solve.
func (t *training) runFold(ctx context.Context, pass *gram.Pass, st gram.State) error {
	if err := forgetFaults(ctx, t.job, st.Reports, func(r gram.Report) dataset.Report { return r.Report }); err != nil {
		return err
	}
	fitted, err := t.fitted(ctx, st)
	if err != nil {
		return err
	}
	if fitted {
		t.progress.note("found the fitted weights in the work directory")
		return nil
	}
	sc, err := t.store(ctx, pass)
	if err != nil {
		return err
	}
	t.progress.phase("training", t.counts.Used)
	defer t.progress.done()
	solve := func(s beam.Scope) { transforms.Write(s, st.Fit, gram.Solve(s, sc, st, beam.Impulse(s))) }
	summed, err := t.intact(ctx, st.Sum, st.Reports)
	if err != nil {
		return err
	}
	if summed {
		t.progress.note("found the sums of all rows in the work directory")
		err := t.run(ctx, solve)
		if !damaged(err) {
			return err
		}
		t.damage(err)
	}
	// Runners of this process hold what went through them until a pipeline has ended: a
	// sum for each fold. A cluster takes minutes to start another pipeline.
	apart := t.engine.inProcess()
	err = t.run(ctx, func(s beam.Scope) {
		parts, reports := gram.Sums(s, sc)
		index := gram.Index(s, st, gram.StoreParts(s, sc, st, gram.Merge(s, sc, parts)), reports)
		if !apart {
			transforms.Write(s, st.Fit, gram.Solve(s, sc, st, index))
		}
	})
	if err != nil || !apart {
		return err
	}
	return t.run(ctx, solve)
}

// fitted tells whether what the solve writes is there, and as it was written.
func (t *training) fitted(ctx context.Context, st gram.State) (bool, error) {
	found, err := t.intact(ctx, st.Reports, st.Fit)
	if err != nil || !found {
		return false, err
	}
	fit, err := readFit(ctx, st)
	if err != nil {
		return false, err
	}
	err = transforms.CheckWeights(ctx, st.Weights, fit.WeightsSHA256)
	if err == nil && fit.HeldSHA256 != "" {
		err = transforms.CheckWeights(ctx, st.Held, fit.HeldSHA256)
	}
	if err == nil && fit.TrialsSHA256 != "" {
		err = transforms.CheckWeights(ctx, st.Trials, fit.TrialsSHA256)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case damaged(err):
		t.damage(err)
		return false, nil
	}
	return err == nil, err
}

func readFit(ctx context.Context, st gram.State) (fit gram.FitReport, err error) {
	data, err := storage.ReadState(ctx, st.Fit, maxState)
	if err != nil {
		return fit, err
	}
	if err := json.Unmarshal(data, &fit); err != nil {
		return fit, fmt.Errorf("pipelines: %s: %w", st.Fit, err)
	}
	return fit, nil
}

// loadFit reads back what the solve has written.
func (t *training) loadFit(ctx context.Context, st gram.State, outputs int) (fit gram.FitReport, err error) {
	if fit, err = readFit(ctx, st); err != nil {
		return fit, err
	}
	t.linear, err = transforms.LoadWeights(ctx, st.Weights, fit.WeightsSHA256, outputs, t.recipe.dim)
	return fit, err
}
