package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
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
	"github.com/bochner-ml/bochner/transforms/scores"
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
	manifest, d, err := OpenForModel(ctx, o.Model, o.Data, o.Job.Log)
	if err != nil {
		return nil, err
	}
	d.Weighted = false // rows of weight 0 have predictions, too
	scores.WithMissing(manifest, d)
	if o.Probabilities {
		if err := NeedProbabilities("probabilities", o.Model, manifest); err != nil {
			return nil, err
		}
	}
	if err := needCertainty(o, manifest); err != nil {
		return nil, err
	}
	threshold, err := ThresholdOf(o.Threshold, o.Model, manifest)
	if err != nil {
		return nil, err
	}
	moved, err := newDriftCheck(ctx, o.Model, manifest, d, o.MaxDrift)
	if err != nil {
		return nil, err
	}
	model, err := storage.Abs(o.Model)
	if err != nil {
		return nil, err
	}
	pass := &scores.Predict{
		Statistics: moved.statistics, Skip: moved.skip(d),
		Pass:  transforms.Pass{Data: *d, Mode: dataset.FailFast},
		Model: scores.Model{Dir: model, SHA256: manifest.SHA256, Threshold: threshold.Rounded()}, Format: o.Format,
		Scores: o.Scores, Probabilities: o.Probabilities, Lines: o.Lines,
		ID: scores.IDColumn(d), Explain: o.Explain, Digest: o.Digest,
		Certainty: scores.Certainty{Interval: o.Interval, Novelty: o.Novelty},
	}
	if o.MaxBadFraction > 0 {
		pass.Mode = dataset.KeepPlace
	}
	columns := pass.Columns(&models.Model{Manifest: manifest})
	if err := pass.Distinct(columns); err != nil {
		return nil, exit.Refuse("%w", err)
	}
	var j *job.Job
	if o.Join != nil {
		j, err = job.NewScratch(ctx, o.Job)
	} else {
		j, err = job.New(ctx, o.Job, o.Out)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = j.Close(ctx, err) }()
	j.Progress.Phase("predicting", 0)
	file, err := fileOf(o.Out)
	if err != nil {
		return nil, err
	}
	if o.Join != nil || file != nil {
		return joinPredictions(ctx, o, j, file, pass, columns, threshold, moved)
	}
	err = j.PublishShards(ctx, pass, "predictions", func(written []transforms.Written, dir string) (err error) {
		j.Progress.Done()
		result, err = publishPredictions(ctx, o, j, d, manifest, threshold, moved, written, dir)
		return err
	})
	return result, err
}

// checkPredict refuses options that cannot be used together. It finds the model, and sets Format if Out is a file.
func checkPredict(ctx context.Context, o *options.Predict) (err error) {
	switch {
	case o.Join != nil:
		if err := checkJoin(*o); err != nil {
			return err
		}
	case o.Out == "":
		return exit.Usage("--out is missing: name the directory or the file to create, such as predictions.csv")
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
	if err := job.Validate(o.Job, o.Data, o.Out, job.Place{Flag: "out", Name: o.Out},
		job.Place{Flag: "model", Name: o.Model}); err != nil {
		return err
	}
	if o.Join != nil {
		return nil
	}
	return job.CheckOutput(ctx, o.Job, o.Out)
}

// publishPredictions creates the directory of predictions.
func publishPredictions(ctx context.Context, o options.Predict, j *job.Job, d *dataset.Dataset,
	manifest *models.Manifest, threshold *results.Threshold, moved *driftCheck, written []transforms.Written,
	dir string) (*results.Predict, error) {
	counts, err := job.Count(d, job.ReportsOf(written), o.MaxBadFraction)
	if err != nil {
		return nil, err
	}
	parts, files := job.PublishedFiles(d, written, dir)
	result := &results.Predict{Out: o.Out, Rows: counts, Parts: parts, Threshold: threshold}
	if result.Drift, err = moved.counted(written); err != nil {
		return nil, err
	}
	if err := moved.check(result.Drift); err != nil {
		return nil, err
	}
	files = append(files, job.SetAsideFiles(counts)...)
	text, err := json.MarshalIndent(struct {
		Program string `json:"program"`
		Model   string `json:"model_sha256"` // digest of the model's manifest
		*results.Predict
	}{engine.Version(), manifest.SHA256, result}, "", "  ")
	if err != nil {
		return nil, err
	}
	files = append(files, storage.File{Name: PredictManifest, Data: append(text, '\n')})
	noteBlank(o, j, counts)
	return result, j.Publish(ctx, o.Out, files)
}

// noteBlank notes that blank lines and repeated headers have no predictions.
func noteBlank(o options.Predict, j *job.Job, counts results.RowCounts) {
	what, n := "blank line", counts.Blank+counts.Headers
	if counts.Headers > 0 {
		what = "blank line or repeated header"
	}
	if were := " were"; n > 0 && !o.Lines {
		if n > 1 {
			what = strings.NewReplacer("line", "lines", "header", "headers").Replace(what)
		} else {
			were = " was"
		}
		j.Progress.Note("note: %s %s%s skipped, so the n-th prediction is not for the n-th line; --lines writes the line "+
			"of each row", report.Groups(n), what, were)
	}
}

// ThresholdOf returns the threshold with that value, rounded to float32 as scores are. For nil it returns the
// threshold of the model, nil if it has none.
func ThresholdOf(value *float64, dir string, m *models.Manifest) (*results.Threshold, error) {
	t := m.Threshold
	if value != nil {
		var err error
		if t, err = models.NewThreshold(*value, m); err != nil {
			return nil, exit.Usage("--threshold %g: the model %s: %s", *value, dir, err)
		}
	}
	if t == nil {
		return nil, nil
	}
	return &results.Threshold{Threshold: *t, Class: m.Vocabulary.Classes[m.PositiveClass()]}, nil
}
