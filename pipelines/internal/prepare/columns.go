package prepare

import (
	"context"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/survey"
)

// SurveyColumns runs a pass that collects statistics of the columns in the files. They are the columns that
// dataset.DescribedBy returns.
func SurveyColumns(ctx context.Context, j *job.Job, d *dataset.Dataset, maxBad float64,
	rules schema.Rules) (*schema.Survey, job.Counts, error) {
	pass := &survey.Columns{
		Pass:    transforms.Pass{Data: *d, Shards: j.Opts.Shards(d), Mode: Mode(maxBad)},
		Columns: len(dataset.DescribedBy(d)), Rules: rules,
	}
	var found schema.Survey
	reports, err := j.ScanSum(ctx, pass, "columns", &found)
	if err != nil {
		return nil, job.Counts{}, err
	}
	if maxBad > 0 {
		maxBad = 1 // the profile pass checks the share of unusable rows
	}
	counts, err := job.Count(d, reports, maxBad)
	return &found, counts, err
}
