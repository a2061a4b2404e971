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
	if err := prepare.LoadKernel(ctx, &o.Spec); err != nil {
		return nil, err
	}
	o.Format = cmp.Or(o.Format, "npy")
	switch {
	case o.Out == "":
		return nil, exit.Usage("no directory for the features: name one with --out")
	case o.Format == codes && (o.Model != "" || !kernel.FamilyOf(o.Kernel).Hashes):
		return nil, exit.Usage("--out_format codes: only maxout features have codes; give --kernel maxout")
	}
	if err := checkFormat(o.Format, FeaturizeFormats()); err != nil {
		return nil, err
	}
	if err := prepare.Validate(o.Spec); err != nil {
		return nil, err
	}
	if o.Model, err = job.FindModel(ctx, o.Model, o.Job.Log); err != nil {
		return nil, err
	}
	if err := job.Validate(o.Job, o.Data, o.Out, job.Place{Flag: "out", Name: o.Out},
		job.Place{Flag: "model", Name: o.Model}); err != nil {
		return nil, err
	}
	if err := job.CheckOutput(ctx, o.Job, o.Out); err != nil {
		return nil, err
	}
	var manifest *models.Manifest
	var d *dataset.Dataset
	if o.Model != "" {
		manifest, d, err = OpenForModel(ctx, o.Model, o.Data, o.Job.Log)
	} else {
		d, err = prepare.OpenData(ctx, &o.Types, o.Data, o.Job.Log)
	}
	if err != nil {
		return nil, err
	}
	j, err := job.New(ctx, o.Job, o.Out)
	if err != nil {
		return nil, err
	}
	defer func() { err = j.Close(ctx, err) }()

	pass := &transforms.Featurize{Pass: transforms.Pass{Mode: prepare.Mode(o.MaxBadFraction)}, Format: o.Format}
	result = &results.Featurize{Out: o.Out, Format: o.Format, Labeled: d.Labeled, Input: &d.Schema}
	if manifest != nil {
		pass.Recipe, result.Features = manifest.Recipe, manifest.Features
		result.Kernel = "the model's kernel"
		if err := j.TakeFiles(o.Model, manifest); err != nil {
			return nil, err
		}
		if d.Labeled {
			pass.Target = &transforms.Labeling{Classes: manifest.Vocabulary}
		}
	} else {
		l, err := prepare.Data(ctx, j, d, o.Spec)
		if err != nil {
			return nil, err
		}
		pass.Recipe, pass.Target = l.Recipe.Sealed, l.Target
		result.Features, result.Kernel = l.Recipe.Dim, "the "+l.Recipe.Name
	}
	if pass.Target != nil && pass.Target.Classes != nil {
		result.Classes = pass.Target.Classes.Classes
	}
	pass.Data = *d
	result.Recipe = pass.Recipe
	j.Progress.Phase("writing features", 0)
	err = j.PublishShards(ctx, pass, "features", func(written []transforms.Written, dir string) error {
		j.Progress.Done()
		return publishFeatures(ctx, o, j, d, result, written, dir)
	})
	return result, err
}

// publishFeatures creates the directory of features and completes the result.
func publishFeatures(ctx context.Context, o options.Featurize, j *job.Job, d *dataset.Dataset, result *results.Featurize,
	written []transforms.Written, dir string) (err error) {
	if result.Rows, err = job.Count(d, job.ReportsOf(written), o.MaxBadFraction); err != nil {
		return err
	}
	var files []storage.File
	result.Parts, files = job.PublishedFiles(d, written, dir)
	about, err := json.MarshalIndent(struct {
		Program string `json:"program"`
		*results.Featurize
	}{engine.Version(), result}, "", "  ")
	if err != nil {
		return err
	}
	files = append(files, job.SetAsideFiles(result.Rows)...)
	files = append(files, storage.File{Name: PredictManifest, Data: append(about, '\n')})
	return j.Publish(ctx, o.Out, files)
}
