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
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
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
	t.opts = t.opts.Solved(t.Counts.Used, t.Recipe.Dim, t.Outputs(), t.Target.Classes == nil).Spread(len(t.Data.Shards(job.ShardBytes)))
	o.Learner = t.opts.Learner
	t.Iterative = t.Iterative || o.Iterative() != nil
	if note := prepare.Doubt(o.Task, t.Data, t.Profile.Labels); note != "" {
		t.Notes = append(t.Notes, note)
	}
	if err := t.checkCalibration(); err != nil {
		return nil, err
	}
	if err := t.checkThreshold(); err != nil {
		return nil, err
	}
	if err := t.checkSelect(); err != nil {
		return nil, err
	}
	if o.Accept != nil {
		if err := o.Accept(t.expected()); err != nil {
			return nil, err
		}
	}
	if err := t.checkOrigin(); err != nil {
		return nil, err
	}
	if err := o.CheckWeights(t.Profile.Weights); err != nil {
		return nil, err
	}
	if err := t.prepareSearch(ctx); err != nil {
		return nil, err
	}
	if !o.Resizes() { // otherwise each size is checked
		if err := t.Fits(t.Memory(0)); err != nil {
			return nil, err
		}
	}
	if o.LearnsFeatures() {
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
		if err := report.WritePicture(ctx, l.Common().Curve, LearningCurve(t.history), 14, 10); err != nil {
			return nil, exit.AfterPublish(t.opts.Model, err)
		}
	}
	return t.result(), nil
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
	t := &Training{Session: &prepare.Session{Job: j, Spec: o.Base(), Iterative: o.Iterative() != nil || o.LearnsFeatures()}, opts: o}
	if n := d.Schema.Dim; n == 0 {
		j.LimitMemory(0)
	} else {
		first := spec.Facts{Dim: n, Scaled: n, Values: float64(n), Features: 1, Outputs: 1, Prepared: true, Reading: d.Memory()}
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

// Training is the state of a running training.
type Training struct {
	*prepare.Session
	opts      Options
	recipe    *sums.Recipe // that is trained by; nil if the recipe follows from the profile
	parent    string       // the name of the model that by is of; "" if it is not known
	listed    bool         // reports of sums have the hashes of rows
	positions bool         // and where the rows are
	weightSum float64      // in a training by a recipe: the sum of the weights of the rows

	linear        *models.Linear
	Learner       models.Learner      // how it was fitted
	heldOut       scorer              // for held-out rows, in a training by sums that calibrates or chooses a threshold
	grid          *profile.WeightGrid // of weights, in a training by sums; nil if there are none
	trials        scorer              // for held-out rows, in a training by sums: one for each λ tried
	summed        summed              // of the last FitSums
	stripes       int                 // in which sums are added up
	solved        float64             // the λ that the last solve chose, and solved for
	firstRows     int64               // held out of the trials
	variance      []float64           // of several targets
	firstVariance []float64           // and on the rows of the first fold
	foldErrors    [][]float64         // for each row of the learner's table
	probabilities *models.Probabilities
	positive      string             // of two classes; else ""
	threshold     *models.Threshold  // that held-out rows have chosen
	floor         float64            // λ equivalent to rounding features to the grid of their sums
	files         []storage.File     // further files of the model directory
	history       []iterative.Report // of an iterative learner
	// Learned and Game describe features that were learned from the data, if any.
	Learned     *prepare.Learned
	Game        []align.Report
	Searched    *tuning.Result // describes the search, if there was one
	counted     []string       // columns that it encodes by counts, which uncount undoes
	undoCounts  func()
	lambdaByMSE bool               // squared errors lead to the λ that the log loss chooses from
	fullRecipe  prepare.Recipe     // of all features, where a search is for fewer of them
	Sized       *tuning.SizeResult // describes the choice of the number of features, if there was one
	begun       time.Time
	// Lineage says of what the sums are that a model is fitted to; nil if rows were read.
	Lineage    *registry.Lineage
	init       *registry.Parent   // whose weights training began with; nil for none
	importance *models.Importance // what the metric of the published model attends to; nil without one
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
