package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/pipelines/internal/evaluate"
	"github.com/bochner-ml/bochner/pipelines/internal/pages"
	"github.com/bochner-ml/bochner/pipelines/internal/twosample"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Evaluate applies a model to labelled data and scores its predictions. If a gate is not passed,
// the error is an *exit.GateError and the result is complete.
func Evaluate(ctx context.Context, o options.Evaluate) (*results.Evaluate, error) {
	return pages.Evaluate(ctx, o)
}

// Report writes a report on a model as one HTML file. If the options name labelled data, it has the
// scores on them.
func Report(ctx context.Context, o options.Report) (*results.Report, error) {
	return pages.Report(ctx, o)
}

// CompareModels applies two models to the same labelled rows and compares their predictions. If
// the gate is not passed, the error is an *exit.GateError and the result is complete.
func CompareModels(ctx context.Context, o options.CompareModels) (*results.CompareModels, error) {
	return pages.CompareModels(ctx, o)
}

// TwoSample tests whether the rows of two tables are drawn from the same distribution, by the
// maximum mean discrepancy in the features of a kernel. If a bound is exceeded, the error is an
// *exit.GateError and the result is complete.
func TwoSample(ctx context.Context, o options.TwoSample) (*results.TwoSample, error) {
	return twosample.Test(ctx, o)
}

// VerifyOptimum recomputes the objective and the dual objective of an svm model from the data it was
// trained on, and checks its certificate of the optimum: that the weights are at most as far from the optimum
// as recorded in the manifest. If the certificate does not hold, the error is an *exit.GateError and the
// result is complete.
func VerifyOptimum(ctx context.Context, o options.VerifyOptimum) (*results.VerifyOptimum, error) {
	return evaluate.Verify(ctx, o)
}
