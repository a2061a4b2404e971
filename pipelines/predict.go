package pipelines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/transforms"
)

// PredictOptions says which model to apply to which data.
type PredictOptions struct {
	Model  string // directory
	Data   dataset.Options
	Out    string // directory to make; it must not exist
	Format string // csv (default) or jsonl
	Scores bool   // write the scores of all outputs too

	MaxBadFraction float64 // share of rows that may be left without a prediction, 0 to 1

	Job JobOptions
}

// PredictResult is what became of the rows.
type PredictResult struct {
	Out   string `json:"out"`
	Rows  Counts `json:"rows"`
	Parts []Part `json:"parts"`
}

// Part is one file of predictions: those of consecutive rows of one file.
type Part struct {
	Name  string `json:"name"`
	File  string `json:"file"`  // that the rows are from
	First int64  `json:"first"` // lines, or records, of the file before the first row
	Rows  int64  `json:"rows"`  // predictions, without the header
}

// PredictManifest is the file of a directory of predictions that tells what they
// are: a PredictResult with the model.
const PredictManifest = "manifest.json"

// openModelData loads the manifest of a model and opens data that fit it. The
// weights are checked here too, so that a damaged model is told of before any work.
func openModelData(ctx context.Context, model string, o dataset.Options) (*models.Manifest, *dataset.Dataset, error) {
	if model == "" {
		return nil, nil, usage("no model: name its directory with --model")
	}
	manifest, err := models.Check(ctx, model)
	if err != nil {
		return nil, nil, err
	}
	like := new(dataset.Schema)
	if err := json.Unmarshal(manifest.Input.Options, like); err != nil {
		return nil, nil, fmt.Errorf("%w: %s: input options: %v", models.ErrBadModel, model, err)
	}
	if err := like.Validate(); err != nil {
		return nil, nil, fmt.Errorf("%w: %s: input options: %v", models.ErrBadModel, model, err)
	}
	o.Like = like
	if (o.Format == "" || o.Format == "auto") && (like.Format == dataset.CIFAR10 || like.Format == dataset.CIFAR100) {
		o.Format = string(like.Format) // a format that content alone hardly tells
	}
	d, err := openData(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	return manifest, d, nil
}

// Predict applies a model to all rows of the data, and publishes a directory of
// files with one line for each row, in the order of the rows.
func Predict(ctx context.Context, o PredictOptions) (result *PredictResult, err error) {
	if o.Format == "" {
		o.Format = "csv"
	}
	switch {
	case o.Out == "":
		return nil, usage("no directory for the predictions: name one with --out")
	case o.Format != "csv" && o.Format != "jsonl":
		return nil, usage("--out_format must be csv or jsonl (have %q)", o.Format)
	case !(o.MaxBadFraction >= 0 && o.MaxBadFraction <= 1):
		return nil, usage("--max_bad_fraction must be between 0 and 1 (have %g)", o.MaxBadFraction)
	}
	if err := o.Job.Engine.validate(); err != nil {
		return nil, err
	}
	if err := storage.Vacant(ctx, o.Out); err != nil {
		return nil, err
	}
	manifest, d, err := openModelData(ctx, o.Model, o.Data)
	if err != nil {
		return nil, err
	}
	j, err := newJob(ctx, o.Job, o.Out)
	if err != nil {
		return nil, err
	}
	defer func() { j.close(ctx, err) }()
	j.progress.phase("predicting", 0)
	reports, dir, err := j.predict(ctx, o, manifest, d)
	if err != nil {
		return nil, err
	}
	j.progress.done()
	return o.publish(ctx, d, manifest, reports, dir)
}

// predict writes the predictions of all shards into a directory of the work
// directory, but for those that an earlier run has finished.
func (j *job) predict(ctx context.Context, o PredictOptions, manifest *models.Manifest, d *dataset.Dataset) ([]dataset.Report, string, error) {
	model, err := storage.Abs(o.Model)
	if err != nil {
		return nil, "", err
	}
	pass := &transforms.Pass{
		Data: *d, Mode: dataset.Stop,
		Predict: &transforms.Predict{Model: model, SHA256: manifest.SHA256, Format: o.Format, Scores: o.Scores},
	}
	if o.MaxBadFraction > 0 {
		pass.Mode = dataset.Place
	}
	// Files of predictions are named by where their shards begin: those of shards
	// of another size must not lie among them.
	pass.Predict.Out = j.work.file("predictions", version, pass, j.opts.ShardBytes)
	shards := j.opts.shards(d)
	for {
		var done []dataset.Report
		pass.Shards = nil
		for _, s := range shards {
			r, ok := finished(ctx, pass.Predict, s)
			if ok {
				done = append(done, r)
			} else {
				pass.Shards = append(pass.Shards, s)
			}
		}
		if len(done) > 0 {
			j.progress.note("found the predictions of %d of %d shards in the work directory", len(done), len(shards))
		}
		reports := done
		if len(pass.Shards) > 0 {
			_, fresh, err := j.scanOnce(ctx, pass, "predict", func(s beam.Scope, sc transforms.Scan, files passFiles) {
				transforms.WriteLines(s, files.reports, transforms.Predictions(s, sc))
			})
			if err != nil {
				return nil, "", err
			}
			reports = append(reports, fresh...)
		}
		again, err := untiled(d, shards, reports)
		if err != nil {
			return nil, "", err
		}
		if len(again) == 0 {
			return reports, pass.Predict.Out, nil
		}
		shards = wholeFiles(shards, again)
	}
}

// finished returns the report of a shard whose predictions are all written.
func finished(ctx context.Context, p *transforms.Predict, s dataset.Shard) (r dataset.Report, ok bool) {
	name := storage.Join(p.Out, transforms.ReportName(transforms.PartName(s, p.Format)))
	data, err := storage.ReadFile(ctx, name, maxState)
	if err != nil || json.Unmarshal(data, &r) != nil {
		return r, false // not there, or not to be read: the shard is done again
	}
	return r, r.Shard == s && r.Fault == ""
}

// publish makes the directory of predictions.
func (o PredictOptions) publish(ctx context.Context, d *dataset.Dataset, manifest *models.Manifest, reports []dataset.Report, dir string) (*PredictResult, error) {
	counts, err := count(d, reports, o.MaxBadFraction)
	if err != nil {
		return nil, err
	}
	result := &PredictResult{Out: o.Out, Rows: counts}
	var files []storage.File
	for i, r := range reports {
		if r.Rows+r.Bad == 0 {
			continue
		}
		part := Part{
			Name: fmt.Sprintf("part-%05d.%s", i, o.Format), File: d.Files[r.Shard.File].Name,
			First: r.Shard.Line, Rows: r.Rows + r.Bad,
		}
		result.Parts = append(result.Parts, part)
		files = append(files, storage.File{Name: part.Name, From: storage.Join(dir, transforms.PartName(r.Shard, o.Format))})
	}
	if len(counts.Listed) > 0 {
		files = append(files, storage.File{Name: SetAsideFile, Data: setAsideLines(counts.Listed)})
	}
	about, err := json.MarshalIndent(struct {
		Program string `json:"program"`
		Model   string `json:"model_sha256"` // of the model's manifest
		*PredictResult
	}{version, manifest.SHA256, result}, "", "  ")
	if err != nil {
		return nil, err
	}
	files = append(files, storage.File{Name: PredictManifest, Data: append(about, '\n')})
	err = storage.Publish(ctx, o.Out, files)
	return result, err
}

// WriteTo prints the result for people.
func (r *PredictResult) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "predictions  %s, %d files\n", r.Out, len(r.Parts))
	fmt.Fprintf(&b, "rows         %s\n", r.Rows.listed())
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

var errNotTiled = errors.New("was not read from its beginning to its end")
