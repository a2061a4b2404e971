package pipelines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/ask"
	"github.com/bochner-ml/bochner/pipelines/internal/days"
	"github.com/bochner-ml/bochner/pipelines/internal/evaluate"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/internal/sumdirs"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// retrainJobs implements days.Jobs by calling the other jobs with the options of a retraining.
type retrainJobs struct{ o options.Retrain }

// buildJob returns the options of a job that creates a directory. The job continues the work of an
// earlier run that was stopped.
func (j *retrainJobs) buildJob() options.Job {
	o := j.o.Train.Job
	o.Work, o.Resume = "", true
	return o
}

// scoreJob returns the options of a job that only scores and creates no directory.
func (j *retrainJobs) scoreJob() options.Job {
	o := j.o.Train.Job
	o.Work, o.Resume = "", false
	if o.Engine.About().Machines {
		o.Work = storage.Join(j.o.Models, ".bochner-judge")
	}
	return o
}

func (j *retrainJobs) Train(ctx context.Context, model string, files []string) error {
	t := spec.Options{Train: j.o.Train}
	t.Model, t.Data.Files = model, files
	t.Job = j.buildJob()
	if _, rounds := t.Rounds(); !rounds { // later runs fit to sums
		t.Lambda.Select = cmp.Or(t.Lambda.Select, options.SelectMSE) // as fits to sums do
		if !t.CalibrationRequested() {
			t.Calibrate = options.CalibrationNone // as the models of later runs
		}
	}
	t.Accept = func(m *models.Manifest) error { return errors.Join(j.checkGate(m), j.checkPairedGate(m)) }
	_, err := Train(ctx, t.Train)
	return err
}

// Reference makes an embedding whose recipe serves to measure drift. Here the label is a column like
// any other. Columns of groups and times keep their roles.
func (j *retrainJobs) Reference(ctx context.Context, model string, files []string) error {
	if exists, err := storage.Exists(ctx, storage.Join(model, models.ManifestFile)); err != nil || exists {
		return err
	}
	t := j.o.Train.Prepare
	t.Data.Files = files
	t.Job = j.buildJob()
	t.Job.Log = nil
	t.Kernel = &fourier.GaussianOptions{Features: 32}
	t.Scale, t.Encode, t.Room = nil, preprocess.ColumnOptions{}, 0
	if len(t.Data.Columns) > 0 {
		t.Data.Columns = append(slices.Clone(t.Data.Columns), t.Data.Label)
	}
	t.Data.Label, t.Data.LabelText = "", dataset.LabelText{}
	t.Split.Into(&t.Data)
	d, err := job.OpenData(ctx, t.Data, nil)
	if err != nil {
		return err
	}
	if t.Types.Schema == "" && d.Schema.Traits().Columns { // so that values may be missing, as in Train
		t.Types.Fill = schema.Median
	}
	_, err = embed(ctx, options.Embed{Prepare: t, Model: model}, spec.DefaultFolds)
	return err
}

// checkGate refuses gates on scores that the model does not have.
func (j *retrainJobs) checkGate(m *models.Manifest) error {
	gates, err := evaluate.ParseGates(j.o.Gate)
	if err != nil {
		return err
	}
	return gates.CheckModel(m)
}

// checkPairedGate refuses conditions that do not apply to models like this one.
func (j *retrainJobs) checkPairedGate(m *models.Manifest) error {
	_, err := evaluate.FitConditions(pairedFlag, j.o.PairedGate, m, m)
	return err
}

func (j *retrainJobs) Accept(ctx context.Context, champion string) error {
	m, err := models.ReadManifest(ctx, champion)
	if err != nil {
		return err
	}
	// The champion may lack probabilities that a new model will have.
	if _, rounds := (spec.Options{Train: j.o.Train}).Rounds(); !rounds {
		like := *m
		if j.o.Train.Calibrate == options.CalibrationPlatt && m.Task == models.Classification {
			like.Probabilities = new(models.Probabilities)
		}
		if err := j.checkGate(&like); err != nil {
			return err
		}
	}
	return j.checkPairedGate(m)
}

// heldOutData returns the options of the data on which models are scored. The model determines the columns.
func (j *retrainJobs) heldOutData(files []string) dataset.Options {
	d := j.o.Train.Data
	d.Files = files
	d.Columns, d.Drop, d.Weight, d.ID = nil, nil, "", ""
	return d
}

func (j *retrainJobs) Compare(ctx context.Context, champion, model string,
	files []string) (gates []registry.Gate, r *results.CompareModels, err error) {
	if j.o.Gate != "" {
		r, err := Evaluate(ctx, options.Evaluate{
			Model: model, Data: j.heldOutData(files), Gate: j.o.Gate, MaxBadFraction: j.o.Train.MaxBadFraction, Job: j.scoreJob(),
		})
		if _, failed := errors.AsType[*exit.GateError](err); err != nil && !failed {
			return nil, nil, err
		}
		if gates, err = evaluate.Verdicts(j.o.Gate, r); err != nil {
			return nil, nil, err
		}
	}
	if champion == "" {
		return gates, nil, nil
	}
	r, err = CompareModels(ctx, options.CompareModels{
		Champion: champion, Challenger: model, Data: j.heldOutData(files), Gate: j.o.PairedGate,
		MaxBadFraction: j.o.Train.MaxBadFraction, Job: j.scoreJob(),
	})
	if _, failed := errors.AsType[*exit.GateError](err); err != nil && !failed {
		return nil, nil, err
	}
	for _, g := range r.Gate {
		gates = append(gates, registry.Gate{Condition: g.Condition, Passed: g.Holds,
			Result: cmp.Or(g.Why, fmt.Sprintf("p = %.3g", g.P))})
	}
	return gates, r, nil
}

// Recipe returns the first 16 digits of the digest of the model's recipe, which serve as its name.
// It returns "" if later models cannot use the recipe: for a model that is not fitted to sums, or
// whose profile lacks the curves of classes that calibration needs.
func (j *retrainJobs) Recipe(ctx context.Context, model string) (string, error) {
	r, _, err := sums.ReadRecipe(ctx, model)
	if errors.Is(err, sums.ErrNotBySums) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if j.o.Train.Calibrate == options.CalibrationPlatt && r.Task == models.Classification && r.Profile.Shapes == nil {
		return "", nil
	}
	return r.Digest[:16], nil
}

func (j *retrainJobs) Sum(ctx context.Context, recipe string, files []string, out string) (*days.DaySums, error) {
	p, err := sums.ReadManifest(ctx, out)
	found := err == nil
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d := j.heldOutData(files)
		d.Weight = j.o.Train.Data.Weight
		m, err := models.ReadManifest(ctx, recipe)
		if err != nil {
			return nil, err
		}
		if m.Task == models.Embedding {
			// The recipe does not need a label that was the same in all of its rows, but training does.
			if _, err := job.OpenData(ctx, d, nil); err != nil {
				return nil, err
			}
			d.Label, d.LabelText = "", dataset.LabelText{}
		}
		r, err := days.Sum(ctx, options.Sum{
			Recipe: recipe, Data: d, Out: out, MaxBadFraction: j.o.Train.MaxBadFraction, Job: j.buildJob(),
		})
		if err != nil {
			return nil, err
		}
		p = r.Manifest
	case err != nil:
		return nil, err
	}
	s := &days.DaySums{Rows: p.Rows.Used, Content: p.Sums, Found: found}
	if p.Drift != nil {
		if p.Drift.Schema != nil {
			s.New = p.Drift.Schema.New
		}
		s.Columns = p.Drift.Columns[:min(len(p.Drift.Columns), days.MaxColumns)]
	}
	return s, nil
}

func (j *retrainJobs) Drift(ctx context.Context, from string, o options.SumDirs) (*results.Drift, error) {
	f, err := days.FeatureDrift(ctx, []string{from}, o, j.o.Train.Job.Engine.WithDefaults().Threads)
	if err != nil {
		return nil, err
	}
	return &results.Drift{Value: f.AtLeast, Text: f.String()}, nil
}

func (j *retrainJobs) ChooseWindow(ctx context.Context, dirs []string,
	known map[string][]float64) (*results.ChosenWindow, error) {
	terms, err := sumdirs.Open(ctx, options.SumDirs{Sums: dirs})
	if err != nil {
		return nil, err
	}
	return ask.ChooseWindow(ctx, options.Ask{Threads: j.o.Train.Job.Engine.WithDefaults().Threads, Seed: 1,
		Log: j.o.Train.Job.Log}, terms, known)
}

func (j *retrainJobs) Fit(ctx context.Context, o options.Fit) error {
	o.Reporting = j.o.Train.Reporting
	o.Job = j.buildJob()
	if o.Model != "" {
		o.Calibrate = j.o.Train.Calibrate
		_, err := days.Fit(ctx, o)
		return err
	}
	if exists, err := storage.Exists(ctx, storage.Join(o.SaveSums, sums.ManifestFile)); err != nil || exists {
		return err
	}
	_, err := days.AddSums(ctx, options.AddSums{SumDirs: o.SumDirs, Out: o.SaveSums, Job: o.Job})
	return err
}
