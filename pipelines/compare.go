package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/pipelines/internal/evaluate"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// CompareKernel draws feature maps of several sizes with several seeds, and compares inner products
// of features with the kernel on all pairs of a sample of rows.
func CompareKernel(ctx context.Context, o options.CompareKernel) (*results.CompareKernel, error) {
	return evaluate.CompareKernel(ctx, o)
}
