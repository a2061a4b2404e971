package apply

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/export"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

// PredictManifest is the name of the file that describes a directory of predictions: a results.Predict with
// the model.
const PredictManifest = "manifest.json"

// Predict applies a model to all rows of the data and publishes a directory of files with one line per row, in
// the order of the rows. With o.Join it writes them to that writer instead.
func Predict(ctx context.Context, o options.Predict) (result *results.Predict, err error) {
	o.Format = cmp.Or(o.Format, "csv")
	if err := checkPredict(ctx, &o); err != nil {
		return nil, err
	}
	p, err := openPrediction(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.Join != nil {
		p.job, err = job.NewScratch(ctx, o.Job)
	} else {
		p.job, err = job.New(ctx, o.Job, o.Out)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = p.job.Close(ctx, err) }()
	p.job.Progress.Phase("predicting", 0)
	file, err := fileOf(o.Out)
	if err != nil {
		return nil, err
	}
	if o.Join != nil || file != nil {
		return p.join(ctx, file)
	}
	err = p.job.PublishShards(ctx, p.pass, "predictions", func(written []transforms.Written, dir string) (err error) {
		p.job.Progress.Done()
		result, err = p.publish(ctx, written, dir)
		return err
	})
	return result, err
}

// prediction is a job that applies a model to rows.
type prediction struct {
	options   options.Predict
	job       *job.Job
	manifest  *models.Manifest
	data      *dataset.Dataset
	threshold *models.Threshold
	drift     *driftCheck
	pass      *scoring.Predict
	columns   []export.Column
}

// openPrediction opens the model and the data, and checks that the model can make the predictions.
func openPrediction(ctx context.Context, o options.Predict) (p *prediction, err error) {
	p = &prediction{options: o}
	if p.manifest, p.data, err = OpenForModel(ctx, o.Model, o.Data, o.Job.Log); err != nil {
		return nil, err
	}
	p.data.Weighted = false // rows of weight 0 have predictions, too
	scoring.WithMissing(p.manifest, p.data)
	content, err := contentOf(o, p.manifest)
	if err != nil {
		return nil, err
	}
	if p.threshold, err = ThresholdOf(o.Threshold, o.Model, p.manifest); err != nil {
		return nil, err
	}
	if p.drift, err = newDriftCheck(ctx, o.Model, p.manifest, p.data, o.MaxDrift); err != nil {
		return nil, err
	}
	model, err := storage.Abs(o.Model)
	if err != nil {
		return nil, err
	}
	p.pass = &scoring.Predict{
		Statistics: p.drift.statistics, Skip: p.drift.skip(p.data),
		Pass:    transforms.Pass{Data: *p.data, Mode: dataset.FailFast},
		Model:   scoring.Model{Dir: model, SHA256: p.manifest.SHA256, Threshold: p.threshold},
		Content: content, ID: scoring.IDColumn(p.data),
	}
	if o.MaxBadFraction > 0 {
		p.pass.Mode = dataset.KeepPlace
	}
	p.columns = p.pass.Columns(&models.Model{Manifest: p.manifest})
	if err := p.pass.Distinct(p.columns); err != nil {
		return nil, exit.Dataf("%w", err)
	}
	return p, nil
}

// contentOf returns what is written for each row. It returns an error if the model cannot predict that.
func contentOf(o options.Predict, m *models.Manifest) (c scoring.Content, err error) {
	if o.Probabilities {
		if err := NeedProbabilities("probabilities", o.Model, m); err != nil {
			return c, err
		}
	}
	c = scoring.Content{
		Format: o.Format, Scores: o.Scores, Probabilities: o.Probabilities, Lines: o.Lines, Explain: o.Explain,
		Digest: o.Digest, Certainty: scoring.Certainty{Interval: o.Interval, Novelty: o.Novelty},
	}
	if err := NeedCertainty(c.Certainty, m, "--", "the model "+o.Model); err != nil {
		return c, exit.Usagef("%w", err)
	}
	return c, nil
}

// checkPredict refuses options that cannot be used together. It finds the model, and sets Format if Out is a file.
func checkPredict(ctx context.Context, o *options.Predict) (err error) {
	switch {
	case o.Join != nil:
		if err := checkJoin(*o); err != nil {
			return err
		}
	case o.Out == "":
		return exit.Usagef("--out is missing: name the directory or the file to create, such as predictions.csv")
	default:
		file, err := fileOf(o.Out)
		if err != nil {
			return err
		}
		if file != nil {
			o.Format = file.format
		}
	}
	if err := cmp.Or(checkFormat(o.Format, PredictFormats()), prepare.CheckFraction(o.MaxBadFraction)); err != nil {
		return err
	}
	if o.Model, err = job.FindModel(ctx, o.Model, o.Job.Log); err != nil {
		return err
	}
	if err := job.Validate(o.Job, o.Data, o.Out, job.Dir{Flag: "out", Name: o.Out},
		job.Dir{Flag: "model", Name: o.Model}); err != nil {
		return err
	}
	if o.Join != nil {
		return nil
	}
	return job.CheckOutput(ctx, o.Job, o.Out)
}

// count returns a result with the counts of the rows and their drift, or an error if the drift exceeds MaxDrift.
func (p *prediction) count(written []transforms.Written) (result *results.Predict, err error) {
	result = &results.Predict{Out: p.options.Out, Threshold: Decision(p.threshold, p.manifest)}
	if result.Rows, err = job.Count(p.data, job.ReportsOf(written), p.options.MaxBadFraction); err != nil {
		return nil, err
	}
	for _, w := range written {
		result.NotFinite += w.NotFinite
	}
	if result.Drift, err = p.drift.counted(written); err != nil {
		return nil, err
	}
	return result, p.drift.check(result.Drift)
}

// publish creates the directory of predictions.
func (p *prediction) publish(ctx context.Context, written []transforms.Written, dir string) (*results.Predict, error) {
	result, err := p.count(written)
	if err != nil {
		return nil, err
	}
	var files []storage.File
	result.Parts, files = job.PublishedFiles(p.data, written, dir)
	files = append(files, job.SetAsideFiles(result.Rows)...)
	text, err := json.MarshalIndent(struct {
		Program string `json:"program"`
		Model   string `json:"model_sha256"` // digest of the model's manifest
		*results.Predict
	}{engine.Version(), p.manifest.SHA256, result}, "", "  ")
	if err != nil {
		return nil, err
	}
	files = append(files, storage.File{Name: PredictManifest, Data: append(text, '\n')})
	noteBlank(p.options, p.job, result.Rows)
	return result, p.job.Publish(ctx, p.options.Out, files)
}

// noteBlank notes that blank lines and repeated headers have no predictions.
func noteBlank(o options.Predict, j *job.Job, counts results.RowCounts) {
	n := counts.Blank + counts.Headers
	if n == 0 || o.Lines {
		return
	}
	what := "blank lines or repeated headers were"
	switch {
	case n == 1 && counts.Headers == 0:
		what = "blank line was"
	case n == 1:
		what = "blank line or repeated header was"
	case counts.Headers == 0:
		what = "blank lines were"
	}
	j.Progress.Notef("note: %s %s skipped, so the n-th prediction is not for the n-th line; --lines writes the line "+
		"of each row", report.Groups(n), what)
}

// ThresholdOf returns the threshold of that value for a model, rounded to float32 as scores are; nil for nil.
func ThresholdOf(value *float64, dir string, m *models.Manifest) (*models.Threshold, error) {
	if value == nil {
		return nil, nil
	}
	t, err := models.NewThreshold(*value, m)
	if err != nil {
		return nil, exit.Usagef("--threshold %g: the model %s: %s", *value, dir, err)
	}
	return t, nil
}

// Decision describes the threshold by which predictions decide, t or else the model's; nil if there is neither.
func Decision(t *models.Threshold, m *models.Manifest) *results.Threshold {
	if t = cmp.Or(t, m.Threshold); t == nil {
		return nil
	}
	return &results.Threshold{Threshold: *t, Class: m.Vocabulary.Classes[m.PositiveClass()]}
}
