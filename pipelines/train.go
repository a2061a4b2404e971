package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/rounds"
)

// TrainOptions says what to train on which data.
type TrainOptions struct {
	MapOptions
	Model   string // directory to make; it must not exist
	Learner LearnerOptions
	Lambda  LambdaOptions
}

// Train trains a model: a pass that looks the data over, and then what the learner
// takes, which is a pass that adds up the features' second moments, and a solve; or
// a pass for each round. It publishes the model directory whole.
func Train(ctx context.Context, o TrainOptions) (result *TrainResult, err error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := o.Job.vacant(ctx, o.Model); err != nil {
		return nil, err
	}
	d, err := openData(ctx, o.Data)
	if err != nil {
		return nil, err
	}
	if !d.Labeled {
		return nil, unlabeled(d)
	}
	j, err := newJob(ctx, o.Job, o.Model)
	if err != nil {
		return nil, err
	}
	defer func() { j.close(ctx, err) }()

	t := &training{job: j, opts: o}
	err = j.timed(ctx, "profile", func(ctx context.Context) (err error) {
		t.looked, err = j.look(ctx, d, o.MapOptions)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := j.timed(ctx, "train", t.fit); err != nil {
		return nil, err
	}
	if err := j.timed(ctx, "publish", t.publish); err != nil {
		return nil, err
	}
	if name := o.Learner.Curve; name != "" {
		curve, err := curvePicture(name, t.history)
		if err != nil {
			return nil, err
		}
		if err := storage.WriteFile(ctx, name, curve); err != nil {
			return nil, err
		}
	}
	return t.result(), nil
}

// withDefaults fills in what was left to choose.
func (o TrainOptions) withDefaults() TrainOptions {
	o.Kernel = o.Kernel.withDefaults()
	o.Learner = o.Learner.withDefaults()
	return o
}

func (o TrainOptions) validate() error {
	if o.Model == "" {
		return usage("no model directory: name one with --model")
	}
	if err := o.MapOptions.validate(); err != nil {
		return err
	}
	if err := o.Job.validate(o.Data, o.Model, place{"model", o.Model}); err != nil {
		return err
	}
	if err := o.Learner.validate(); err != nil {
		return err
	}
	return o.Lambda.validate()
}

// training is the state of one Train.
type training struct {
	*job
	opts TrainOptions
	*looked

	linear  *models.Linear
	learner models.Learner // how it was fitted
	// saturated counts features beyond the bound of the grid.
	saturated int64
	// kept are further files of the model directory.
	kept    []storage.File
	history []rounds.Report // of a learner in rounds
	notes   []string
}

// fit fits the weights.
func (t *training) fit(ctx context.Context) error {
	if t.opts.Learner.Name == "ridge" {
		return t.fitRidge(ctx)
	}
	return t.fitRounds(ctx)
}

// outputs is the number of classes, or 1 for a number.
func (t *training) outputs() int {
	if t.target.Classes != nil {
		return len(t.target.Classes.Classes)
	}
	return 1
}
