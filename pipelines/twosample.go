package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/pipelines/internal/evaluate"
)

// TwoSampleOptions says which two tables to compare, and in which features.
type TwoSampleOptions = evaluate.TwoSampleOptions

// TwoSampleFeatures is the number of features where options leave the kernel open.
const TwoSampleFeatures = evaluate.TwoSampleFeatures

// TwoSampleResult says whether two tables are drawn from the same distribution.
type TwoSampleResult = evaluate.TwoSampleResult

// TwoSample tests whether the rows of two tables are drawn from the same distribution, by the maximum
// mean discrepancy in random features. If a bound is not kept, the error is an *exit.GateError and the
// result is complete.
func TwoSample(ctx context.Context, o TwoSampleOptions) (*TwoSampleResult, error) {
	return evaluate.TwoSample(ctx, o)
}
