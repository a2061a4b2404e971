package training

import (
	"context"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/transforms/gram"
)

// trainByRecipe trains by the recipe of a model.
func trainByRecipe(ctx context.Context, o Options) (result *Result, err error) {
	if err := validateByRecipe(o); err != nil {
		return nil, err
	}
	if o.Recipe, err = job.FindModel(ctx, o.Recipe, o.Job.Log); err != nil {
		return nil, err
	}
	recipe, err := ReadRecipe(ctx, o.Recipe, nil)
	if err != nil {
		return nil, err
	}
	_, parent := storage.Split(strings.TrimRight(o.Recipe, "/"))
	a := ByRecipe{Recipe: recipe, Parent: parent, Data: o.Data, Lambda: o.Lambda, Calibrate: o.Calibrate,
		MaxBadFraction: o.MaxBadFraction, Job: o.Job}
	t, err := a.Begin(ctx, o.Model)
	if err != nil {
		return nil, err
	}
	defer func() { err = t.Close(ctx, err) }()
	err = t.Timed(ctx, "train", func(ctx context.Context) error {
		s, err := t.SumRows(ctx)
		if err != nil {
			return err
		}
		p, _, err := t.Part(ctx, s, false)
		if err != nil {
			return err
		}
		return t.SolveSums(ctx, s, p.Sums)
	})
	if err != nil {
		return nil, err
	}
	return t.Finish(ctx)
}

// Finish publishes the model of a training by a recipe.
func (t *Training) Finish(ctx context.Context) (*Result, error) {
	if err := t.Timed(ctx, "publish", t.Publish); err != nil {
		return nil, err
	}
	return t.result(), nil
}

func validateByRecipe(o Options) error {
	if o.Model == "" {
		return exit.Usage("--model is missing: name the directory to create")
	}
	if o.Threshold != "" || o.Lambda.Selects() || o.Lambda.Folds != 0 {
		return exit.Usage("--threshold, --select and --folds cannot be used with --recipe, which trains by " +
			"sums alone: its folds are those of the recipe, and no row is scored")
	}
	if err := o.Lambda.Validate(); err != nil {
		return err
	}
	if err := prepare.ValidFraction(o.MaxBadFraction); err != nil {
		return err
	}
	return o.Job.Validate(o.Data, o.Model, job.Place{Flag: "model", Name: o.Model},
		job.Place{Flag: "recipe", Name: o.Recipe})
}

// ReadRecipe returns the recipe of a model directory, and notes in the log which an alias stands
// for.
func ReadRecipe(ctx context.Context, model string, log io.Writer) (*sums.Recipe, error) {
	dir, err := job.FindModel(ctx, model, log)
	if err != nil {
		return nil, err
	}
	r, _, err := sums.ReadRecipe(ctx, dir)
	if err != nil && exit.Code(err) == exit.CodeFailed {
		err = &exit.UsageError{Err: err}
	}
	return r, err
}

// Part describes sums in the work directory. With write it also returns the files of a part, but
// for its manifest, whose sums it writes into the work directory.
func (t *Training) Part(ctx context.Context, s *Summed, write bool) (*sums.Part, []storage.File, error) {
	p := &sums.Part{
		Program: engine.Version(), Recipe: t.given.Recipe.Digest,
		Rows: models.Rows{Read: t.Counts.Read, Used: t.Counts.Used, SetAside: t.Counts.SetAside},
	}
	if t.Target != nil && t.Target.Classes != nil {
		p.Classes, p.ClassCounts = t.Target.Classes.Classes, t.Profile.Labels.Counts
	}
	var files []storage.File
	if len(s.Copies) > 0 {
		data := profile.AppendContents(nil, s.Copies)
		sum := models.SumFile(sums.CopiesFile, data)
		p.Copies = &sum
		files = append(files, storage.File{Name: sums.CopiesFile, Data: data})
	}
	stored, err := gram.OpenSums(ctx, s.State, s.Folds, s.Shape)
	if err != nil {
		return nil, nil, err
	}
	w, err := sums.NewWriter()
	if err != nil {
		return nil, nil, err
	}
	n := ridge.NumParts(s.Shape)
	for f := range s.Folds {
		load := func(i int) ([]float64, error) { return stored.Load(ctx, f*n+i) }
		var frames []sums.Frame
		if write {
			file := storage.File{Name: sums.FoldFile(f), From: t.Work.File(sums.FoldFile(f), engine.Program(), s.State.Sum)}
			sum, err := storage.CreateState(ctx, file.From, func(out io.Writer) (err error) {
				frames, err = w.Fold(out, n, load)
				return err
			})
			if err != nil {
				return nil, nil, err
			}
			file.Sum = &sum
			files = append(files, file)
		} else if frames, err = w.Fold(nil, n, load); err != nil {
			return nil, nil, err
		}
		p.Folds = append(p.Folds, frames)
	}
	_, err = p.Encode() // sets the digest
	return p, files, err
}
