package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/align"
	"github.com/bochner-ml/bochner/models/rounds"
)

// TrainOptions says what to train on which data.
type TrainOptions struct {
	MapOptions
	Model   string // directory to make; it must not exist
	Learner LearnerOptions
	Lambda  LambdaOptions
	// Calibrate says how scores become probabilities of classes by rows that are held
	// out: platt or isotonic; "" or none is not at all.
	Calibrate string
	// Grid is the bits of the grid on which ridge adds up features: 8 or 16; "" or auto
	// chooses.
	Grid string
	// Learned says how the features of the kernels learned and harmonic are found, unless
	// Kernel.Frequencies has them.
	Learned LearnedOptions
}

// Train trains a model: a pass that looks the data over, and then what the learner
// takes, which is a pass that adds up the features' second moments, and a solve; or
// a pass for each round. It publishes the model directory whole.
func Train(ctx context.Context, o TrainOptions) (result *TrainResult, err error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	t, err := o.begin(ctx, o.Model, labeled)
	if err != nil {
		return nil, err
	}
	defer func() { err = t.close(ctx, err) }()
	if note := doubt(o.Task, t.found.Labels); note != "" {
		t.notes = append(t.notes, note)
	}
	if err := t.calibrates(); err != nil {
		return nil, err
	}
	if err := t.checkOrigin(); err != nil {
		return nil, err
	}
	if err := t.fits(t.memory(0)); err != nil {
		return nil, err
	}
	if o.learns() {
		if err := t.timed(ctx, "align", t.findFeatures); err != nil {
			return nil, err
		}
	}
	if err := t.timed(ctx, "train", t.fit); err != nil {
		return nil, err
	}
	if err := t.timed(ctx, "publish", t.publish); err != nil {
		return nil, err
	}
	if name := o.Learner.Curve; name != "" {
		if err := writePicture(ctx, name, learningCurve(t.history), 14, 10); err != nil {
			return nil, err
		}
	}
	return t.result(), nil
}

// begin begins a job that makes the directory out: it opens the data, which must fit,
// and looks them over. The caller closes it.
func (o TrainOptions) begin(ctx context.Context, out string, fit func(*dataset.Dataset) error) (*training, error) {
	if err := o.Job.vacant(ctx, out); err != nil {
		return nil, err
	}
	d, err := openData(ctx, o.Data, o.Job.Log)
	if err != nil {
		return nil, err
	}
	if err := fit(d); err != nil {
		return nil, err
	}
	j, err := newJob(ctx, o.Job, out)
	if err != nil {
		return nil, err
	}
	t := &training{session: &session{job: j, spec: o.base(), iterative: o.Learner.Name != "ridge" || o.learns()}, opts: o}
	if n := d.Schema.Dim; n == 0 {
		j.limitMemory(0)
	} else {
		first := facts{dim: n, scaled: n, values: float64(n), features: 1, outputs: 1, prepared: true}
		j.limitMemory(TrainOptions{}.memory(first, j.engine, 1).Peak)
	}
	err = j.timed(ctx, "profile", func(ctx context.Context) (err error) {
		t.looked, err = look(ctx, j, d, o.base())
		return err
	})
	if err != nil {
		return nil, j.close(ctx, err)
	}
	return t, nil
}

// withDefaults fills in what was left to choose.
func (o TrainOptions) withDefaults() TrainOptions {
	o.Kernel = o.Kernel.withDefaults()
	if o.learns() {
		// One set of rounds is described, and two may run.
		r := &o.Learner.Rounds
		o.Learned.Partitions, o.Learned.Keep = r.Partitions, r.Keep
		if r.PerJob > 1 {
			o.Learned.PerJob = r.PerJob
		}
		if o.Learner.Name == "" || o.Learner.Name == "ridge" {
			r.Partitions = 0
		}
	}
	o.Learner = o.Learner.withDefaults()
	if o.Calibrate == "none" {
		o.Calibrate = ""
	}
	o.Learned = o.Learned.withDefaults()
	o.Learned.Held = o.parts()
	return o
}

func (o TrainOptions) validate() error {
	if o.Model == "" {
		return usage("no model directory: name one with --model")
	}
	if err := o.base().validate(); err != nil {
		return err
	}
	if o.learns() {
		if err := o.Learned.validate(o.Kernel); err != nil {
			return err
		}
	}
	if err := o.Job.validate(o.Data, o.Model, place{"model", o.Model}); err != nil {
		return err
	}
	if err := o.Learner.validate(); err != nil {
		return err
	}
	if err := o.validateCalibration(); err != nil {
		return err
	}
	if o.Learner.Rounds.Patience > 0 && o.Lambda.Folds == 1 {
		return usage("--patience goes by rows that are held out; --folds must be 2 or more, or left out")
	}
	if err := validGrid(o.Grid); err != nil {
		return err
	}
	if o.Grid != "" && o.Grid != "auto" && o.Learner.Name != "ridge" {
		return usage("--grid is of the sums of --learner ridge; %s takes features as they are", o.Learner.Name)
	}
	return o.Lambda.validate()
}

// training is the state of one Train.
type training struct {
	*session
	opts TrainOptions

	linear  *models.Linear
	learner models.Learner // how it was fitted
	held    scorer         // of rows held out, of a training by sums that calibrates
	trials  scorer         // of rows held out, of a training by sums: that of each λ tried
	// firstRows is how many rows were held out of the trials.
	firstRows int64
	chances   *models.Probabilities
	floor     float64 // the λ that rounding features to the grid of their sums acts like
	// kept are further files of the model directory.
	kept    []storage.File
	history []rounds.Report // of a learner in rounds
	// learned and game tell of features that were found in the data, if they were.
	learned *Found
	game    []align.Report
}

// findFeatures takes features that are found in the data in place of those that were
// drawn.
func (t *training) findFeatures(ctx context.Context) (err error) {
	s := &search{session: t.session, kernel: t.opts.Kernel}
	t.learned, err = s.learn(ctx, t.opts.Learned)
	t.game = s.game
	return err
}

// fit fits the weights.
func (t *training) fit(ctx context.Context) error {
	if t.opts.Learner.Name == "ridge" {
		return t.fitRidge(ctx)
	}
	if err := t.fitRounds(ctx); err != nil {
		return err
	}
	if note := unconverged(t.learner.Course, t.history); note != "" {
		t.notes = append(t.notes, note)
	}
	if t.chances == nil && t.target.Classes != nil {
		t.chances = ownProbabilities(t.learner.Course.Loss)
	}
	return nil
}
