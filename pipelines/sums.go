package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/pipelines/internal/days"
	"github.com/bochner-ml/bochner/pipelines/internal/sumdirs"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Sum sums rows by the recipe of a model in two passes, and publishes a directory of sums.
func Sum(ctx context.Context, o options.Sum) (*results.Sum, error) { return days.Sum(ctx, o) }

// Fit fits a model to sums and publishes its directory, as training on their rows with
// options.Train.Recipe does.
func Fit(ctx context.Context, o options.Fit) (*results.Train, error) { return days.Fit(ctx, o) }

// AddSums adds and subtracts sums and publishes the result as a directory of sums.
func AddSums(ctx context.Context, o options.AddSums) (*results.Sum, error) {
	return days.AddSums(ctx, o)
}

// Forget subtracts rows from the sums of a model, and publishes the model of the rest.
func Forget(ctx context.Context, o options.Forget) (*results.Forget, error) {
	return days.Forget(ctx, o)
}

// VerifyForgotten recomputes the certificate of Forget from the rows and the original sums. If it does not hold,
// the error is an *exit.GateError and the result is complete.
func VerifyForgotten(ctx context.Context, o options.VerifyForgotten) (*results.VerifyForgotten, error) {
	return days.VerifyForgotten(ctx, o)
}

// AuditSums compares sums with rows by a random test, and the weights of a model with the sums. It needs no
// certificate, and applies to all models that are fitted to sums; VerifyOptimum and VerifyForgotten check the
// certificates of svm models and of Forget.
func AuditSums(ctx context.Context, o options.AuditSums) (*results.AuditSums, error) {
	return sumdirs.Audit(ctx, o)
}

// PruneSums removes old directories of sums that no model needs.
func PruneSums(ctx context.Context, o options.PruneSums) (*results.PruneSums, error) {
	return days.Prune(ctx, o)
}
