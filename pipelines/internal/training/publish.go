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
	*Training
	*Fit
	Found
	Sized    *results.Size      // how the number of features was chosen; nil if it was given
	byRecipe *ByRecipe          // options with a given recipe; nil if the recipe follows from the profile
	lineage  *registry.Lineage  // of sums that the model is fitted to; nil if rows were read
	stretch  *stretch.Distances // how the metric stretches distances; nil without a metric, and before Publish
}

// finish publishes the model and describes it.
func (m *Model) finish(ctx context.Context) (*results.Train, error) {
	if err := m.Timed(ctx, "publish", m.Publish); err != nil {
		return nil, err
	}
	return m.result(), nil
}

// Publish creates the model directory.
func (m *Model) Publish(ctx context.Context) error {
	options, err := json.Marshal(m.Data.Schema)
	if err != nil {
		return err
	}
	label := ""
	if m.Data.Labeled && len(m.Data.Targets) == 0 {
		label = m.Data.Label
	}
	out := &models.Model{
		Linear: m.linear, Kept: slices.Concat(m.Recipe.Files, m.files),
		Manifest: &models.Manifest{
			Program: engine.Version(), Task: m.task(), Seed: m.opts.Seed, Recipe: m.Recipe.Sealed, Learner: m.Learner,
			Outputs: m.linear.K,
			BeyondScores: models.BeyondScores{Probabilities: m.probabilities, Positive: m.positive, Segments: m.Segments,
				Sketch: m.sketch, Intervals: m.intervals},
			Input: models.Input{
				Format: m.Data.Schema.Format, Dim: m.Profile.Dim, Columns: m.Data.Schema.Columns, Label: label, Options: options,
			},
			TrainingData: models.TrainingData{Profile: models.Profile{Width: m.Recipe.Width}, Fingerprint: m.Digest,
				Rows: models.Rows{Read: m.Counts.Read, Used: m.Counts.Used, SetAside: m.Counts.SetAside}},
		},
	}
	out.Manifest.Weights, out.Manifest.Learner.Split, out.Manifest.Threshold = m.weights, m.Rule, m.threshold
	given, err := m.givenThreshold(out.Manifest)
	if err != nil {
		return err
	}
	if given != nil {
		m.threshold, out.Manifest.Threshold = given, given
	}
	if m.Searched != nil {
		out.Manifest.Search = m.Searched.Summary()
	}
	switch task := out.Manifest.Task; task {
	case models.Classification:
		out.Manifest.Vocabulary, out.Manifest.Profile.ClassCounts = m.Target.Classes, m.Profile.Labels.Counts
	case models.Regression:
		out.Manifest.TargetGrid, out.Manifest.Input.Labels = m.Target.Grid, m.Data.Targets
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
	files = append(append(files, origin), job.SetAsideFiles(m.Counts)...)
	if m.opts.Report != about.NoReport {
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
	return m.Job.Publish(ctx, m.opts.Model, files)
}

// mostValues is the largest number of distinct targets of a regression that are listed.
const mostValues = 256

// profile returns the profile of a model directory: statistics of the training rows, and the rule by which
// later data can be summed in the same way. It lists the targets of a regression only if they have at most
// mostValues distinct values, because a longer list says little and would be most of the file.
func (m *Model) profile() *sums.Profile {
	p := &sums.Profile{Kernel: m.Recipe.Name, Rule: m.rule, Rows: m.Statistics}
	if l := m.Statistics.Labels; l != nil && m.regression() && len(l.Counts) > mostValues {
		rows, few := *m.Statistics, *l
		few.Vocabulary, few.Counts, few.Weights = nil, nil, nil
		rows.Labels, p.Rows = &few, &rows
	}
	if m.classes() != nil {
		p.Classes, p.Positive, p.Shapes = m.classes(), m.positive, m.shapes
	}
	return p
}

// fullLineage returns what the model was made from: the sums or the files that were read, and the directories that
// it follows from.
func (m *Model) fullLineage(ctx context.Context) (*registry.Lineage, error) {
	l := &registry.Lineage{Command: m.opts.Command}
	if m.lineage != nil {
		copied := *m.lineage
		l = &copied
	} else {
		files, err := registry.FilesOf(ctx, m.Data)
		if err != nil {
			return nil, err
		}
		l.Sources = []registry.Source{{Files: files}}
	}
	l.Program = engine.Version()
	if m.byRecipe != nil {
		l.Recipe, l.RecipeSHA256 = m.byRecipe.Parent, m.byRecipe.Recipe.Digest
	}
	l.Init = m.init
	if m.Sized != nil {
		l.Sizes = m.Sized.Sizes()
	}
	if o := m.Recipe.Origin; o != nil {
		l.Features = &registry.Parent{Name: o.Name, SHA256: o.SHA256}
	}
	return l, nil
}

func (m *Model) task() models.Task {
	if len(m.Learner.Components) > 0 {
		return models.Embedding
	}
	return m.Training.task()
}

// task returns what is learned from the labels.
func (t *Training) task() models.Task {
	if t.Target.Classes != nil {
		return models.Classification
	}
	return models.Regression
}

func (m *Model) result() *results.Train {
	r := &results.Train{
		Model:         m.opts.Model,
		TrainRows:     m.resultRows(),
		TrainFeatures: m.resultFeatures(),
		TrainFit: results.TrainFit{
			Split: m.Rule, HeldOut: m.HeldOutText(), Learner: m.Learner.Kind, Lambda: m.Learner.Lambda, Path: m.Learner.Table,
			RuledOut: m.Learner.RuledOut, Select: m.Learner.Select, Log: m.Learner.Log, Steps: m.Learner.Steps, Components: m.Learner.Components,
			Folds: m.Learner.Folds,
		},
		TrainDecision: results.TrainDecision{Probabilities: m.probabilities, Positive: m.positive, Threshold: m.threshold,
			Interval: m.resultInterval()},
		Notes: m.Notes, Seconds: m.Seconds, Work: m.Worker.Seconds(),
	}
	if r.Components != nil {
		return r
	}
	r.Notes = append(r.Notes, gridNotes(m.Learner, m.floor, m.Copies != nil, m.regression())...)
	tried := m.Learner.Table
	for _, l := range m.Learner.RuledOut {
		tried = append(tried[:len(tried):len(tried)], ridge.Row{Lambda: l})
	}
	if note := about.Edge(tried, m.Learner.Lambda, ridge.FloorFactor*m.floor); note != "" {
		r.Notes = append(r.Notes, note)
	}
	return r
}

func (m *Model) resultRows() results.TrainRows {
	r := results.TrainRows{Task: m.task(), Rows: m.Counts, Columns: m.Profile.Dim, Weights: m.weights}
	if table := m.Data.Schema.Table; table != nil {
		r.Types = table.String()
	}
	if m.classes() != nil {
		r.Classes, r.Counts = m.classes(), m.Profile.Labels.Counts
	}
	if r.Task == models.Regression {
		r.Targets = m.Data.Targets
		for c, r2 := range m.Learner.TargetR2 { // empty if no rows were held out
			r.TargetScores = append(r.TargetScores, results.TargetScore{Target: m.Data.Targets[c], R2: r2})
		}
	}
	return r
}

func (m *Model) resultFeatures() results.TrainFeatures {
	r := results.TrainFeatures{
		Kernel: m.Recipe.Name, Width: m.Recipe.Width, Recipe: m.Recipe.Sealed, Learned: m.Learned,
		Size: m.Sized, Stretch: m.stretch, Dim: m.Recipe.Dim, Seed: m.opts.Seed,
	}
	if m.Searched != nil {
		r.Search = m.Searched.Summary()
	}
	return r
}
