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

// Options says what model to train, and on which data.
type Options = spec.Options

// LambdaOptions sets the regularisation.
type LambdaOptions = spec.LambdaOptions

// PredictionOptions choose probabilities, the threshold between two classes, and intervals.
type PredictionOptions = spec.PredictionOptions

// Run trains a model. It runs a profile pass, and then a pass that sums the features' second moments and a
// solve, or a pass per round. It publishes the model directory, complete or not at all.
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

// check returns an error if the options do not fit the rows.
func (t *Training) check() error {
	for _, check := range []func() error{t.checkCalibration, t.checkThreshold, t.checkSelect, t.checkAccepted,
		t.checkOrigin, t.checkWeights} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkAccepted asks Options.Accept whether the caller wants the model.
func (t *Training) checkAccepted() error {
	if t.opts.Accept == nil {
		return nil
	}
	return t.opts.Accept(t.futureManifest())
}

// checkWeights refuses weights of rows that the learner does not support.
func (t *Training) checkWeights() error { return t.opts.CheckWeights(t.Profile.Weights) }

// chooseFeatures learns or searches the features, if the options ask for it. It returns an error if they take
// too much memory.
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

// Begin begins a job that creates the directory out. It opens and profiles the data; fit returns an error for
// data that the job cannot use. The caller closes the job.
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

// Training is a job that fits a model to rows. Each stage sets its results.
type Training struct {
	*prepare.Session
	opts  Options
	begun time.Time
	given *ByRecipe // options with the given recipe; nil if the recipe follows from the profile

	Found                       // set by the stage that chooses the recipe
	Fitted                      // set by the stages that sum, choose λ and solve
	Sized    *tuning.SizeResult // how the number of features was chosen; nil if it was given
	stripes  int                // number of stripes into which sums are split
	levels   [][]sums.Member    // levels with separate sums; nil for none
	decision                    // how scores become classes
	// Lineage describes the data of the sums that a model is fitted to; nil if rows were read.
	Lineage *registry.Lineage
}

// Found says which features were learned or found by a search.
type Found struct {
	Learned  *prepare.Learned // features learned from the labels; nil for none
	Game     []align.Report   // log of the rounds of learning
	Searched *tuning.Result   // the search; nil if there was none
	// lambdaByMSE tells that the solve tries values of λ by squared errors, and the log loss then chooses among
	// them.
	lambdaByMSE bool
	stretch     *stretch.Distances // how the metric stretches distances; nil without a metric
}

// Fitted is a linear model, and how it was fitted.
type Fitted struct {
	linear    *models.Linear
	sketch    *models.Sketch   // leverage of rows, from a fit by sums; nil if unknown
	Segments  *models.Segments // nil for none
	Learner   models.Learner
	grid      *profile.WeightGrid // grid of weights in sums; nil if there are none
	weightSum float64             // sum of the weights of rows, with a given recipe
	summed    summed              // the last fit by sums
	history   []iterative.Report  // reports on the rounds of an iterative learner
	files     []storage.File      // further files of the model directory
	init      *registry.Parent    // model with the initial weights; nil for none
}

// decision says how scores become probabilities and classes.
type decision struct {
	probabilities *models.Probabilities
	positive      string               // positive class of two; "" for other labels
	threshold     *models.Threshold    // chosen by held-out rows
	intervals     *models.Intervals    // nil if no rows were held out to measure them
	shapes        []discriminant.Shape // shapes of Platt curves, for later fits to sums
}

// FindFeatures learns features from the data, and replaces the drawn ones.
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
