package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/pipelines/internal/evaluate"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// CompareOptions says which kernel to compare with its features, and on which rows.
type CompareOptions = options.Compare

// CompareResult says how well features approximate their kernel.
type CompareResult = results.Compare

// ErrorCurve is the approximation error of one way to draw features, by the number of features.
type ErrorCurve = results.ErrorCurve

// ErrorBounds has proven bounds on the errors of independent Fourier features, and the measured
// errors next to them.
type ErrorBounds = results.ErrorBounds

// BoundPoint has the bounds for a number of features.
type BoundPoint = results.BoundPoint

// Compare draws feature maps of several sizes with several seeds, and compares inner products
// of features with the kernel on all pairs of a sample of rows.
func Compare(ctx context.Context, o CompareOptions) (*CompareResult, error) {
	return evaluate.CompareKernel(ctx, o)
}
