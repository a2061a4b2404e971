package pages

import (
	"cmp"
	"context"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/modelreport"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Report writes the report on a model as a file. If there is labelled data, the report has the scores on it.
func Report(ctx context.Context, o options.Report) (r *results.Report, err error) {
	if err := report.CheckPage(o.Out); err != nil {
		return nil, err
	}
	if o.Model, err = job.FindModel(ctx, o.Model, o.Job.Log); err != nil {
		return nil, err
	}
	r = &results.Report{Model: o.Model, File: cmp.Or(o.Out, storage.Join(o.Model, modelreport.ReportFile))}
	if len(o.Data.Files) > 0 {
		r.Test, err = Evaluate(ctx, options.Evaluate{Model: o.Model, Data: o.Data, Slices: o.Slices,
			MaxBadFraction: o.MaxBadFraction, Report: r.File, Job: o.Job})
		return r, err
	}
	if len(o.Slices) > 0 {
		return nil, exit.Usagef("--slices needs labelled rows: name them with --data")
	}
	_, p, err := modelPage(ctx, o.Model)
	if err != nil {
		return nil, err
	}
	r.Bytes, err = write(ctx, p, r.File)
	return r, err
}

// modelPage reads a model and returns the report on it.
func modelPage(ctx context.Context, dir string) (*models.Model, *report.Page, error) {
	m, err := models.LoadURI(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	a, err := modelreport.Read(ctx, dir, m)
	if err != nil {
		return nil, nil, err
	}
	p, err := a.Page()
	return m, p, err
}

// write writes a page to a file, and returns its size.
func write(ctx context.Context, p *report.Page, file string) (int, error) {
	data, err := p.HTML()
	if err != nil {
		return 0, err
	}
	return len(data), storage.WriteFile(ctx, file, data)
}
