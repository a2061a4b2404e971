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
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// Model is a fitted model, and the choices that led to it.
type Model struct {
	*Training
	*Fit
	Found
	Sized    *tuning.SizeResult // how the number of features was chosen; nil if it was given
	byRecipe *ByRecipe          // options with a given recipe; nil if the recipe follows from the profile
	lineage  *registry.Lineage  // of sums that the model is fitted to; nil if rows were read
	stretch  *stretch.Distances // how the metric stretches distances; nil without a metric, and before Publish
}

// finish publishes the model and describes it.
func (t *Model) finish(ctx context.Context) (*Result, error) {
	if err := t.Timed(ctx, "publish", t.Publish); err != nil {
		return nil, err
	}
	return t.result(), nil
}

// Publish creates the model directory.
func (t *Model) Publish(ctx context.Context) error {
	options, err := json.Marshal(t.Data.Schema)
	if err != nil {
		return err
	}
	label := ""
	if t.Data.Labeled && len(t.Data.Targets) == 0 {
		label = t.Data.Label
	}
	m := &models.Model{
		Linear: t.linear, Kept: slices.Concat(t.Recipe.Files, t.files),
		Manifest: &models.Manifest{
			Program: engine.Version(), Task: t.task(), Seed: t.opts.Seed, Recipe: t.Recipe.Sealed, Learner: t.Learner,
			Outputs: t.linear.K,
			BeyondScores: models.BeyondScores{Probabilities: t.probabilities, Positive: t.positive, Segments: t.Segments,
				Spread: t.spread, Intervals: t.intervals},
			Input: models.Input{
				Format: t.Data.Schema.Format, Dim: t.Profile.Dim, Columns: t.Data.Schema.Columns, Label: label, Options: options,
			},
			TrainingData: models.TrainingData{Profile: models.Profile{Width: t.Recipe.Width}, Fingerprint: t.Digest,
				Rows: models.Rows{Read: t.Counts.Read, Used: t.Counts.Used, SetAside: t.Counts.SetAside}},
		},
	}
	m.Manifest.Weights, m.Manifest.Learner.Split, m.Manifest.Threshold = t.weights, t.Rule, t.threshold
	given, err := t.givenThreshold(m.Manifest)
	if err != nil {
		return err
	}
	if given != nil {
		t.threshold, m.Manifest.Threshold = given, given
	}
	if t.Searched != nil {
		m.Manifest.Search = t.Searched.Summary()
	}
	switch task := m.Manifest.Task; task {
	case models.Classification:
		m.Manifest.Vocabulary, m.Manifest.Profile.ClassCounts = t.Target.Classes, t.Profile.Labels.Counts
	case models.Regression:
		m.Manifest.TargetGrid, m.Manifest.Input.Labels = t.Target.Grid, t.Data.Targets
	}
	if t.byRecipe != nil { // the input and the profile are the recipe's
		m.Manifest.Input = t.byRecipe.Recipe.Input
	} else {
		about, err := t.profile().File()
		if err != nil {
			return err
		}
		m.Kept = append(m.Kept, storage.File{Name: sums.ProfileFile, Data: about})
	}
	if t.stretch, err = stretch.Of(m.Manifest); err != nil {
		return err
	}
	files, err := models.Encode(m)
	if err != nil {
		return err
	}
	lineage, err := t.fullLineage(ctx)
	if err != nil {
		return err
	}
	origin, err := lineage.File()
	if err != nil {
		return err
	}
	files = append(append(files, origin), t.Counts.Files()...)
	if t.opts.Report != about.NoReport {
		a, err := about.Of(m.Manifest, t.stretch, lineage, files)
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
func (t *Model) profile() *sums.Profile {
	p := &sums.Profile{Kernel: t.Recipe.Name, Rule: t.rule, Rows: t.Statistics}
	if l := t.Statistics.Labels; l != nil && t.regression() && len(l.Counts) > mostValues {
		rows, few := *t.Statistics, *l
		few.Vocabulary, few.Counts, few.Weights = nil, nil, nil
		rows.Labels, p.Rows = &few, &rows
	}
	if t.classes() != nil {
		p.Classes, p.Positive, p.Shapes = t.classes(), t.positive, t.shapes
	}
	return p
}

// fullLineage returns what the model was made from: the sums or the files that were read, and the directories that
// it follows from.
func (t *Model) fullLineage(ctx context.Context) (*registry.Lineage, error) {
	l := &registry.Lineage{Command: t.opts.Command}
	if t.lineage != nil {
		copied := *t.lineage
		l = &copied
	} else {
		files, err := registry.FilesOf(ctx, t.Data)
		if err != nil {
			return nil, err
		}
		l.Parts = []registry.Part{{Files: files}}
	}
	l.Program = engine.Version()
	if t.byRecipe != nil {
		l.Recipe, l.RecipeSHA256 = t.byRecipe.Parent, t.byRecipe.Recipe.Digest
	}
	l.Init = t.init
	if t.Sized != nil {
		l.Sizes = t.Sized.Sizes()
	}
	if o := t.Recipe.Origin; o != nil {
		l.Features = &registry.Parent{Name: o.Name, SHA256: o.SHA256}
	}
	return l, nil
}

func (t *Model) task() models.Task {
	if len(t.Learner.Components) > 0 {
		return models.Embedding
	}
	return t.Training.task()
}

// task returns what is learned from the labels.
func (t *Training) task() models.Task {
	if t.Target.Classes != nil {
		return models.Classification
	}
	return models.Regression
}

func (t *Model) result() *Result {
	r := &Result{
		Model:          t.opts.Model,
		ResultRows:     t.resultRows(),
		ResultFeatures: t.resultFeatures(),
		ResultFit: ResultFit{
			Split: t.Rule, HeldOut: t.HeldOutText(), Learner: t.Learner.Kind, Lambda: t.Learner.Lambda, Path: t.Learner.Table,
			RuledOut: t.Learner.RuledOut, Select: t.Learner.Select, Log: t.Learner.Log, Steps: t.Learner.Steps, Components: t.Learner.Components,
			Folds: t.Learner.Folds,
		},
		ResultDecision: ResultDecision{Probabilities: t.probabilities, Positive: t.positive, Threshold: t.threshold,
			Interval: t.resultInterval()},
		Notes: t.Notes, Seconds: t.Seconds, Work: t.Worker.Seconds(),
	}
	if r.Components != nil {
		return r
	}
	r.Notes = append(r.Notes, gridNotes(t.Learner, t.floor, t.Copies != nil, t.regression())...)
	tried := t.Learner.Table
	for _, l := range t.Learner.RuledOut {
		tried = append(tried[:len(tried):len(tried)], ridge.Row{Lambda: l})
	}
	if note := about.Edge(tried, t.Learner.Lambda, ridge.FloorFactor*t.floor); note != "" {
		r.Notes = append(r.Notes, note)
	}
	return r
}

func (t *Model) resultRows() ResultRows {
	r := ResultRows{Task: t.task(), Rows: t.Counts, Columns: t.Profile.Dim, Weights: t.weights}
	if table := t.Data.Schema.Table; table != nil {
		r.Types = table.String()
	}
	if t.classes() != nil {
		r.Classes, r.Counts = t.classes(), t.Profile.Labels.Counts
	}
	if r.Task == models.Regression {
		r.Targets = t.Data.Targets
		for c, r2 := range t.Learner.TargetR2 { // empty if no rows were held out
			r.TargetScores = append(r.TargetScores, TargetScore{Target: t.Data.Targets[c], R2: r2})
		}
	}
	return r
}

func (t *Model) resultFeatures() ResultFeatures {
	r := ResultFeatures{
		Kernel: t.Recipe.Name, Width: t.Recipe.Width, Recipe: t.Recipe.Sealed, Learned: t.Learned,
		Size: t.Sized, Stretch: t.stretch, Dim: t.Recipe.Dim, Seed: t.opts.Seed,
	}
	if t.Searched != nil {
		r.Search = t.Searched.Summary()
	}
	return r
}
