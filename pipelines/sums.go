package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/pipelines/internal/days"
	"github.com/bochner-ml/bochner/pipelines/internal/parts"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// SumOptions says which rows to sum, and by the recipe of which model.
type SumOptions = options.Sum

// SumResult describes a directory of sums.
type SumResult = results.Sum

// Sum sums rows by the recipe of a model in two passes, and publishes a directory of sums.
func Sum(ctx context.Context, o SumOptions) (*SumResult, error) { return days.Sum(ctx, o) }

// SumDirs names directories of sums to add and to subtract.
type SumDirs = options.SumDirs

// FitOptions says which sums to fit a model to.
type FitOptions = options.Fit

// Fit fits a model to sums and publishes its directory, as training on their rows with
// TrainOptions.Recipe does.
func Fit(ctx context.Context, o FitOptions) (*TrainResult, error) { return days.Fit(ctx, o) }

// AddSumsOptions says which sums to add and to subtract.
type AddSumsOptions = options.AddSums

// AddSums adds and subtracts sums and publishes the result as a directory of sums.
func AddSums(ctx context.Context, o AddSumsOptions) (*SumResult, error) {
	return days.AddSums(ctx, o)
}

// ForgetOptions says which model forgets which rows.
type ForgetOptions = options.Forget

// ForgetResult describes a model that has forgotten rows.
type ForgetResult = results.Forget

// Certificate records that a model was fitted without certain rows.
type Certificate = results.Certificate

// Forget subtracts rows from the sums of a model, and publishes the model of the rest.
func Forget(ctx context.Context, o ForgetOptions) (*ForgetResult, error) {
	return days.Forget(ctx, o)
}

// VerifyForgottenResult says whether a certificate holds.
type VerifyForgottenResult = results.VerifyForgotten

// VerifyForgotten recomputes the certificate of Forget from the rows and the original sums. o.Model is the
// model without the rows, and o.Certificate the file; Out and SaveSums do not count.
func VerifyForgotten(ctx context.Context, o ForgetOptions) (*VerifyForgottenResult, error) {
	return days.VerifyForgotten(ctx, o)
}

// AuditOptions says which sums to check against which rows, and which model against the sums.
type AuditOptions = options.Audit

// AuditResult says whether the sums belong to the rows, and the model to the sums.
type AuditResult = results.Audit

// Audit compares sums with rows by a random test, and the weights of a model with the sums.
func Audit(ctx context.Context, o AuditOptions) (*AuditResult, error) { return parts.Audit(ctx, o) }

// PruneOptions says which directories of sums to remove.
type PruneOptions = options.Prune

// PruneResult lists the removed directories.
type PruneResult = results.Prune

// PruneSums removes old directories of sums that no model needs.
func PruneSums(ctx context.Context, o PruneOptions) (*PruneResult, error) {
	return days.Prune(ctx, o)
}
