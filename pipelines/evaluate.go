package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/pipelines/evaluating"
)

// EvaluateOptions says which model to evaluate on which data.
type EvaluateOptions = evaluating.EvaluateOptions

// EvaluateResult has the scores of a model.
type EvaluateResult = evaluating.EvaluateResult

// TargetReport is the score of one of several targets.
type TargetReport = evaluating.TargetReport

// ProbabilityReport says how good the probabilities of a model are.
type ProbabilityReport = evaluating.ProbabilityReport

// UnseenLabel is a label that is not a class of the model.
type UnseenLabel = evaluating.UnseenLabel

// Evaluate applies a model to labelled data and scores it. If a gate is not passed, the
// error is an *exit.GateError and the result is complete.
func Evaluate(ctx context.Context, o EvaluateOptions) (*EvaluateResult, error) {
	return evaluating.Evaluate(ctx, o)
}

// CompareModelsOptions says which models to compare on which data.
type CompareModelsOptions = evaluating.CompareModelsOptions

// ModelComparison compares two models on the same rows.
type ModelComparison = evaluating.ModelComparison

// ComparedModel is one of two models.
type ComparedModel = evaluating.ComparedModel

// RowsNeeded is how many rows show a difference of error rates.
type RowsNeeded = evaluating.RowsNeeded

// CompareModels applies two models to the same labelled rows and compares their predictions. If
// the gate is not passed, the error is an *exit.GateError and the result is complete.
func CompareModels(ctx context.Context, o CompareModelsOptions) (*ModelComparison, error) {
	return evaluating.CompareModels(ctx, o)
}

// VerifyOptions says which model to verify, and on which data it was trained.
type VerifyOptions = evaluating.VerifyOptions

// VerifyResult has what was recorded when the model was trained, and what was recomputed from
// the data.
type VerifyResult = evaluating.VerifyResult

// Problem is the optimisation problem that the certificate is about.
type Problem = evaluating.Problem

// Optimum is what a manifest says about the distance of weights from the optimum.
type Optimum = evaluating.Optimum

// Verify recomputes the objective and the dual objective of an svm model from the data it was
// trained on, and checks its certificate: that the weights are at most as far from the optimum
// as the manifest says. If the certificate does not hold, the error is an *exit.GateError and the
// result is complete.
func Verify(ctx context.Context, o VerifyOptions) (*VerifyResult, error) {
	return evaluating.Verify(ctx, o)
}
