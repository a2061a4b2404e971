package evaluate

import (
	"context"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/survey"
)

// weigh returns the weights of the rows that the pass p will read. It runs a pass unless rows have no weights.
func weigh(ctx context.Context, j *job.Job, d *dataset.Dataset, p transforms.Pass) (*profile.Weights, error) {
	if !d.Weighted {
		return profile.UnitWeights(1), nil
	}
	j.Progress.Phase("reading weights", 0)
	defer j.Progress.Done()
	p.Target = nil
	var sum profile.WeightSum
	if _, err := j.ScanSum(ctx, &survey.Weights{Pass: p}, "weigh", &sum); err != nil {
		return nil, err
	}
	if w := sum.Result(); w != nil {
		return w, nil
	}
	return profile.UnitWeights(1), nil // no row can be used; the next pass reports that
}
