// Package ridge fits regularised least squares from sums that one pass over the data adds
// up exactly, and chooses λ by cross-validation from the same sums.
//
// The objective, for rows of features φ_i with targets t_i, is
//
//	(1/2n) Σ ‖t_i - Wᵀφ_i - b‖² + (λ/2) ‖W‖²,
//
// so that W solves (G_c + nλI) W = R_c, where G_c = Σ (φ-φ̄)(φ-φ̄)ᵀ and R_c = Σ (φ-φ̄)(t-t̄)ᵀ, and
// the intercept, which is not penalised, is b = t̄ - Wᵀφ̄. Classes are coded one-vs-all: t_c = 1
// for the row's class and -1 for the others.
//
// Features are rounded to a grid of 8 bits, or of up to 16, and targets to a grid of 16 bits. All sums over
// rows are then integers, held exactly in float64. Sums can be added in any order, and subtracted again,
// without changing a bit, so equal data give equal models however they were cut.
//
// A pass fills a Sum for each fold of a FoldPlan. Parts are the pieces of a Sum that workers exchange, at most 8 MiB
// each; a Stripe is a range of parts, for sums too large for one worker. Where n < D, GridRows are stored instead of
// sums. Solve chooses λ and returns a Solution; SolveChain does so for folds that follow each other in time. Fit does
// all of this for rows in memory. An Evaluator answers questions by fits to some sums and errors on others.
package ridge
