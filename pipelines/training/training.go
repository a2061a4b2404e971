// Package training fits models: by exact sums and a solve, or by rounds of an iterative learner.
// It publishes the model directory.
package training

import (
	"cmp"
	"context"
	"time"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/align"
	"github.com/bochner-ml/bochner/models/learner"
	"github.com/bochner-ml/bochner/models/rounds"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/models/weight"
	"github.com/bochner-ml/bochner/pipelines/alignment"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/job"
	"github.com/bochner-ml/bochner/pipelines/prepare"
	"github.com/bochner-ml/bochner/pipelines/recipe"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/report"
	"github.com/bochner-ml/bochner/pipelines/sizing"
	"github.com/bochner-ml/bochner/pipelines/trained"
	"github.com/bochner-ml/bochner/pipelines/tuning"
)

// Options says what to train on which data.
type Options struct {
	prepare.Spec
	// Recipe is the directory of a model whose recipe is used for these rows: only Data, Lambda,
	// MaxBadFraction and Job are then used. "" makes a recipe from the profile.
	Recipe string
	Model  string // directory to create
	// Learner has the options of the learner, such as a *svm.Training; nil is ridge.
	Learner learner.Options
	Lambda  LambdaOptions
	// Calibrate says how scores become probabilities, by held-out rows: platt or isotonic; ""
	// or none disables it.
	Calibrate string
	// Threshold is what decides between two classes: a number, as that of models.Applier; or a score.Criterion, which
	// held-out rows make best. "" is none.
	Threshold string
	// Learned says how the features of the kernels learned and harmonic are learned, unless
	// Kernel names a directory with them.
	Learned alignment.Options
	// Search says whether the view of the columns, kernel, width, metric and features beside the kernel
	// are searched on a pilot of the rows: auto or none; "" is auto. What the other options set is not
	// searched: neither a kernel, which is kept, nor a width, which leaves nothing to search. Where a
	// search does not apply the model is that of none, and a note says why.
	Search string
	// Size says how the number of features is chosen, up to that of the kernel.
	Size sizing.Options
	// Kernels are those that the search chooses from, the first of which is Kernel. With neither
	// it is tuning.Families; with a kernel alone, that one.
	Kernels []kernel.Options
}

// Run trains a model: a profile pass, and then what the learner needs, which is a pass that sums
// the features' second moments and a solve, or a pass per round. It publishes the model directory
// as a whole.
func Run(ctx context.Context, o Options) (result *Result, err error) {
	begun := time.Now()
	if o.Recipe != "" {
		return o.again(ctx)
	}
	o = o.withKernels()
	if err := o.LoadKernel(ctx); err != nil {
		return nil, err
	}
	o = o.WithDefaults()
	o.Trains = true
	if err := o.Validate(); err != nil {
		return nil, err
	}
	t, err := o.Begin(ctx, o.Model, prepare.Labeled)
	if err != nil {
		return nil, err
	}
	defer func() { err = t.Close(ctx, err) }()
	t.begun = begun
	if note := prepare.Doubt(o.Task, t.Profile.Labels); note != "" {
		t.Notes = append(t.Notes, note)
	}
	if err := t.calibrates(); err != nil {
		return nil, err
	}
	if err := t.canDecide(); err != nil {
		return nil, err
	}
	if err := t.canSelect(); err != nil {
		return nil, err
	}
	if err := t.checkOrigin(); err != nil {
		return nil, err
	}
	if err := o.checkWeights(t.Profile.Weights); err != nil {
		return nil, err
	}
	if err := t.canSearch(); err != nil {
		return nil, err
	}
	if !o.resizes() { // otherwise each size is checked
		if err := t.Fits(t.Memory(0)); err != nil {
			return nil, err
		}
	}
	if o.Learns() {
		if err := t.Timed(ctx, "align", t.FindFeatures); err != nil {
			return nil, err
		}
	}
	if t.opts.Searching() {
		if err := t.Timed(ctx, "search", t.searchFeatures); err != nil {
			return nil, err
		}
	}
	if err := t.Timed(ctx, "train", t.fitSize); err != nil {
		return nil, err
	}
	if err := t.Timed(ctx, "publish", t.Publish); err != nil {
		return nil, err
	}
	if l := o.Iterative(); l != nil && l.Common().Curve != "" {
		if err := report.WritePicture(ctx, l.Common().Curve, trained.LearningCurve(t.history), 14, 10); err != nil {
			return nil, err
		}
	}
	return t.result(), nil
}

// Begin begins a job that creates the directory out: it opens the data, which must satisfy fit,
// and profiles it. The caller closes the job.
func (o Options) Begin(ctx context.Context, out string, fit func(*dataset.Dataset) error) (*Training, error) {
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
	if err := o.Takes(d); err != nil {
		return nil, err
	}
	j, err := job.New(ctx, o.Job, out)
	if err != nil {
		return nil, err
	}
	t := &Training{Session: &prepare.Session{Job: j, Spec: o.Base(), Iterative: o.Iterative() != nil || o.Learns()}, opts: o}
	if n := d.Schema.Dim; n == 0 {
		j.LimitMemory(0)
	} else {
		first := Facts{Dim: n, Scaled: n, Values: float64(n), Features: 1, Outputs: 1, Prepared: true, Reading: d.Memory()}
		least := Options{Spec: prepare.Spec{Kernel: &fourier.GaussianOptions{Features: 1, Form: fourier.Offset}}}
		j.LimitMemory(least.Memory(first, j.Engine, 1).Peak)
	}
	err = j.Timed(ctx, "profile", func(ctx context.Context) (err error) {
		if t.Prepared, err = prepare.Data(ctx, j, d, o.Base()); err != nil {
			return err
		}
		return t.EncodeLabels(ctx, o.parts())
	})
	if err != nil {
		return nil, j.Close(ctx, err)
	}
	t.Notes = append(t.Notes, t.Doubts...)
	return t, nil
}

// WithDefaults fills in the defaults.
func (o Options) WithDefaults() Options {
	o = o.withKernels()
	o.Search = cmp.Or(o.Search, tuning.Auto)
	o.Learner = o.fitter().options()
	if o.Calibrate == "none" {
		o.Calibrate = ""
	}
	o.Learned = o.Learned.WithDefaults()
	o.Learned.HeldOut = o.parts()
	return o
}

// Validate returns a usage error if options are invalid for any data.
func (o Options) Validate() error {
	if o.Model == "" {
		return exit.Usage("no model directory: name one with --model")
	}
	if err := o.Base().Validate(); err != nil {
		return err
	}
	if f := o.Finder(); f != nil {
		if err := o.Learned.Validate(f); err != nil {
			return err
		}
	}
	if o.Room > 0 && o.Iterative() != nil {
		return exit.Usage("--target_room is for models whose sums later data is added to, which learner %s does not have", o.LearnerName())
	}
	if err := o.Job.Validate(o.Data, o.Model, job.Place{Flag: "model", Name: o.Model}); err != nil {
		return err
	}
	if err := o.validateSearch(); err != nil {
		return err
	}
	if err := o.validateSize(); err != nil {
		return err
	}
	if err := o.validateLearner(); err != nil {
		return err
	}
	if err := o.validateCalibration(); err != nil {
		return err
	}
	if err := o.validateThreshold(); err != nil {
		return err
	}
	return o.Lambda.validate()
}

// Training is the state of a running training.
type Training struct {
	*prepare.Session
	opts     Options
	by       *sums.Recipe // that is trained by; nil if the recipe follows from the profile
	parent   string       // the name of the model that by is of; "" if it is not known
	contents bool         // sums also return the hashes of rows
	mass     float64      // in a training by a recipe: the sum of the weights of the rows

	linear  *models.Linear
	Learner models.Learner // how it was fitted
	heldOut scorer         // for held-out rows, in a training by sums that calibrates or chooses a threshold
	grid    *weight.Grid   // of weights, in a training by sums; nil if there are none
	trials  scorer         // for held-out rows, in a training by sums: one for each λ tried
	summed  summed         // of the last FitSums
	solved  float64        // the λ that the last solve chose, and solved for
	// firstRows is the number of rows held out of the trials.
	firstRows     int64
	variance      []float64   // of several targets
	foldErrors    [][]float64 // for each row of the learner's table
	probabilities *models.Probabilities
	threshold     *models.Threshold // that held-out rows have chosen
	floor         float64           // λ equivalent to rounding features to the grid of their sums
	// files are further files of the model directory.
	files   []storage.File
	history []rounds.Report // of an iterative learner
	// Learned and Game describe features that were learned from the data, if any.
	Learned *prepare.Learned
	Game    []align.Report
	// Searched describes the search, if there was one.
	Searched *tuning.Result
	whole    recipe.Recipe // of all features, where a search is for fewer of them
	// Sized describes the choice of the number of features, if there was one.
	Sized *sizing.Result
	begun time.Time
	// Lineage says of what the sums are that a model is fitted to; nil if rows were read.
	Lineage *registry.Lineage
	// importance is what the metric of the published model attends to; nil without one.
	importance *models.Importance
}

// FindFeatures replaces drawn features by features learned from the data.
func (t *Training) FindFeatures(ctx context.Context) (err error) {
	s := &alignment.Search{Session: t.Session, Kernel: t.opts.Finder()}
	t.Learned, err = s.Learn(ctx, t.opts.Learned)
	t.Game = s.Game
	return err
}

// fit fits the weights.
func (t *Training) fit(ctx context.Context) error { return t.opts.fitter().fit(ctx, t) }

// Finder returns the options of a kernel whose features this job learns; nil for others.
func (o Options) Finder() kernel.Found {
	if f, ok := o.Kernel.(kernel.Found); ok && f.Directory() == "" {
		return f
	}
	return nil
}

// Learns tells that the job learns the features of the kernel.
func (o Options) Learns() bool { return o.Finder() != nil }

// Base returns the options of the profile. If features are to be learned, the kernel is the one
// that the search starts from.
func (o Options) Base() prepare.Spec {
	maps := o.Spec
	if f := o.Finder(); f != nil {
		maps.Learned = kernel.Of(f).Name
		maps.Kernel = f.Start()
	}
	return maps
}
