package apply

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/models/stretch"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms"
)

// InspectModel loads a model, verifies its checksums, and describes it. With data, it measures the effects of
// columns on predictions. If their plot cannot be written, the error is an *exit.DoneError.
func InspectModel(ctx context.Context, o options.InspectModel) (*results.InspectModel, error) {
	if len(o.Data.Files) == 0 {
		return inspectAlone(ctx, o)
	}
	if err := report.CheckPicture(o.EffectsPlot); err != nil {
		return nil, err
	}
	r, err := inspectEffects(ctx, o, false)
	if err != nil || o.EffectsPlot == "" {
		return r, err
	}
	bars := EffectsPicture(r.Effects)
	err = report.WritePicture(ctx, o.EffectsPlot, bars, 16, 3+0.5*float64(len(bars.Names)))
	return r, exit.AfterPublish("", err)
}

// inspectAlone describes a model without data.
func inspectAlone(ctx context.Context, o options.InspectModel) (*results.InspectModel, error) {
	if o.EffectsPlot != "" {
		return nil, exit.Usagef("--importance needs --data: the effects of columns are measured on predictions for its rows")
	}
	dir, err := models.Resolve(ctx, o.Model)
	if err != nil {
		return nil, err
	}
	m, err := models.LoadURI(ctx, dir)
	if err != nil {
		return nil, err
	}
	return describe(ctx, dir, m)
}

// describe returns the report on a loaded model.
func describe(ctx context.Context, dir string, m *models.Model) (r *results.InspectModel, err error) {
	r = &results.InspectModel{Directory: dir, Manifest: m.Manifest, Table: m.Table()}
	if r.Lineage, err = registry.ReadLineage(ctx, dir); err != nil {
		return nil, err
	}
	if r.Stretch, err = stretch.Describe(m.Manifest); err != nil {
		return nil, models.NewError(dir, err)
	}
	s, err := SchemaOf(dir, m.Manifest)
	if err != nil {
		return nil, err
	}
	if tabular, ok := s.Layout.(dataset.Tabular); ok {
		r.Roles = tabular.Table().RoleNames()
	}
	return r, nil
}

// InspectForReport is InspectModel with partial dependences and drift. If no effects can be measured, the result
// has the reason.
func InspectForReport(ctx context.Context, o options.InspectModel) (*results.InspectModel, error) {
	return inspectEffects(ctx, o, true)
}

// inspectEffects describes a model and measures the effects of columns on predictions for a sample of the data.
// It needs no labels, and ignores weights of rows.
func inspectEffects(ctx context.Context, o options.InspectModel, forReport bool) (result *results.InspectModel,
	err error) {
	if err := prepare.CheckFraction(o.MaxBadFraction); err != nil {
		return nil, err
	}
	model, err := job.FindModel(ctx, o.Model, o.Job.Log)
	if err != nil {
		return nil, err
	}
	if err := job.Validate(o.Job, o.Data, "", job.Dir{Flag: "model", Name: model}); err != nil {
		return nil, err
	}
	_, d, err := OpenForModel(ctx, model, o.Data, o.Job.Log)
	if err != nil {
		return nil, err
	}
	m, err := models.LoadURI(ctx, model)
	if err != nil {
		return nil, err
	}
	if result, err = describe(ctx, model, m); err != nil {
		return nil, err
	}
	j, err := job.NewScratch(ctx, o.Job)
	if err != nil {
		return nil, err
	}
	defer func() { err = j.Close(ctx, err) }()
	defer j.Progress.Done()
	j.Progress.Phase("reading", 0)
	sample, err := readSample(ctx, j, d, m, o.MaxBadFraction)
	if err != nil {
		return nil, err
	}
	j.Progress.Phase("predicting", 0)
	result.Effects, err = effectsOf(ctx, m, sample.x, sample.n, j.Engine.Threads)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && forReport: // the report has the reason
		result.NoEffects, result.Effects, err = err.Error(), &results.EffectsReport{}, nil
	case err != nil:
		return nil, &exit.DataError{Err: err}
	}
	// Rows of the sample are not independent if they share a group.
	if size := m.Manifest.Learner.Split.GroupSize(); size > 1 {
		together := math.Sqrt(1 + (size-1)*float64(sample.n)/float64(max(1, sample.profiled.Counts.Used)))
		for i := range result.Effects.Columns {
			result.Effects.Columns[i].StdErr *= together
		}
	}
	if forReport {
		err = addWhole(ctx, result, m, d, sample)
	}
	return result, err
}

// maxDependences is the number of columns whose partial dependence is measured.
const maxDependences = 6

// addWhole adds drift, and the partial dependence on the columns with the largest effects.
func addWhole(ctx context.Context, r *results.InspectModel, m *models.Model, d *dataset.Dataset,
	sample *rowSample) (err error) {
	var names []string
	for _, e := range r.Effects.Columns[:min(len(r.Effects.Columns), maxDependences)] {
		names = append(names, e.Column)
	}
	if r.Dependences, err = dependenceOf(ctx, m, sample.x, sample.n, names); err != nil {
		return err
	}
	c, err := newDriftCheck(ctx, r.Directory, m.Manifest, d, 0)
	sum := sample.profiled.Sum
	if err != nil || c.statistics == nil || len(sum.Statistics().Columns) != len(c.statistics.Columns) {
		return err
	}
	r.Drift = drift.CompareSum(c.statistics, sum, c.cluster, c.names)
	r.Drift.Schema = c.schema
	return nil
}

// rowSample has n rows of the data as a model takes them. They are the rows with the least hashes: their order is
// random, and does not depend on the order of the rows in the data.
type rowSample struct {
	x        []float32
	n        int
	profiled *prepare.PassResult
}

func readSample(ctx context.Context, j *job.Job, d *dataset.Dataset, m *models.Model,
	maxBad float64) (*rowSample, error) {
	p, _, err := prepare.ProfileRows(ctx, j, d, maxBad, 0, &transforms.Labeling{Open: true})
	if err != nil {
		return nil, err
	}
	sampled, n, width := p.Sum.Sample()
	dim, _ := m.Map.Dims()
	x := make([]float32, n*dim)
	for i := range n { // sparse rows may be shorter than the rows of the model
		copy(x[i*dim:(i+1)*dim], sampled[i*width:(i+1)*width])
	}
	return &rowSample{x, n, p}, nil
}
