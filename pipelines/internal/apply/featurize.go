package apply

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms"
)

// Featurize writes the features of all rows for other programs: float32 arrays in files of at most 64 MiB, in
// the order of the rows, with the labels if the data has any.
func Featurize(ctx context.Context, o options.Featurize) (result *results.Featurize, err error) {
	if err := prepare.LoadKernel(ctx, &o.Prepare); err != nil {
		return nil, err
	}
	o.Format = cmp.Or(o.Format, "npy")
	if err := checkFeaturize(o); err != nil {
		return nil, err
	}
	if o.Model, err = job.FindModel(ctx, o.Model, o.Job.Log); err != nil {
		return nil, err
	}
	if err := job.Validate(o.Job, o.Data, o.Out, job.Dir{Flag: "out", Name: o.Out},
		job.Dir{Flag: "model", Name: o.Model}); err != nil {
		return nil, err
	}
	if err := job.CheckOutput(ctx, o.Job, o.Out); err != nil {
		return nil, err
	}
	f := &featurization{options: o}
	if o.Model != "" {
		f.manifest, f.data, err = OpenForModel(ctx, o.Model, o.Data, o.Job.Log)
	} else {
		f.data, err = prepare.OpenData(ctx, &f.options.Types, o.Data, o.Job.Log)
	}
	if err != nil {
		return nil, err
	}
	if f.job, err = job.New(ctx, o.Job, o.Out); err != nil {
		return nil, err
	}
	defer func() { err = f.job.Close(ctx, err) }()
	pass, err := f.prepare(ctx)
	if err != nil {
		return nil, err
	}
	f.job.Progress.Phase("writing features", 0)
	err = f.job.PublishShards(ctx, pass, "features", func(written []transforms.Written, dir string) error {
		f.job.Progress.Done()
		return f.publish(ctx, written, dir)
	})
	return f.result, err
}

// checkFeaturize refuses options that cannot be used together.
func checkFeaturize(o options.Featurize) error {
	switch {
	case o.Out == "":
		return exit.Usagef("--out is missing: name the directory to create")
	case o.Format == transforms.Codes && (o.Model != "" || !kernel.FamilyOf(o.Kernel).Hashes):
		return exit.Usagef("--out_format codes: only maxout features have codes; give --kernel maxout")
	}
	return cmp.Or(checkFormat(o.Format, FeaturizeFormats()), prepare.Validate(o.Prepare))
}

// featurization is a job that writes features.
type featurization struct {
	options  options.Featurize
	job      *job.Job
	manifest *models.Manifest // nil for features that follow from the data
	data     *dataset.Dataset
	result   *results.Featurize
}

// prepare finds the features, and begins the result.
func (f *featurization) prepare(ctx context.Context) (*transforms.Featurize, error) {
	o, d := f.options, f.data
	pass := &transforms.Featurize{Pass: transforms.Pass{Mode: prepare.Mode(o.MaxBadFraction)}, Format: o.Format}
	f.result = &results.Featurize{Out: o.Out, Format: o.Format, Labeled: d.Labeled, Input: &d.Schema}
	if m := f.manifest; m != nil {
		pass.Recipe, f.result.Features = m.Recipe, m.Features
		f.result.Kernel = "the model's kernel"
		if err := f.job.TakeFiles(o.Model, m); err != nil {
			return nil, err
		}
		if d.Labeled {
			pass.Target = &transforms.Labeling{Classes: m.Vocabulary}
		}
	} else {
		l, err := prepare.New(ctx, f.job, d, prepare.Options{Prepare: o.Prepare})
		if err != nil {
			return nil, err
		}
		pass.Recipe, pass.Target = l.Recipe.Sealed, l.Target
		f.result.Features, f.result.Kernel = l.Recipe.Dim, "the "+l.Recipe.Name
	}
	if pass.Target != nil && pass.Target.Classes != nil {
		f.result.Classes = pass.Target.Classes.Classes
	}
	pass.Data = *d
	f.result.Recipe = pass.Recipe
	return pass, nil
}

// publish creates the directory of features and completes the result.
func (f *featurization) publish(ctx context.Context, written []transforms.Written, dir string) (err error) {
	result := f.result
	if result.Rows, err = job.Count(f.data, job.ReportsOf(written), f.options.MaxBadFraction); err != nil {
		return err
	}
	var files []storage.File
	result.Parts, files = job.PublishedFiles(f.data, written, dir)
	about, err := json.MarshalIndent(struct {
		Program string `json:"program"`
		*results.Featurize
	}{engine.Version(), result}, "", "  ")
	if err != nil {
		return err
	}
	files = append(files, job.SetAsideFiles(result.Rows)...)
	files = append(files, storage.File{Name: PredictManifest, Data: append(about, '\n')})
	return f.job.Publish(ctx, f.options.Out, files)
}
