package pipelines

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/outputs"
)

// FeaturizeOptions says which features to write of which data.
type FeaturizeOptions struct {
	MapOptions
	Model  string // directory of a model whose features to write; "" for those that MapOptions say
	Out    string // directory to make; it must not exist
	Format string // npy (default), safetensors or csv; codes for the hashes of maxout
}

// FeaturizeResult says what was written.
type FeaturizeResult struct {
	Out      string          `json:"out"`
	Rows     Counts          `json:"rows"`
	Features int             `json:"features"`
	Recipe   features.Sealed `json:"recipe"`
	Classes  []string        `json:"classes,omitempty"` // that labels are indices of
	Parts    []Part          `json:"parts"`
	Kernel   string          `json:"kernel"` // in words
	Input    *dataset.Schema `json:"input"`
	Labeled  bool            `json:"labeled"`
	Format   string          `json:"format"`
}

// Featurize writes the features of all rows, for use with other programs: float32
// arrays in files of at most 64 MiB, in the order of the rows, with the labels if
// the data have any.
func Featurize(ctx context.Context, o FeaturizeOptions) (result *FeaturizeResult, err error) {
	o.Kernel = o.Kernel.withDefaults()
	if o.Format == "" {
		o.Format = "npy"
	}
	switch {
	case o.Out == "":
		return nil, usage("no directory for the features: name one with --out")
	case !slices.Contains([]string{"npy", "safetensors", "csv", "codes"}, o.Format):
		return nil, usage("--out_format must be npy, safetensors, csv or codes (have %q)", o.Format)
	case o.Format == "codes" && (o.Model != "" || o.Kernel.Name != "maxout"):
		return nil, usage("--out_format codes: only the maxout kernel has codes; give --kernel maxout")
	}
	if err := o.MapOptions.validate(); err != nil {
		return nil, err
	}
	if err := o.Job.validate(o.Data, o.Out, place{"out", o.Out}, place{"model", o.Model}); err != nil {
		return nil, err
	}
	if err := o.Job.vacant(ctx, o.Out); err != nil {
		return nil, err
	}
	var manifest *models.Manifest
	var d *dataset.Dataset
	if o.Model != "" {
		manifest, d, err = openModelData(ctx, o.Model, o.Data, o.Job.Log)
	} else {
		d, err = openData(ctx, o.Data, o.Job.Log)
	}
	if err != nil {
		return nil, err
	}
	j, err := newJob(ctx, o.Job, o.Out)
	if err != nil {
		return nil, err
	}
	defer func() { err = j.close(ctx, err) }()

	pass := &outputs.Featurize{Pass: transforms.Pass{Mode: mode(o.MaxBadFraction)}, Format: o.Format}
	result = &FeaturizeResult{Out: o.Out, Format: o.Format, Labeled: d.Labeled, Input: &d.Schema}
	if manifest != nil {
		pass.Recipe, result.Features = manifest.Recipe, manifest.Features
		result.Kernel = "the model's kernel"
		if err := j.takeFrequencies(o.Model, manifest); err != nil {
			return nil, err
		}
		if d.Labeled {
			pass.Target = &transforms.Target{Classes: manifest.Vocabulary}
		}
	} else {
		l, err := look(ctx, j, d, o.MapOptions)
		if err != nil {
			return nil, err
		}
		pass.Recipe, pass.Target = l.recipe.sealed, l.target
		result.Features, result.Kernel = l.recipe.dim, "the "+l.recipe.name
	}
	if pass.Target != nil && pass.Target.Classes != nil {
		result.Classes = pass.Target.Classes.Classes
	}
	pass.Data = *d
	result.Recipe = pass.Recipe
	j.progress.phase("writing features", 0)
	err = j.publishShards(ctx, pass, "features", &pass.Out, func(written []outputs.Written, dir string) error {
		j.progress.done()
		return o.publish(ctx, j, d, result, written, dir)
	})
	return result, err
}

// publish makes the directory of features, and completes the result.
func (o FeaturizeOptions) publish(ctx context.Context, j *job, d *dataset.Dataset, result *FeaturizeResult, written []outputs.Written, dir string) (err error) {
	if result.Rows, err = count(d, reportsOf(written), o.MaxBadFraction); err != nil {
		return err
	}
	var files []storage.File
	result.Parts, files = publishedParts(d, written, dir)
	about, err := json.MarshalIndent(struct {
		Program string `json:"program"`
		*FeaturizeResult
	}{Version(), result}, "", "  ")
	if err != nil {
		return err
	}
	if len(result.Rows.Listed) > 0 {
		files = append(files, storage.File{Name: SetAsideFile, Data: setAsideLines(result.Rows.Listed)})
	}
	files = append(files, storage.File{Name: PredictManifest, Data: append(about, '\n')})
	return j.publish(ctx, o.Out, files)
}

// WriteTo prints the result for people.
func (r *FeaturizeResult) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "features  %d of %s, in %s of %s below %s\n", r.Features, r.Kernel, counted(len(r.Parts), "file"), r.Format, r.Out)
	fmt.Fprintf(&b, "rows      %s\n", r.Rows.listed())
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}
