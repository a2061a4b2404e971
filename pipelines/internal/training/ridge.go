package training

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/about"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/gram"
)

// fitRidge sums the rows and solves for the weights. It may do so twice, first on an 8-bit and then on a 16-bit
// grid.
func (t *Training) fitRidge(ctx context.Context, o *ridge.Training) error {
	t.probabilities = nil // fitSize may have set them for another number of features
	if err := t.Weigh(o.Weights); err != nil {
		return err
	}
	t.intervals = nil
	grid := o.Grid
	steps := t.Steps(grid, smallProducts)
	fine := t.fineSteps()
	again := grid != features.Bits8 && steps != fine && t.canResum()
	if lambda, _ := t.opts.Lambda.Values(t.Weights().Sum); again && len(lambda) == 1 {
		small, err := t.roundsAway(lambda[0], steps)
		if err != nil {
			return err
		}
		if small { // a finer grid is needed whatever the rows
			steps, again = fine, false
		}
	}
	coarse, err := t.fitRidgeOn(ctx, steps, again && t.resumsForLambda())
	if err != nil {
		return err
	}
	if !coarse {
		if err := t.chooseLambda(ctx); err != nil {
			return err
		}
	}
	// Copies have equal rounding errors, which the estimates in the table do not include.
	if coarse || again && (t.Copies != nil && t.atFloor(t.Learner.Lambda) || t.tooCoarse()) {
		t.Progress.Note("lambda %g is too small for features rounded to %s; summing again on a grid of %s",
			t.Learner.Lambda, about.GridText(steps), about.GridText(fine))
		if _, err := t.fitRidgeOn(ctx, fine, false); err != nil {
			return err
		}
		if err := t.chooseLambda(ctx); err != nil {
			return err
		}
	}
	if err := t.finishChoice(ctx); err != nil {
		return err
	}
	return t.useHeldOut(ctx, t.summed.heldOut, t.opts.Parts())
}

// fitRidgeOn fits on a grid of that many steps. With again, the caller can sum again on a finer grid: if the
// first fold shows that λ is too small for this one, nothing is fitted and coarse is true.
func (t *Training) fitRidgeOn(ctx context.Context, steps int, again bool) (coarse bool, err error) {
	folding := t.opts.Folding(t.Weights().Sum, t.firstJudges() && !t.allJudge())
	fold := gram.Spec{Recipe: t.Recipe.Sealed, Outputs: t.Outputs(), Steps: steps}
	if t.opts.Lambda.Auto() {
		fold.Smaller = ridge.SmallerOn(steps, again)
	}
	switch t.opts.Intervals {
	case spec.PlainIntervals:
		fold.Sketch = gram.OneSketch
	case spec.NoIntervals:
		fold.Sketch = gram.NoSketch
	}
	fold.StartLambda = t.startLambda()
	fold.TryAll = t.opts.Lambda.Selects() && !t.lambdaByMSE
	fold.MayRefine = again && !t.opts.Lambda.Selects() // held-out rows may choose a larger λ
	fit, err := t.FitSums(ctx, t.Target, fold, folding)
	if err != nil {
		return false, err
	}
	t.Learner = models.Learner{Kind: "ridge", Lambda: fit.Lambda, Folds: folding.Judges(), Table: fit.Table,
		RuledOut: ruledOut(folding.Lambda, fit.Table), Steps: steps}
	t.Learner.ClassWeights = t.gridWeights()
	if t.allJudge() {
		t.Learner.Select = models.ByAllFolds
		about.OnFirst(fit.Table, fit.FoldVariance)
	}
	return fit.Coarse, nil
}

// ruledOut returns the values of λ that are not in the table.
func ruledOut(lambda []float64, table []ridge.Row) []float64 {
	if len(table) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(lambda), func(l float64) bool {
		return slices.ContainsFunc(table, func(r ridge.Row) bool { return r.Lambda == l })
	})
}

// solveFor solves for one λ, from the sums of the last FitSums.
func (t *Training) solveFor(ctx context.Context, lambda float64) error {
	pass, st := t.summed.pass, t.summed.state
	st.Chosen = []float64{lambda}
	name := func(file string) string { return t.Work.File(file, engine.Program(), pass, lambda) }
	st.Fit, st.Weights, st.HeldOut, st.Trials, st.Sketch = name("fit.json"), name("weights.safetensors"),
		name("held.safetensors"), name("trials.safetensors"), name("spread.safetensors")
	fitted, err := t.fitted(ctx, st)
	if err != nil {
		return err
	}
	if !fitted {
		sc, err := t.Store(ctx, pass)
		if err != nil {
			return err
		}
		t.Progress.Phase("solving for the chosen lambda", 0)
		defer t.Progress.Done()
		if err := t.Run(ctx, func(s beam.Scope) {
			transforms.Write(s, st.Fit,
				gram.Solve(s, sc, st, beam.Impulse(s)))
		}); err != nil {
			return err
		}
	}
	fit, err := t.loadFit(ctx, st, t.Outputs())
	if err != nil {
		return err
	}
	t.summed.heldOut, t.summed.fit.Discriminants = scorer{st.HeldOut, fit.HeldOutSHA256}, fit.Discriminants
	return nil
}

// FitSums sums the folds, solves, and sets the weights of the model. It sets those fields of fold that folding
// determines.
func (t *Training) FitSums(ctx context.Context, target *transforms.Labeling, fold gram.Spec,
	folding spec.Folding) (fit gram.FitReport, err error) {
	fold.FoldPlan, fold.Lambda, fold.Components = folding.FoldPlan, folding.Lambda, folding.Components
	parts := fold.Parts()
	if parts > 1 {
		if err := t.CountCopies(ctx); err != nil {
			return fit, err
		}
	}
	fold.Weights = t.grid
	pass := &gram.Pass{Pass: t.Pass(parts), Spec: fold}
	pass.Target = target
	shape := pass.Shape(t.Recipe.Dim)
	if err := shape.Validate(); err != nil {
		return fit, &exit.UsageError{Err: err}
	}
	if err := t.tooMany(shape, fold.Steps); err != nil {
		return fit, err
	}
	pass.Spec.Rows = folding.Carries(shape, t.Counts.Used)
	solve := folding.Solve(shape, t.Counts.Used, pass.Spec.Rows, t.Engine.Threads)
	t.Progress.Note("training on %s of %s: %s, %d features on %s, %s, %s to solve",
		report.Counted64(t.Counts.Used, "row"), report.Counted(t.Profile.Dim, "number"), t.Recipe.Name, t.Recipe.Dim,
		about.GridText(fold.Steps), t.stripe(pass, shape), report.Bytes(solve))
	st := t.stateOf(pass)
	failed := t.runFold(ctx, pass, st)
	counts, _, err := t.countSummed(ctx, pass, st, failed)
	if err != nil {
		return fit, err
	}
	if fit, err = t.loadFit(ctx, st, max(shape.Outputs, fold.Components)); err != nil {
		return fit, err
	}
	t.summed = summed{pass: pass, state: st, fit: fit, heldOut: scorer{st.HeldOut, fit.HeldOutSHA256}}
	if counts.Used != t.Counts.Used || fit.Rows != counts.Used {
		return fit, fmt.Errorf("pipelines: the first pass used %d rows, the second %d, of which %d were summed",
			t.Counts.Used, counts.Used, fit.Rows)
	}
	return fit, nil
}

// stripe sets the number of stripes of a pass that sums rows, and returns a description of its sums.
func (t *Training) stripe(pass *gram.Pass, shape ridge.Shape) string {
	if pass.Spec.Rows {
		pass.Stripes = len(ridge.CutStripes(shape, pass.Spec.Folds, min(t.stripes, pass.Spec.Folds)))
		text := fmt.Sprintf("%s of features", report.Bytes(spec.RowBytes(shape, t.Counts.Used)))
		if pass.Stripes > 1 {
			text += fmt.Sprintf(", stored in %d stripes, for each of which the rows are read", pass.Stripes)
		}
		return text
	}
	pass.Stripes = len(ridge.CutStripes(shape, pass.Spec.Sums(), t.stripes))
	text := fmt.Sprintf("%s of %s in each of %s", report.Counted(pass.Spec.Sums(), "sum"), report.Bytes(shape.Bytes()),
		report.Counted(max(1, min(t.Engine.Lanes, len(t.Shards))), "lane"))
	if pass.Stripes > 1 {
		text += fmt.Sprintf(", added up in %d stripes, for each of which the rows are read", pass.Stripes)
	}
	return text
}

// stateOf returns the names of the files of a pass that sums rows.
func (t *Training) stateOf(pass *gram.Pass) gram.State {
	return gram.State{
		Dir: storage.Join(t.Work.Dir, "parts"), Reports: t.Work.File("fold.reports", engine.Program(), pass),
		Sum: t.Work.File("sum.jsonl", engine.Program(), pass), Fit: t.Work.File("fit.json", engine.Program(), pass),
		Weights: t.Work.File("weights.safetensors", engine.Program(), pass),
		HeldOut: t.Work.File("held.safetensors", engine.Program(), pass),
		Trials:  t.Work.File("trials.safetensors", engine.Program(), pass),
		Sketch:  t.Work.File("spread.safetensors", engine.Program(), pass),
	}
}

// countSummed counts the rows that a pass has summed, by its reports. failed is the error of the pass; errors
// in the reports are more specific and take precedence.
func (t *Training) countSummed(ctx context.Context, pass *gram.Pass, st gram.State,
	failed error) (counts job.Counts, lines []gram.Report, err error) {
	lines, err = job.ReadReports[gram.Report](ctx, st.Reports)
	if failed != nil && err != nil {
		return counts, nil, failed // there are no reports yet
	}
	if err != nil {
		return counts, nil, err
	}
	reports := make([]dataset.Report, len(lines))
	var saturated int64
	for i, line := range lines {
		reports[i] = line.Report
		saturated += line.Saturated
	}
	// Errors of reading rows take precedence over errors of the solve.
	if err := transforms.FaultOfReports(reports); err != nil {
		return counts, nil, err
	}
	if saturated > 0 {
		return counts, nil, exit.Refuse("pipelines: %s features of the %s are not finite or exceed the bound of the recipe "+
			"%d times or more: the rows have a different scale than the recipe was made for; see --scale",
			report.Groups(saturated), t.Recipe.Name, blas.MaxSteps/pass.Spec.Steps)
	}
	if failed != nil {
		return counts, nil, failed
	}
	counts, err = job.Count(t.Data, reports, t.opts.MaxBadFraction)
	return counts, lines, err
}

// runFold runs the missing steps: none, the solve, or pass and solve.
func (t *Training) runFold(ctx context.Context, pass *gram.Pass, st gram.State) error {
	if err := job.ForgetFaults(ctx, t.Job, st.Reports,
		func(r gram.Report) dataset.Report { return r.Report }); err != nil {
		return err
	}
	fitted, err := t.fitted(ctx, st)
	if err != nil {
		return err
	}
	if fitted {
		t.Progress.Note("found the fitted weights in the work directory")
		return nil
	}
	sc, err := t.Store(ctx, pass)
	if err != nil {
		return err
	}
	t.Progress.Phase("training", t.Counts.Used*int64(sc.Stripes))
	defer t.Progress.Done()
	solve := func(s beam.Scope) { transforms.Write(s, st.Fit, gram.Solve(s, sc, st, beam.Impulse(s))) }
	summed, err := t.Intact(ctx, st.Sum, st.Reports)
	if err != nil {
		return err
	}
	if summed {
		t.Progress.Note("found the sums of all rows in the work directory")
		err := t.Run(ctx, solve)
		if !exit.Damaged(err) {
			return err
		}
		t.Damage(err)
	}
	// In this process the solve is a separate pipeline, so that the memory of the pass is free. A cluster takes
	// minutes to start another pipeline.
	apart := t.Engine.InProcess()
	err = t.Run(ctx, func(s beam.Scope) {
		parts, reports := gram.Sums(s, sc, st)
		index := gram.Index(s, sc, st, gram.Merge(s, sc, st, parts), reports)
		if !apart {
			transforms.Write(s, st.Fit, gram.Solve(s, sc, st, index))
		}
	})
	if err != nil || !apart {
		return err
	}
	return t.Run(ctx, solve)
}

// fitted reports whether the files that the solve writes exist and are undamaged.
func (t *Training) fitted(ctx context.Context, st gram.State) (bool, error) {
	found, err := t.Intact(ctx, st.Reports, st.Fit)
	if err != nil || !found {
		return false, err
	}
	fit, err := readFit(ctx, st)
	if err != nil || fit.Coarse {
		return err == nil, err
	}
	err = st.Check(ctx, fit.Written)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case exit.Damaged(err):
		t.Damage(err)
		return false, nil
	}
	return err == nil, err
}

func readFit(ctx context.Context, st gram.State) (fit gram.FitReport, err error) {
	data, err := storage.ReadState(ctx, st.Fit, transforms.MaxState)
	if err != nil {
		return fit, err
	}
	if err := json.Unmarshal(data, &fit); err != nil {
		return fit, fmt.Errorf("pipelines: %s: %w", st.Fit, err)
	}
	return fit, nil
}

// loadFit reads the results of the solve.
func (t *Training) loadFit(ctx context.Context, st gram.State, outputs int) (fit gram.FitReport, err error) {
	if fit, err = readFit(ctx, st); err != nil || fit.Coarse {
		return fit, err
	}
	if t.linear, err = transforms.LoadWeights(ctx, st.Weights, fit.WeightsSHA256, outputs, t.Recipe.Dim); err != nil {
		return fit, err
	}
	if t.sketch = nil; fit.Sketch != nil {
		own, err := transforms.LoadWeights(ctx, st.Sketch, fit.SketchSHA256, fit.Sketch.Probes, t.Recipe.Dim)
		if err != nil {
			return fit, err
		}
		t.sketch = models.NewSketch(own, fit.Sketch.Leverage)
	}
	return fit, nil
}

// DrawEmbedding plots a sample of the rows along the first two components, coloured by class.
func (t *Training) DrawEmbedding(ctx context.Context, name string) error {
	found, err := t.sample(ctx)
	if err != nil {
		return err
	}
	k := t.linear.K
	scores := make([]float32, found.N*k)
	t.linear.Scores(scores, found.Phi, found.N)
	s := picture.Lines{Title: fmt.Sprintf("%s, %d features", t.Recipe.Name, t.Recipe.Dim), Scatter: true}
	axis := func(i int) string {
		return fmt.Sprintf("component %d (%.1f%% of the variance)", i+1, 100*t.Learner.Components[i].Share)
	}
	s.X, s.Y = axis(0), axis(1)
	for _, class := range t.Target.Classes.Classes {
		s.Series = append(s.Series, picture.Series{Name: class})
	}
	for i, y := range found.Y {
		s.Series[int(y)].Add(float64(scores[i*k]), float64(scores[i*k+1]))
	}
	return report.WritePicture(ctx, name, s, 15, 13)
}
