package training

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
	"github.com/bochner-ml/bochner/transforms/gram"
)

// sumsFit is a fit by sums: the pass that summed the rows, its files, and the results of the solve.
type sumsFit struct {
	decider
	pass    *gram.Pass
	state   gram.State
	report  gram.FitReport // for the λ that the solve has chosen
	heldOut weightsFile    // to score held-out rows, if they calibrate or choose a threshold
}

// sum sums the rows of each fold and solves. It completes how by the folding. The learner of
// the fit is empty.
func (s *sumsPlan) sum(ctx context.Context, target *transforms.Labeling, how gram.Spec,
	folding spec.Folding) (*sumsFit, error) {
	t := s.training
	p := t.Prepared
	how.FoldPlan, how.Lambda, how.Components = folding.FoldPlan, folding.Lambda, folding.Components
	parts := how.AllFolds()
	if parts > 1 {
		if err := t.CountCopies(ctx); err != nil {
			return nil, err
		}
	}
	how.Weights = s.weightGrid
	pass := &gram.Pass{Pass: t.Pass(parts), Spec: how}
	pass.Target = target
	shape := pass.Shape(p.Recipe.Dim)
	if err := shape.Validate(); err != nil {
		return nil, &exit.UsageError{Err: err}
	}
	if err := t.checkExact(s.weightGrid, shape, how.Steps); err != nil {
		return nil, err
	}
	pass.Spec.Rows = folding.Carries(shape, p.Counts.Used)
	pass.Stripes = t.stripesOf(pass, shape)
	solve := folding.SolveMemory(shape, p.Counts.Used, pass.Spec.Rows, t.Job.Engine.Threads)
	t.Job.Progress.Notef("training on %s of %s: %s, %d features on %s, %s, %s to solve",
		report.Counted64(p.Counts.Used, "row"), report.Counted(p.Profile.Dim, "number"), p.Recipe.Name, p.Recipe.Dim,
		report.GridText(how.Steps), t.sumsText(pass, shape), report.Bytes(solve))
	f := &sumsFit{pass: pass, state: t.stateOf(pass), decider: decider{training: t,
		fit: &Fit{rowWeights: t.rowWeights(s.weightGrid)}, folds: t.spec.FoldCount()}}
	counts, _, err := t.countSummed(ctx, pass, f.state, t.sumAndSolve(ctx, pass, f.state))
	if err != nil {
		return nil, err
	}
	if f.report, err = t.loadFit(ctx, f.state, max(shape.Outputs, how.Components), f.fit); err != nil {
		return nil, err
	}
	f.fit.floor = f.report.Floor
	f.discriminants = f.report.Discriminants
	f.heldOut = weightsFile{f.state.HeldOut, f.report.HeldOutSHA256}
	f.trials = weightsFile{f.state.Trials, f.report.TrialsSHA256}
	if counts.Used != p.Counts.Used || f.report.Rows != counts.Used {
		return nil, fmt.Errorf("pipelines: the first pass used %d rows, the second %d, of which %d were summed; the "+
			"files changed during the job: start again", p.Counts.Used, counts.Used, f.report.Rows)
	}
	return f, nil
}

// solveFor replaces the weights by those for another λ, from the same sums.
func (f *sumsFit) solveFor(ctx context.Context, lambda float64) error {
	t := f.training
	st := t.stateOf(f.pass, lambda)
	st.Chosen = []float64{lambda}
	if err := t.solve(ctx, f.pass, st, "solving for the chosen lambda"); err != nil {
		return err
	}
	fit, err := t.loadFit(ctx, st, t.Prepared.Outputs(), f.fit)
	if err != nil {
		return err
	}
	f.heldOut = weightsFile{st.HeldOut, fit.HeldOutSHA256}
	f.discriminants = fit.Discriminants
	return nil
}

// solve solves for the weights from existing sums, unless an earlier run has. phase describes it for the user.
func (t *Training) solve(ctx context.Context, pass *gram.Pass, st gram.State, phase string) error {
	fitted, err := t.fitted(ctx, st)
	if err != nil || fitted {
		return err
	}
	sc, err := t.Job.StorePass(ctx, pass)
	if err != nil {
		return err
	}
	t.Job.Progress.Phase(phase, 0)
	defer t.Job.Progress.Done()
	return t.Job.Run(ctx, func(s beam.Scope) { transforms.Write(s, st.Fit, gram.Solve(s, sc, st, beam.Impulse(s))) })
}

// stripesOf returns the number of stripes into which the sums of a pass are split.
func (t *Training) stripesOf(pass *gram.Pass, shape ridge.Shape) int {
	limit := t.stripes
	if pass.Spec.Rows {
		limit = min(limit, pass.Spec.Folds)
	}
	return len(ridge.CutStripes(shape, pass.Spec.NumSums(), limit))
}

// sumsText describes the sums of a pass, or the rows that it stores.
func (t *Training) sumsText(pass *gram.Pass, shape ridge.Shape) string {
	text, done := "", "added up"
	if pass.Spec.Rows {
		text, done = report.Bytes(spec.RowBytes(shape, t.Prepared.Counts.Used))+" of features", "stored"
	} else {
		readers := max(1, min(t.Job.Engine.Readers, len(t.Prepared.Shards)))
		text = fmt.Sprintf("%s of %s in each of %s", report.Counted(pass.Spec.NumSums(), "sum"), report.Bytes(shape.Bytes()),
			report.Counted(readers, "reader"))
	}
	if pass.Stripes > 1 {
		text += fmt.Sprintf(", %s in %d stripes, for each of which the rows are read", done, pass.Stripes)
	}
	return text
}

// stateOf returns the names of the files of a pass that sums rows, and of a solve from its sums. The names depend
// on the pass, so it must be complete except for its Stripes, and on what else the solve depends on: solve.
func (t *Training) stateOf(pass *gram.Pass, solve ...any) gram.State {
	name := func(file string, further ...any) string {
		return t.Job.Work.File(file, append([]any{engine.Program(), pass}, further...)...)
	}
	return gram.State{
		Dir: storage.Join(t.Job.Work.Dir, "parts"), Reports: name("fold.reports"), Sum: name("sum.jsonl"),
		Fit: name("fit.json", solve...), Weights: name("weights.safetensors", solve...),
		HeldOut: name("held.safetensors", solve...), Trials: name("trials.safetensors", solve...),
		Sketch: name("sketch.safetensors", solve...),
	}
}

// countSummed counts the rows that a pass has summed, by its reports. failed is the error of the pass; errors
// in the reports are more specific and take precedence.
func (t *Training) countSummed(ctx context.Context, pass *gram.Pass, st gram.State,
	failed error) (counts results.RowCounts, lines []gram.Report, err error) {
	lines, err = transforms.ReadLines[gram.Report](ctx, st.Reports)
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
	if err := fault.OfReports(reports); err != nil {
		return counts, nil, err
	}
	if saturated > 0 {
		return counts, nil, exit.Dataf("pipelines: %s features of the %s are not finite or exceed the bound of the recipe "+
			"%d times or more: the rows have a different scale than the recipe was made for; see --scale",
			report.Groups(saturated), t.Prepared.Recipe.Name, features.MaxSteps/pass.Spec.Steps)
	}
	if failed != nil {
		return counts, nil, failed
	}
	counts, err = job.Count(t.Prepared.Data, reports, t.spec.MaxBadFraction)
	return counts, lines, err
}

// sumAndSolve runs the missing steps: none, the solve, or pass and solve.
func (t *Training) sumAndSolve(ctx context.Context, pass *gram.Pass, st gram.State) error {
	if err := t.Job.ForgetFaults(ctx, st.Reports); err != nil {
		return err
	}
	fitted, err := t.fitted(ctx, st)
	if err != nil {
		return err
	}
	if fitted {
		t.Job.Progress.Notef("found the fitted weights in the work directory")
		return nil
	}
	sc, err := t.Job.StorePass(ctx, pass)
	if err != nil {
		return err
	}
	t.Job.Progress.Phase("training", t.Prepared.Counts.Used*int64(sc.Stripes))
	defer t.Job.Progress.Done()
	solve := func(s beam.Scope) { transforms.Write(s, st.Fit, gram.Solve(s, sc, st, beam.Impulse(s))) }
	summed, err := t.Job.Intact(ctx, st.Sum, st.Reports)
	if err != nil {
		return err
	}
	if summed {
		t.Job.Progress.Notef("found the sums of all rows in the work directory")
		err := t.Job.Run(ctx, solve)
		if !exit.Damaged(err) {
			return err
		}
		t.Job.NoteDamage(err)
	}
	// In this process the solve is a separate pipeline, so that the memory of the pass is free. A cluster takes
	// minutes to start another pipeline.
	separate := t.Job.Engine.InProcess()
	err = t.Job.Run(ctx, func(s beam.Scope) {
		parts, reports := gram.Sums(s, sc, st)
		index := gram.Index(s, sc, st, gram.Merge(s, sc, st, parts), reports)
		if !separate {
			transforms.Write(s, st.Fit, gram.Solve(s, sc, st, index))
		}
	})
	if err != nil || !separate {
		return err
	}
	return t.Job.Run(ctx, solve)
}

// fitted reports whether the files that the solve writes exist and are undamaged.
func (t *Training) fitted(ctx context.Context, st gram.State) (bool, error) {
	intact, err := t.Job.Intact(ctx, st.Reports, st.Fit)
	if err != nil || !intact {
		return false, err
	}
	fit, err := readFit(ctx, st)
	if err != nil || fit.Coarse {
		return err == nil, err
	}
	err = st.Check(ctx, fit.WeightDigests)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case exit.Damaged(err):
		t.Job.NoteDamage(err)
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

// loadFit reads the results of a solve. Unless the grid is too coarse, it sets the weights of f and their leverage.
func (t *Training) loadFit(ctx context.Context, st gram.State, outputs int, f *Fit) (fit gram.FitReport, err error) {
	if fit, err = readFit(ctx, st); err != nil || fit.Coarse {
		return fit, err
	}
	if f.linear, err = transforms.LoadWeights(ctx, st.Weights, fit.WeightsSHA256, outputs,
		t.Prepared.Recipe.Dim); err != nil {
		return fit, err
	}
	f.sketch = nil
	if fit.Sketch == nil {
		return fit, nil
	}
	weights, err := transforms.LoadWeights(ctx, st.Sketch, fit.SketchSHA256, fit.Sketch.Probes, t.Prepared.Recipe.Dim)
	if err != nil {
		return fit, err
	}
	f.sketch = models.NewSketch(weights, fit.Sketch.Leverage)
	return fit, nil
}
