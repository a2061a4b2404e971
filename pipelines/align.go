package pipelines

import (
	"cmp"
	"context"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/models/align"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Align learns features from labelled rows, by the game between a kernel and a support vector
// machine or by weighting drawn frequencies, and publishes them as a directory that learned.Options
// and learned.HarmonicOptions read. It takes a profile pass, a pass that samples rows, and two
// passes per round of the game.
func Align(ctx context.Context, o options.Align) (result *results.Align, err error) {
	switch k := o.Kernel.(type) {
	case nil:
		o.Kernel = &learned.Options{}
	case *fourier.GaussianOptions: // the initial width, form and number
		if k.Draw != fourier.Iid {
			return nil, exit.Usagef("--draw %s cannot be used with align, which learns frequencies; leave it out", k.Draw)
		}
		o.Kernel = &learned.Options{Width: k.Width, Gamma: k.Gamma, Features: k.Features, Form: k.Form}
	}
	o.Learned = tuning.GameDefaults(o.Learned)
	if err := validateAlign(o); err != nil {
		return nil, err
	}
	o.Learned.HeldOut = cmp.Or(o.Folds, spec.DefaultFolds)
	if o.Learned.HeldOut == 1 {
		o.Learned.HeldOut = 0
	}
	t, err := training.Begin(ctx, alignTraining(o), o.Out, prepare.CheckLabeled)
	if err != nil {
		return nil, err
	}
	defer func() { err = t.Job.Close(ctx, err) }()
	if o.Learned.HeldOut > 0 {
		end := t.Job.Time("copies")
		err := t.CountCopies(ctx)
		end()
		if err != nil {
			return nil, err
		}
	}
	features, game, err := t.LearnFeatures(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.Job.Publish(ctx, o.Out, append(t.Prepared.Recipe.Files, job.SetAsideFiles(t.Prepared.Counts)...)); err != nil {
		return nil, err
	}
	if o.Plot != "" {
		err = report.WritePicture(ctx, o.Plot, gameCurve(game), 14, 10)
	}
	return &results.Align{Out: o.Out, Rows: t.Prepared.Counts, Learned: features, Curve: game, Notes: t.Notes,
		Seconds: t.Job.Seconds}, exit.AfterPublish(o.Out, err)
}

// alignTraining returns the options of a training run that learns these features.
func alignTraining(o options.Align) spec.Options {
	return spec.Options{Train: options.Train{Prepare: o.Prepare, Learned: o.Learned}}
}

func validateAlign(o options.Align) error {
	f, ok := o.Kernel.(kernel.Learned)
	switch {
	case o.Out == "":
		return exit.Usagef("--out is missing: name the directory to create")
	case !ok:
		return exit.Usagef("--kernel %s: align learns features for --kernel learned and harmonic only",
			kernel.FamilyOf(o.Kernel).Name)
	case o.Folds < 0 || o.Folds > spec.MaxFolds:
		return exit.Usagef("--folds must be 1 to %d (have %d)", spec.MaxFolds, o.Folds)
	case f.Directory() != "":
		return exit.Usagef("--frequencies cannot be used with align, which learns new frequencies")
	}
	if err := cmp.Or(report.CheckPicture(o.Plot), prepare.Validate(alignTraining(o).PrepareOptions().Prepare),
		tuning.ValidateGame(o.Learned, f)); err != nil {
		return err
	}
	return job.Validate(o.Job, o.Data, o.Out, job.Dir{Flag: "out", Name: o.Out})
}

// gameCurve plots the value of the game and its bounds by the number of frequencies.
func gameCurve(game []align.Report) picture.Lines {
	lines := picture.Lines{Title: "The game of the features", X: "frequencies", Y: "value of the game"}
	value, upper, lower := picture.Series{Name: "value"}, picture.Series{Name: "upper bound"},
		picture.Series{Name: "lower bound"}
	frequencies := 0.0
	for _, r := range game {
		frequencies += float64(r.Taken)
		add := func(s *picture.Series, y float64) { s.X, s.Y = append(s.X, frequencies), append(s.Y, y) }
		add(&value, r.Value)
		add(&lower, r.Lower)
		if r.Proven {
			add(&upper, r.Upper)
		}
	}
	for _, s := range []picture.Series{value, upper, lower} {
		if len(s.X) > 0 {
			lines.Series = append(lines.Series, s)
		}
	}
	return lines
}
