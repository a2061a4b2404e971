package training

import (
	"context"
	"time"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/align"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge/discriminant"
	"github.com/bochner-ml/bochner/models/stretch"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/about"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// Options says what to train on which data.
type Options = spec.Options

// LambdaOptions sets the regularisation.
type LambdaOptions = spec.LambdaOptions

// PredictionOptions say how scores become probabilities, classes and intervals.
type PredictionOptions = spec.PredictionOptions

// Run trains a model: a profile pass, and then what the learner needs, which is a pass that sums
// the features' second moments and a solve, or a pass per round. It publishes the model directory
// as a whole.
func Run(ctx context.Context, o Options) (result *Result, err error) {
	begun := time.Now()
	if o.Recipe != "" {
		return trainByRecipe(ctx, o)
	}
	o = o.WithKernels()
	if err := o.LoadKernel(ctx); err != nil {
		return nil, err
	}
	o = o.WithDefaults()
	o.Trains = true
	if err := o.Validate(); err != nil {
		return nil, err
	}
	t, err := Begin(ctx, o, o.Model, prepare.Labeled)
	if err != nil {
		return nil, err
	}
	defer func() { err = t.Close(ctx, err) }()
	t.begun = begun
	t.opts = t.opts.Solved(t.Counts.Used, t.Recipe.Dim, t.Outputs(),
		t.Target.Classes == nil).Spread(len(t.Data.Shards(job.ShardBytes)))
	o.Learner = t.opts.Learner
	t.Iterative = t.Iterative || o.Iterative() != nil
	if note := prepare.Doubt(o.Task, t.Data, t.Profile.Labels); note != "" {
		t.Notes = append(t.Notes, note)
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	if err := t.chooseFeatures(ctx); err != nil {
		return nil, err
	}
	if err := t.Timed(ctx, "train", t.fitSize); err != nil {
		return nil, err
	}
	if result, err = t.Finish(ctx); err != nil {
		return nil, err
	}
	if l := o.Iterative(); l != nil && l.Common().Curve != "" {
		if err := report.WritePicture(ctx, l.Common().Curve, about.LearningCurve(t.history), 14, 10); err != nil {
			return nil, exit.AfterPublish(t.opts.Model, err)
		}
	}
	return result, nil
}

// check refuses what the rows cannot be trained for.
func (t *Training) check() error {
	for _, check := range []func() error{t.checkCalibration, t.checkThreshold, t.checkSelect, t.checkAccepted,
		t.checkOrigin, t.checkWeights} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkAccepted asks whether the model is wanted.
func (t *Training) checkAccepted() error {
	if t.opts.Accept == nil {
		return nil
	}
	return t.opts.Accept(t.expected())
}

// checkWeights refuses weights of rows that the learner does not take.
func (t *Training) checkWeights() error { return t.opts.CheckWeights(t.Profile.Weights) }

// chooseFeatures learns or searches the features, unless those that follow from the profile are
// used as they are. It refuses those for which there is no memory.
func (t *Training) chooseFeatures(ctx context.Context) error {
	s, err := t.prepareSearch(ctx)
	if err != nil {
		return err
	}
	if !t.opts.Resizes() { // otherwise each size is checked
		if err := t.Fits(t.Memory(0)); err != nil {
			return err
		}
	}
	if t.opts.LearnsFeatures() {
		if err := t.Timed(ctx, "align", t.FindFeatures); err != nil {
			return err
		}
	}
	if !t.opts.Searching() {
		return nil
	}
	return t.Timed(ctx, "search", func(ctx context.Context) error { return t.searchFeatures(ctx, s) })
}

// Begin begins a job that creates the directory out: it opens the data, which must satisfy fit,
// and profiles it. The caller closes the job.
func Begin(ctx context.Context, o Options, out string, fit func(*dataset.Dataset) error) (*Training, error) {
	if err := o.Job.Vacant(ctx, out); err != nil {
		return nil, err
	}
	d, err := o.Types.Open(ctx, o.Data, o.Job.Log)
	if err != nil {
		return nil, err
	}
	if err := fit(d); err != nil {
		return nil, err
	}
	if err := o.CheckTargets(d); err != nil {
		return nil, err
	}
	o = o.Spread(len(d.Shards(job.ShardBytes)))
	j, err := job.New(ctx, o.Job, out)
	if err != nil {
		return nil, err
	}
	t := &Training{Session: &prepare.Session{Job: j, Spec: o.Base(), Iterative: o.Iterative() != nil ||
		o.LearnsFeatures()}, opts: o}
	if n := d.Schema.Dim; n == 0 {
		j.LimitMemory(0)
	} else {
		first := spec.Facts{RowFacts: spec.RowFacts{Dim: n, Scaled: n, Values: float64(n), Prepared: true}, Features: 1,
			Outputs: 1, Reading: d.Memory()}
		least := Options{Spec: prepare.Spec{Kernel: &fourier.GaussianOptions{Features: 1, Form: fourier.Offset}}}
		j.LimitMemory(least.Memory(first, j.Engine, 1).Peak)
	}
	err = j.Timed(ctx, "profile", func(ctx context.Context) (err error) {
		if t.Prepared, err = prepare.Data(ctx, j, d, o.Base()); err != nil {
			return err
		}
		t.opts = o.Divided(t.Rule)
		return t.EncodeLabels(ctx, t.opts.Parts())
	})
	if err != nil {
		return nil, j.Close(ctx, err)
	}
	t.Notes = append(t.Notes, t.Doubts...)
	return t, nil
}

// Training is a job that fits a model to rows. Each stage adds its results.
type Training struct {
	*prepare.Session
	opts  Options
	begun time.Time
	given *ByRecipe // whose recipe is trained by; nil if the recipe follows from the profile

	Found                       // by the stage that chooses the recipe
	Fitted                      // by the stages that sum, choose λ and solve
	Sized    *tuning.SizeResult // how the number of features was chosen; nil if it was given
	stripes  int                // in which sums are added up
	levels   [][]sums.Member    // whose rows are summed apart; nil for none
	decision                    // how scores become classes
	// Lineage says of what the sums are that a model is fitted to; nil if rows were read.
	Lineage *registry.Lineage
}

// Found says which features were found for the rows.
type Found struct {
	Learned  *prepare.Learned // features learned from the labels; nil for none
	Game     []align.Report   // the rounds in which they were learned
	Searched *tuning.Result   // the search; nil if there was none
	// lambdaByMSE tells that squared errors lead to the values of λ that the log loss chooses from.
	lambdaByMSE bool
	stretch     *stretch.Distances // of distances by the metric of the published model; nil without one
}

// Fitted is a linear model, and how it was fitted.
type Fitted struct {
	linear    *models.Linear
	spread    *models.Spread   // of a fit by sums; nil if it is not known
	Segments  *models.Segments // nil for none
	Learner   models.Learner
	grid      *profile.WeightGrid // of weights, in a training by sums; nil if there are none
	weightSum float64             // of the rows, in a training by a recipe
	summed    summed              // the last fit by sums
	history   []iterative.Report  // of the rounds of an iterative learner
	files     []storage.File      // further files of the model directory
	init      *registry.Parent    // whose weights training began with; nil for none
}

// decision says how scores become probabilities and classes.
type decision struct {
	probabilities *models.Probabilities
	positive      string               // of two classes; else ""
	threshold     *models.Threshold    // that held-out rows have chosen
	intervals     *models.Intervals    // nil if no rows were held out to measure them
	shapes        []discriminant.Shape // of curves by Platt's method, of a fit by sums
}

// FindFeatures replaces drawn features by features learned from the data.
func (t *Training) FindFeatures(ctx context.Context) (err error) {
	s := &tuning.Game{Session: t.Session, Kernel: t.opts.LearnedKernel()}
	t.Learned, err = s.Learn(ctx, t.opts.Learned)
	t.Game = s.Game
	return err
}

// fit fits the weights.
func (t *Training) fit(ctx context.Context) error {
	if b, ok := t.opts.Rounds(); ok {
		return byRounds{b}.fit(ctx, t)
	}
	return t.fitRidge(ctx, t.opts.Ridge())
}
