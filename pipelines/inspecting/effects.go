package inspecting

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/effects"
	"github.com/bochner-ml/bochner/pipelines/job"
	"github.com/bochner-ml/bochner/pipelines/modeldata"
	"github.com/bochner-ml/bochner/pipelines/prepare"
	"github.com/bochner-ml/bochner/transforms"
)

// InspectEffects is InspectModel with the effects of columns on the predictions for a sample of the data, whose
// labels are not needed.
func InspectEffects(ctx context.Context, model string, o InspectOptions) (report *ModelReport, err error) {
	if err := prepare.ValidFraction(o.MaxBadFraction); err != nil {
		return nil, err
	}
	if model, err = job.Model(ctx, model, o.Job.Log); err != nil {
		return nil, err
	}
	if err := o.Job.Validate(o.Data, "", job.Place{Flag: "model", Name: model}); err != nil {
		return nil, err
	}
	_, d, err := modeldata.Open(ctx, model, o.Data, o.Job.Log)
	if err != nil {
		return nil, err
	}
	m, err := models.LoadURI(ctx, model)
	if err != nil {
		return nil, err
	}
	if report, err = describe(ctx, model, m); err != nil {
		return nil, err
	}
	x, n, err := sample(ctx, d, m, o)
	if err != nil {
		return nil, err
	}
	if report.Effects, err = effects.Of(m, x, n, o.Job.Engine.Threads); err != nil {
		return nil, fmt.Errorf("pipelines: %w", err)
	}
	return report, nil
}

// sample returns rows of the data as a model takes them. They are those with the least hashes, so that their order is
// random, and does not depend on that of the rows.
func sample(ctx context.Context, d *dataset.Dataset, m *models.Model, o InspectOptions) (x []float32, n int, err error) {
	j, err := job.NewScratch(ctx, o.Job)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = j.Close(ctx, err) }()
	j.Progress.Phase("reading", 0)
	defer j.Progress.Done()
	p, _, err := prepare.ProfileRows(ctx, j, d, o.MaxBadFraction, 0, &transforms.Target{Open: true})
	if err != nil {
		return nil, 0, err
	}
	found, n, width := p.Sum.Sample()
	dim, _ := m.Map.Dims()
	x = make([]float32, n*dim)
	for i := range n { // the last numbers of sparse rows may all be zeros
		copy(x[i*dim:(i+1)*dim], found[i*width:(i+1)*width])
	}
	return x, n, nil
}
