// Package landmarks provides features that are values of a kernel at rows of the training data,
//
//	φ_j(x) = k(x, z_j),
//
// for landmarks z_1, z_2, …, which are rows drawn at random. Inner products of features, divided by their
// number, estimate the kernel E_z[k(x, z)·k(y, z)], where z has the distribution of the rows (Balcan, Blum
// and Vempala, "Kernels as features: on kernels, margins, and low-dimensional mappings", Machine Learning
// 65, 2006, §4, where they are called F_1). So, unlike random Fourier features, they do not model regions
// without rows. They have the span of the Nyström approximation (Williams and Seeger, "Using the Nyström
// method to speed up kernel machines", 2001), but not its whitening: ridge regression penalizes the sum of
// squares of the weights α instead of αᵀKα, where K is the Gram matrix of the landmarks.
//
// Each feature has the range from 0 to 1. Features of a wide kernel are nearly equal, so a 16-bit grid is
// needed to distinguish them (features.Ranged).
//
// A Recipe refers to a file of landmarks (Set), which Encode writes.
package landmarks
