package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/pipelines/internal/evaluate"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// CompareKernelOptions says which kernel to compare with its features, and on which rows.
type CompareKernelOptions = options.CompareKernel

// CompareKernelResult says how well features approximate their kernel.
type CompareKernelResult = results.CompareKernel

// ErrorCurve is the approximation error of one way to draw features, by the number of features.
type ErrorCurve = results.ErrorCurve

// ErrorBounds has proven bounds on the errors of independent Fourier features, and the measured
// errors next to them.
type ErrorBounds = results.ErrorBounds

// BoundPoint has the bounds for a number of features.
type BoundPoint = results.BoundPoint

// CompareKernel draws feature maps of several sizes with several seeds, and compares inner products
// of features with the kernel on all pairs of a sample of rows.
func CompareKernel(ctx context.Context, o CompareKernelOptions) (*CompareKernelResult, error) {
	return evaluate.CompareKernel(ctx, o)
}
