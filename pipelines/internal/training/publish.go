package training

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/stretch"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/modelreport"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Model is a fitted model, and the choices that led to it.
type Model struct {
	Training *Training
	Fit      *Fit
	Features FeatureChoice
	Sized    *results.Size      // how the number of features was chosen; nil if it was given
	byRecipe *ByRecipe          // options with a given recipe; nil if the recipe follows from the profile
	lineage  *registry.Lineage  // of sums that the model is fitted to; nil if rows were read
	stretch  *stretch.Distances // how the metric stretches distances; nil without a metric, and before Publish
}

// finish publishes the model and describes it.
func (m *Model) finish(ctx context.Context) (*results.Train, error) {
	if err := m.Publish(ctx); err != nil {
		return nil, err
	}
	return m.result(), nil
}

// Publish creates the model directory.
func (m *Model) Publish(ctx context.Context) error {
	t := m.Training
	defer t.Job.Time("publish")()
	manifest, err := m.manifest()
	if err != nil {
		return err
	}
	out := &models.Model{Linear: m.Fit.linear, Manifest: manifest,
		ExtraFiles: slices.Concat(t.Prepared.Recipe.Files, m.Fit.files)}
	if m.byRecipe == nil { // otherwise the profile is the recipe's
		file, err := m.profile().File()
		if err != nil {
			return err
		}
		out.ExtraFiles = append(out.ExtraFiles, storage.File{Name: sums.ProfileFile, Data: file})
	}
	if m.stretch, err = stretch.Describe(manifest); err != nil {
		return err
	}
	files, err := models.Encode(out)
	if err != nil {
		return err
	}
	lineage, err := m.fullLineage(ctx)
	if err != nil {
		return err
	}
	origin, err := lineage.File()
	if err != nil {
		return err
	}
	files = append(append(files, origin), job.SetAsideFiles(t.Prepared.Counts)...)
	if t.spec.Report != options.ReportsNone {
		a, err := modelreport.New(manifest, m.stretch, lineage, files)
		if err != nil {
			return err
		}
		page, err := a.Report()
		if err != nil {
			return err
		}
		files = append(files, page)
	}
	return t.Job.Publish(ctx, t.spec.Model, files)
}

// manifest describes the model, without the checksums of its files. A threshold that the user gives becomes the
// threshold of the fit.
func (m *Model) manifest() (*models.Manifest, error) {
	t, f := m.Training, m.Fit
	p := t.Prepared
	input, err := m.input()
	if err != nil {
		return nil, err
	}
	manifest := &models.Manifest{
		Program: engine.Version(), Task: m.task(), Seed: t.spec.Seed, Recipe: p.Recipe.Sealed, Learner: f.Learner,
		Outputs: f.linear.K, Input: input,
		Extensions: models.Extensions{Probabilities: f.probabilities, Positive: t.positive, Segments: f.Segments,
			Sketch: f.sketch, Intervals: f.intervals},
		TrainingData: models.TrainingData{Profile: models.Profile{Width: p.Recipe.Width}, Fingerprint: p.Digest,
			Rows: p.Counts.RowCounts, Weights: f.rowWeights},
	}
	manifest.Learner.Split = p.Rule
	given, err := t.givenThreshold(manifest)
	if err != nil {
		return nil, err
	}
	if given != nil {
		f.threshold = given
	}
	manifest.Threshold = f.threshold
	if m.Features.Searched != nil {
		manifest.Search = m.Features.Searched.Summary()
	}
	switch manifest.Task {
	case models.Classification:
		manifest.Vocabulary = p.Target.Classes
		manifest.Profile.ClassCounts = p.Profile.Labels.Counts
	case models.Regression:
		manifest.TargetGrid = p.Target.Grid
	}
	return manifest, nil
}

// input describes the rows that the model takes.
func (m *Model) input() (models.Input, error) {
	if m.byRecipe != nil {
		return m.byRecipe.Recipe.Input, nil
	}
	d := m.Training.Prepared.Data
	options, err := json.Marshal(d.Schema)
	in := models.Input{Format: d.Schema.Format, Dim: m.Training.Prepared.Profile.Dim, Columns: d.Schema.Columns,
		Options: options}
	if d.Labeled && len(d.Targets) == 0 {
		in.Label = d.Label
	}
	if m.task() == models.Regression {
		in.Labels = d.Targets
	}
	return in, err
}

// maxValues is the largest number of distinct targets of a regression that are listed.
const maxValues = 256

// profile returns the profile of a model directory: statistics of the training rows, and the rule by which
// later data can be summed in the same way. It lists the targets of a regression only if they have at most
// maxValues distinct values, because a longer list says little and would be most of the file.
func (m *Model) profile() *sums.Profile {
	t := m.Training
	p := &sums.Profile{Kernel: t.Prepared.Recipe.Name, Rule: m.Fit.rule, Rows: t.Prepared.Statistics}
	if l := t.Prepared.Statistics.Labels; l != nil && t.regression() && len(l.Counts) > maxValues {
		rows, few := *t.Prepared.Statistics, *l
		few.Vocabulary, few.Counts, few.Weights = nil, nil, nil
		rows.Labels, p.Rows = &few, &rows
	}
	if t.classes() != nil {
		p.Classes, p.Positive, p.Shapes = t.classes(), t.positive, m.Fit.shapes
	}
	return p
}

// fullLineage returns what the model was made from: the sums or the files that were read, and the directories that
// it follows from.
func (m *Model) fullLineage(ctx context.Context) (*registry.Lineage, error) {
	t := m.Training
	l := &registry.Lineage{Command: t.spec.Command}
	if m.lineage != nil {
		copied := *m.lineage
		l = &copied
	} else {
		files, err := registry.FilesOf(ctx, t.Prepared.Data)
		if err != nil {
			return nil, err
		}
		l.Sources = []registry.Source{{Files: files}}
	}
	l.Program = engine.Version()
	if m.byRecipe != nil {
		l.Recipe, l.RecipeSHA256 = m.byRecipe.Parent, m.byRecipe.Recipe.Digest
	}
	l.Init = m.Fit.init
	if m.Sized != nil {
		l.Sizes = m.Sized.Sizes()
	}
	if o := t.Prepared.Recipe.Origin; o != nil {
		l.Features = &registry.Parent{Name: o.Name, SHA256: o.SHA256}
	}
	return l, nil
}

func (m *Model) task() models.Task {
	if len(m.Fit.Learner.Components) > 0 {
		return models.Embedding
	}
	return m.Training.task()
}

// task returns what is learned from the labels.
func (t *Training) task() models.Task {
	if t.Prepared.Target.Classes != nil {
		return models.Classification
	}
	return models.Regression
}

// result describes the published model.
func (m *Model) result() *results.Train {
	t, f := m.Training, m.Fit
	r := &results.Train{
		Model:         t.spec.Model,
		TrainRows:     m.resultRows(),
		TrainFeatures: m.resultFeatures(),
		TrainFit: results.TrainFit{
			Split: t.Prepared.Rule, HeldOut: t.Prepared.HeldOutText(), Learner: f.Learner.Kind, Lambda: f.Learner.Lambda,
			Path: f.Learner.Table, JudgedByHalves: f.judgedByHalves, RuledOut: f.Learner.RuledOut,
			Select: f.Learner.Select, Log: f.Learner.Log, Steps: f.Learner.Steps, Components: f.Learner.Components, Folds: f.Learner.Folds,
		},
		TrainDecision: results.TrainDecision{Probabilities: f.probabilities, Positive: t.positive, Threshold: f.threshold,
			Interval: m.resultInterval()},
		Notes: t.Notes, Seconds: t.Job.Seconds, Work: t.Job.Worker.Seconds(),
	}
	if r.Components != nil {
		return r
	}
	r.Notes = append(r.Notes, gridNotes(f.Learner, f.floor, t.Prepared.Copies != nil, t.regression())...)
	if f.intervals == nil && t.spec.Intervals == options.IntervalsPlain {
		why := "they need held-out rows (see --folds)"
		if f.probabilities == nil && t.Prepared.Target.Classes != nil {
			why = "for classes they need probabilities (see --calibrate)"
		}
		r.Notes = append(r.Notes, "--intervals plain has no effect, because there are no intervals: "+why)
	}
	tried := f.Learner.Table
	for _, l := range f.Learner.RuledOut {
		tried = append(tried[:len(tried):len(tried)], ridge.CVResult{Lambda: l})
	}
	if note := modelreport.Edge(tried, f.Learner.Lambda, ridge.FloorFactor*f.floor); note != "" {
		r.Notes = append(r.Notes, note)
	}
	return r
}

func (m *Model) resultRows() results.TrainRows {
	t := m.Training
	p := t.Prepared
	r := results.TrainRows{Task: m.task(), Rows: p.Counts, Columns: p.Profile.Dim, Weights: m.Fit.rowWeights}
	if table := p.Data.Schema.Table; table != nil {
		r.Types = table.String()
	}
	if t.classes() != nil {
		r.Classes, r.Counts = t.classes(), p.Profile.Labels.Counts
	}
	if r.Task == models.Regression {
		r.Targets = p.Data.Targets
		for c, r2 := range m.Fit.Learner.TargetR2 { // empty if no rows were held out
			r.TargetScores = append(r.TargetScores, results.TargetScore{Target: p.Data.Targets[c], R2: r2})
		}
	}
	return r
}

func (m *Model) resultFeatures() results.TrainFeatures {
	t := m.Training
	p := t.Prepared
	r := results.TrainFeatures{
		Kernel: p.Recipe.Name, Width: p.Recipe.Width, Recipe: p.Recipe.Sealed, Learned: m.Features.Learned,
		Size: m.Sized, Stretch: m.stretch, Dim: p.Recipe.Dim, Seed: t.spec.Seed,
	}
	if m.Features.Searched != nil {
		r.Search = m.Features.Searched.Summary()
	}
	return r
}

// RoundingNote returns a note if rounding contributes more than one percent to the held-out squared error for a
// λ.
func RoundingNote(row ridge.CVResult, regression bool) []string {
	if row.HeldOutRows == 0 {
		if row.Rounding <= 0.01*row.MSE {
			return nil
		}
		return []string{fmt.Sprintf("held-out errors are measured with rounded features; with unrounded features, "+
			"as in predictions, the error at lambda %g is about %.3g smaller", row.Lambda, row.Rounding)}
	}
	if math.Abs(row.FoldMSE-row.HeldOutMSE) <= 0.01*row.HeldOutMSE {
		return nil
	}
	name, rounded, plain := "mse", row.FoldMSE, row.HeldOutMSE
	if regression {
		name, rounded, plain = "RMSE", math.Sqrt(rounded), math.Sqrt(plain)
	}
	if regression && row.Folds == 1 {
		return []string{fmt.Sprintf("lambda was chosen by errors of features that are rounded for sums: at lambda %g, the "+
			"held-out RMSE of rounded features is %.6g, compared with %.6g in predictions", row.Lambda, rounded, plain)}
	}
	return []string{fmt.Sprintf("held-out %s is measured with rounded features; with unrounded features, as in "+
		"predictions, the %s at lambda %g on %s rows of one fold is %.6g, compared with %.6g for rounded ones",
		name, name, row.Lambda, report.Groups(row.HeldOutRows), plain, rounded)}
}

// convergedGap is the largest distance from the optimum, as a share of the objective, at which a model is
// called converged.
const convergedGap = 0.01

// converged reports whether the duality gap or the gradient of the last round shows that the objective is near
// the optimum. share is the bound on the distance, as a share of the objective, NaN if there is none.
func converged(r iterative.Report) (ok bool, share float64) {
	share = math.NaN()
	if gap, known := r.Gap(); known {
		share = gap / math.Abs(r.Objective)
	} else if r.Above != nil {
		share = *r.Above / math.Abs(r.Objective)
	}
	return share <= convergedGap, share
}

// unconverged describes why a model is not called converged, "" if it is.
func unconverged(c *models.TrainingLog, history []iterative.Report) string {
	if c.Converged == nil || *c.Converged {
		return ""
	}
	last := history[len(history)-1]
	if _, share := converged(last); !math.IsNaN(share) {
		return fmt.Sprintf("not converged: the objective may be up to %s%% above the optimum; more --rounds, more "+
			"--features or a larger --lambda bring it closer", percent(share))
	}
	text := "not converged: the rounds ended"
	if len(history) > 1 {
		before := history[len(history)-2].Objective
		if fell := (before - last.Objective) / math.Abs(before); fell > 0 {
			text += fmt.Sprintf(" while the objective still fell by %.2g%% in the last one", 100*fell)
		}
	}
	return text + "; more --rounds may lower it"
}

// percent formats a share in percent, with two digits or as a whole number.
func percent(share float64) string {
	if p := 100 * share; p >= 99.5 && p < 1e15 {
		return report.Groups(int64(math.Round(p)))
	}
	return fmt.Sprintf("%.2g", 100*share)
}

// gridNotes returns notes on how the grid of the features affects the figures of a fit by sums. roundingLambda is
// the λ to which rounding to the grid is equivalent. copies is whether copies of rows were assigned to folds one by
// one.
func gridNotes(l models.Learner, roundingLambda float64, copies, regression bool) (notes []string) {
	if l.Steps == 0 {
		return nil
	}
	if l.Lambda <= ridge.FloorFactor*roundingLambda {
		hint := "--grid 16 is finer"
		if l.Steps != features.ByteSteps {
			hint = "no finer grid is available"
		}
		notes = append(notes,
			fmt.Sprintf("rounding features to a grid of %s acts like a lambda of %.2g on top of lambda %g; %s",
				report.GridText(l.Steps), roundingLambda, l.Lambda, hint))
		if copies {
			notes = append(notes, "copies are rounded alike: at such a lambda, held-out errors of repeated rows are too small")
		}
	}
	for _, row := range l.Table {
		// With weights of classes, errors from sums do not compare with errors of scored rows.
		if row.Lambda == l.Lambda && row.Failed == "" && l.ClassWeights == nil {
			notes = append(notes, RoundingNote(row, regression)...)
		}
	}
	return notes
}
