package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/pipelines/internal/evaluate"
	"github.com/bochner-ml/bochner/pipelines/internal/pages"
	"github.com/bochner-ml/bochner/pipelines/internal/twosample"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/pipelines/results/table"
)

// EvaluateOptions says which model to evaluate on which data.
type EvaluateOptions = options.Evaluate

// EvaluateResult has the scores of a model.
type EvaluateResult = results.Evaluate

// TargetReport has the scores of one of several targets.
type TargetReport = results.TargetReport

// ProbabilityReport says how good the probabilities of a model are.
type ProbabilityReport = results.ProbabilityReport

// UnseenLabel is a label in the data that is not a class of the model.
type UnseenLabel = results.UnseenLabel

// Table is a table of a report or of a terminal.
type Table = table.Table

// Evaluate applies a model to labelled data and scores its predictions. If a gate is not passed,
// the error is an *exit.GateError and the result is complete.
func Evaluate(ctx context.Context, o EvaluateOptions) (*EvaluateResult, error) {
	return pages.Evaluate(ctx, o)
}

// ReportOptions says which model to report on.
type ReportOptions = options.Report

// ReportResult says where a report is.
type ReportResult = results.Report

// Report writes a report on a model as one HTML file. If the options name labelled data, it has the
// scores on them.
func Report(ctx context.Context, o ReportOptions) (*ReportResult, error) {
	return pages.Report(ctx, o)
}

// CompareModelsOptions says which models to compare on which data.
type CompareModelsOptions = options.CompareModels

// CompareModelsResult compares two models on the same rows.
type CompareModelsResult = results.CompareModels

// ComparedModel has the scores of one of the two models of a CompareModelsResult.
type ComparedModel = results.ComparedModel

// RowsNeeded is the number of rows that a test needs to detect a difference of error rates.
type RowsNeeded = results.RowsNeeded

// CompareModels applies two models to the same labelled rows and compares their predictions. If
// the gate is not passed, the error is an *exit.GateError and the result is complete.
func CompareModels(ctx context.Context, o CompareModelsOptions) (*CompareModelsResult, error) {
	return pages.CompareModels(ctx, o)
}

// TwoSampleOptions says which two tables to compare, and in which features.
type TwoSampleOptions = options.TwoSample

// TwoSampleResult has the p-value of the test and the distances by column.
type TwoSampleResult = results.TwoSample

// TwoSample tests whether the rows of two tables are drawn from the same distribution, by the
// maximum mean discrepancy in the features of a kernel. If a bound is exceeded, the error is an
// *exit.GateError and the result is complete.
func TwoSample(ctx context.Context, o TwoSampleOptions) (*TwoSampleResult, error) {
	return twosample.Test(ctx, o)
}

// VerifyOptions says which model to verify, and on which data it was trained.
type VerifyOptions = options.Verify

// VerifyResult has the values that were recorded when the model was trained, and the same values
// recomputed from the data.
type VerifyResult = results.Verify

// Problem is the optimisation problem that the certificate is about.
type Problem = results.Problem

// Optimum is the bound of a manifest on the distance of the weights from the optimum.
type Optimum = results.Optimum

// Verify recomputes the objective and the dual objective of an svm model from the data it was
// trained on, and checks its certificate: that the weights are at most as far from the optimum
// as the manifest says. If the certificate does not hold, the error is an *exit.GateError and the
// result is complete.
func Verify(ctx context.Context, o VerifyOptions) (*VerifyResult, error) {
	return evaluate.Verify(ctx, o)
}
