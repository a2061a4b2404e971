// Package solver solves the systems of ridge regression while λ is chosen, and says what that costs.
//
// A LambdaDescent finds the best of a list of values of λ but tries only a few. Apart from noise, held-out errors
// have one minimum in λ. So one fold descends to a value that is better than both neighbours, and the other folds try
// only the values close to it. HeldOutErrors computes errors on a fold from the fold's sums.
//
// A Matrix solves symmetric systems (A + μR)X = B with a diagonal R for several shifts μ: exactly, by a float64
// factorisation for each, or by conjugate gradients with factors in float32. MethodFor chooses between them.
//
// A Problem solves ridge regression for rows in folds where there are fewer rows than features, so that the dual
// problem is smaller. With K = ZR⁻¹Zᵀ, u the column of ones, and R the diagonal by which μ penalises weights,
//
//	(K + μI)α = y - u b,   uᵀα = 0,   V = R⁻¹Zᵀα,
//
// and a held-out fold f has the residuals y_f - K_f α - u_f b.
package solver
