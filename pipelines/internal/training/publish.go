package training

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/stretch"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/internal/about"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Model is a fitted model, and the choices that led to it.
type Model struct {
	Training *Training
	Fit      *Fit
	Found    Found
	Sized    *results.Size      // how the number of features was chosen; nil if it was given
	byRecipe *ByRecipe          // options with a given recipe; nil if the recipe follows from the profile
	lineage  *registry.Lineage  // of sums that the model is fitted to; nil if rows were read
	stretch  *stretch.Distances // how the metric stretches distances; nil without a metric, and before Publish
}

// finish publishes the model and describes it.
func (m *Model) finish(ctx context.Context) (*results.Train, error) {
	if err := m.Training.Job.Timed(ctx, "publish", m.Publish); err != nil {
		return nil, err
	}
	return m.result(), nil
}

// Publish creates the model directory.
func (m *Model) Publish(ctx context.Context) error {
	t, f := m.Training, m.Fit
	p := t.Prepared
	options, err := json.Marshal(p.Data.Schema)
	if err != nil {
		return err
	}
	label := ""
	if p.Data.Labeled && len(p.Data.Targets) == 0 {
		label = p.Data.Label
	}
	out := &models.Model{
		Linear: f.linear, Kept: slices.Concat(p.Recipe.Files, f.files),
		Manifest: &models.Manifest{
			Program: engine.Version(), Task: m.task(), Seed: t.opts.Seed, Recipe: p.Recipe.Sealed, Learner: f.Learner,
			Outputs: f.linear.K,
			BeyondScores: models.BeyondScores{Probabilities: f.probabilities, Positive: t.positive, Segments: f.Segments,
				Sketch: f.sketch, Intervals: f.intervals},
			Input: models.Input{
				Format: p.Data.Schema.Format, Dim: p.Profile.Dim, Columns: p.Data.Schema.Columns, Label: label, Options: options,
			},
			TrainingData: models.TrainingData{Profile: models.Profile{Width: p.Recipe.Width}, Fingerprint: p.Digest,
				Rows: models.Rows{Read: p.Counts.Read, Used: p.Counts.Used, SetAside: p.Counts.SetAside}},
		},
	}
	out.Manifest.Weights, out.Manifest.Learner.Split, out.Manifest.Threshold = f.rowWeights, p.Rule, f.threshold
	given, err := t.givenThreshold(out.Manifest)
	if err != nil {
		return err
	}
	if given != nil {
		f.threshold, out.Manifest.Threshold = given, given
	}
	if m.Found.Searched != nil {
		out.Manifest.Search = m.Found.Searched.Summary()
	}
	switch task := out.Manifest.Task; task {
	case models.Classification:
		out.Manifest.Vocabulary, out.Manifest.Profile.ClassCounts = p.Target.Classes, p.Profile.Labels.Counts
	case models.Regression:
		out.Manifest.TargetGrid, out.Manifest.Input.Labels = p.Target.Grid, p.Data.Targets
	}
	if m.byRecipe != nil { // the input and the profile are the recipe's
		out.Manifest.Input = m.byRecipe.Recipe.Input
	} else {
		file, err := m.profile().File()
		if err != nil {
			return err
		}
		out.Kept = append(out.Kept, storage.File{Name: sums.ProfileFile, Data: file})
	}
	if m.stretch, err = stretch.Of(out.Manifest); err != nil {
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
	files = append(append(files, origin), job.SetAsideFiles(p.Counts)...)
	if t.opts.Report != about.NoReport {
		a, err := about.Of(out.Manifest, m.stretch, lineage, files)
		if err != nil {
			return err
		}
		page, err := a.Report()
		if err != nil {
			return err
		}
		files = append(files, page)
	}
	return t.Job.Publish(ctx, t.opts.Model, files)
}

// mostValues is the largest number of distinct targets of a regression that are listed.
const mostValues = 256

// profile returns the profile of a model directory: statistics of the training rows, and the rule by which
// later data can be summed in the same way. It lists the targets of a regression only if they have at most
// mostValues distinct values, because a longer list says little and would be most of the file.
func (m *Model) profile() *sums.Profile {
	t := m.Training
	p := &sums.Profile{Kernel: t.Prepared.Recipe.Name, Rule: m.Fit.rule, Rows: t.Prepared.Statistics}
	if l := t.Prepared.Statistics.Labels; l != nil && t.regression() && len(l.Counts) > mostValues {
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
	l := &registry.Lineage{Command: t.opts.Command}
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

func (m *Model) result() *results.Train {
	t, f := m.Training, m.Fit
	r := &results.Train{
		Model:         t.opts.Model,
		TrainRows:     m.resultRows(),
		TrainFeatures: m.resultFeatures(),
		TrainFit: results.TrainFit{
			Split: t.Prepared.Rule, HeldOut: t.Prepared.HeldOutText(), Learner: f.Learner.Kind, Lambda: f.Learner.Lambda,
			Path: f.Learner.Table, RuledOut: f.Learner.RuledOut, Select: f.Learner.Select, Log: f.Learner.Log,
			Steps: f.Learner.Steps, Components: f.Learner.Components, Folds: f.Learner.Folds,
		},
		TrainDecision: results.TrainDecision{Probabilities: f.probabilities, Positive: t.positive, Threshold: f.threshold,
			Interval: m.resultInterval()},
		Notes: t.Notes, Seconds: t.Job.Seconds, Work: t.Job.Worker.Seconds(),
	}
	if r.Components != nil {
		return r
	}
	r.Notes = append(r.Notes, gridNotes(f.Learner, f.floor, t.Prepared.Copies != nil, t.regression())...)
	tried := f.Learner.Table
	for _, l := range f.Learner.RuledOut {
		tried = append(tried[:len(tried):len(tried)], ridge.Row{Lambda: l})
	}
	if note := about.Edge(tried, f.Learner.Lambda, ridge.FloorFactor*f.floor); note != "" {
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
		Kernel: p.Recipe.Name, Width: p.Recipe.Width, Recipe: p.Recipe.Sealed, Learned: m.Found.Learned,
		Size: m.Sized, Stretch: m.stretch, Dim: p.Recipe.Dim, Seed: t.opts.Seed,
	}
	if m.Found.Searched != nil {
		r.Search = m.Found.Searched.Summary()
	}
	return r
}
