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

// VerifyForgotten recomputes the certificate of Forget from the rows and the original sums. o.Model is the
// model without the rows, and o.Certificate the file; Out and SaveSums do not count.
func VerifyForgotten(ctx context.Context, o options.Forget) (*results.VerifyForgotten, error) {
	return days.VerifyForgotten(ctx, o)
}

// Audit compares sums with rows by a random test, and the weights of a model with the sums.
func Audit(ctx context.Context, o options.Audit) (*results.Audit, error) {
	return sumdirs.Audit(ctx, o)
}

// PruneSums removes old directories of sums that no model needs.
func PruneSums(ctx context.Context, o options.Prune) (*results.Prune, error) {
	return days.Prune(ctx, o)
}
