// Package cg solves ridge regression on many features by preconditioned conjugate gradients, like Falkon (Rudi,
// Carratino and Rosasco 2017) and sketched preconditioners for random features (Avron, Clarkson and Woodruff 2017).
// No D×D matrix is formed: a pass over the rows takes time and memory proportional to D.
//
// The objective is as in package ridge: for rows of features φ_i with codes t_i and weights c_i of mean 1,
//
//	(1/2n) Σ c_i ‖t_i − Wφ_i − b‖² + (λ/2) ‖W‖²,
//
// so that A w = r for each output, A = (1/n) Σ c_i (φ_i−μ)(φ_i−μ)ᵀ + λI. A round multiplies A
// by a search direction p of each output and each λ:
//
//	A p = (1/n) Σ_i z_i [c_i (z_i·p − μ·p)] + λp
//
// Here z are the features on a grid of 16 bits for each column, and the brackets are rounded to a grid
// whose unit the driver sets before the pass. So the sums are sums of integers, exact in any order, and
// weights do not depend on files, readers or partitions.
//
// The preconditioner is P = (1/m) Z_mᵀZ_m + μI for the features Z_m of m sampled rows, applied by
// Woodbury's formula through their m×m kernel. The rounds are
//
//	scaling     the largest feature of each column, which determines the grid
//	moments     Σ c z and Σ c t z, which give μ and r
//	direction   A p, and a step of conjugate gradients
//	verify      r − A w for the published float32 weights, recomputed from the rows
//
// If a verification finds the residual above the tolerance, the directions start again.
package cg
