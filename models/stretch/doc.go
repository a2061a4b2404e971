// Package stretch describes how far the learned metric of a model stretches distances along the columns of the data.
// This shows to which columns the kernel is sensitive, which is not the effect of a column on predictions.
//
// Before the features, a recipe may multiply each preprocessed row by a matrix A. With M = AᵀA, the squared
// distance of two rows x and z in this metric is
//
//	(x−z)ᵀ M (x−z) = Σ_j M_jj (x_j − z_j)² + products of two numbers
//
// Describe leaves out the products and takes the mean over two random rows. The mean of (x_j − z_j)² is 2v_j, where v_j is
// the variance of number j, so the contribution of the number is proportional to M_jj·v_j. Describe assumes
//
//	v_j = 1           for a standardised number
//	v_j = w²p(1−p)    for the indicator, with value w, of one of 1/p equally frequent levels
//	v_j = 2 − 4/π     for the distance of two columns
//
// The share of a column is the sum over its numbers, divided by the sum over all numbers: shares have no unit, and
// they sum to 1. For a full metric, Describe also returns Directions, the eigenvectors of M with the largest eigenvalues.
// The share of a direction is its eigenvalue divided by the trace of M.
package stretch
