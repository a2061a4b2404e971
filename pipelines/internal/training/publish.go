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
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// Publish creates the model directory.
func (t *Training) Publish(ctx context.Context) error {
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
			BeyondScores: models.BeyondScores{Probabilities: t.probabilities, Segments: t.Segments, Sketch: t.sketch,
				Intervals: t.intervals},
			Input: models.Input{
				Format: t.Data.Schema.Format, Dim: t.Profile.Dim, Columns: t.Data.Schema.Columns, Label: label, Options: options,
			},
			TrainingData: models.TrainingData{Profile: models.Profile{Width: t.Recipe.Width}, Fingerprint: t.Digest,
				Rows: models.Rows{Read: t.Counts.Read, Used: t.Counts.Used, SetAside: t.Counts.SetAside}},
		},
	}
	m.Manifest.Weights = t.rowWeights()
	m.Manifest.Learner.Split = t.Rule
	m.Manifest.Outputs = t.linear.K
	if m.Manifest.Positive = t.positive; t.given != nil && t.linear.K == 2 {
		m.Manifest.Positive = t.given.Recipe.Profile.Positive
	}
	t.positive = m.Manifest.Positive
	if err := t.decide(m.Manifest); err != nil {
		return err
	}
	t.threshold = m.Manifest.Threshold
	if t.Searched != nil {
		m.Manifest.Search = t.Searched.Summary()
	}
	switch task := m.Manifest.Task; task {
	case models.Classification:
		m.Manifest.Vocabulary, m.Manifest.Profile.ClassCounts = t.Target.Classes, t.Profile.Labels.Counts
	case models.Regression:
		m.Manifest.TargetGrid, m.Manifest.Input.Labels = t.Target.Grid, t.Data.Targets
	}
	if t.given != nil { // the input and the profile are the recipe's
		m.Manifest.Input = t.given.Recipe.Input
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
	lineage, err := t.lineage(ctx)
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

// lineage returns what the model was made from: Lineage or the files that were read, and the directories that
// it follows from.
func (t *Training) lineage(ctx context.Context) (*registry.Lineage, error) {
	l := &registry.Lineage{Command: t.opts.Command}
	if t.Lineage != nil {
		of := *t.Lineage
		l = &of
	} else {
		files, err := registry.FilesOf(ctx, t.Data)
		if err != nil {
			return nil, err
		}
		l.Parts = []registry.Part{{Files: files}}
	}
	l.Program = engine.Version()
	if t.given != nil {
		l.Recipe, l.RecipeSHA256 = t.given.Parent, t.given.Recipe.Digest
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

func (t *Training) task() models.Task {
	switch {
	case len(t.Learner.Components) > 0:
		return models.Embedding
	case t.Target.Classes != nil:
		return models.Classification
	}
	return models.Regression
}

func (t *Training) result() *Result {
	r := &Result{
		Model:          t.opts.Model,
		ResultRows:     t.resultRows(),
		ResultFeatures: t.resultFeatures(),
		ResultFit: ResultFit{
			Split: t.Rule, HeldOut: t.HeldOutText(), Learner: t.Learner.Kind, Lambda: t.Learner.Lambda, Path: t.Learner.Table,
			RuledOut: t.Learner.RuledOut,
			Select:   t.Learner.Select, Log: t.Learner.Log, Steps: t.Learner.Steps, Components: t.Learner.Components,
			Folds: t.Learner.Folds,
		},
		ResultDecision: ResultDecision{Probabilities: t.probabilities, Positive: t.positive, Threshold: t.threshold,
			Interval: t.resultInterval()},
		Notes: t.Notes, Seconds: t.Seconds, Work: t.Worker.Seconds(),
	}
	if r.Components != nil {
		return r
	}
	r.Notes = append(r.Notes, GridNotes(t.Learner, t.summed.fit.Floor, t.Copies != nil, t.Target != nil &&
		t.Target.Grid != nil)...)
	tried := t.Learner.Table
	for _, l := range t.Learner.RuledOut {
		tried = append(tried[:len(tried):len(tried)], ridge.Row{Lambda: l})
	}
	if note := about.Edge(tried, t.Learner.Lambda, ridge.FloorFactor*t.summed.fit.Floor); note != "" {
		r.Notes = append(r.Notes, note)
	}
	return r
}

func (t *Training) resultRows() ResultRows {
	r := ResultRows{Task: t.task(), Rows: t.Counts, Columns: t.Profile.Dim, Weights: t.rowWeights()}
	if table := t.Data.Schema.Table; table != nil {
		r.Types = table.String()
	}
	if t.Target != nil && t.Target.Classes != nil {
		r.Classes, r.Counts = t.Target.Classes.Classes, t.Profile.Labels.Counts
	}
	if r.Task == models.Regression {
		r.Targets = t.Data.Targets
		for c, r2 := range t.Learner.TargetR2 { // empty if no rows were held out
			r.TargetScores = append(r.TargetScores, TargetScore{Target: t.Data.Targets[c], R2: r2})
		}
	}
	return r
}

func (t *Training) resultFeatures() ResultFeatures {
	r := ResultFeatures{
		Kernel: t.Recipe.Name, Width: t.Recipe.Width, Recipe: t.Recipe.Sealed, Learned: t.Learned,
		Size: t.Sized, Stretch: t.stretch, Dim: t.Recipe.Dim, Seed: t.opts.Seed,
	}
	if t.Searched != nil {
		r.Search = t.Searched.Summary()
	}
	return r
}
