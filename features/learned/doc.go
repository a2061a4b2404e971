// Package learned holds Fourier features whose frequencies are data: found by a
// search, chosen and weighted by what they tell about labels, not drawn.
//
// Frequencies w_j in turns with weights λ_j ≥ 0 that sum to 1 give
//
//	φ(x) = [√λ_j cos 2πw_j·x for all j | √λ_j sin 2πw_j·x for all j]      (paired)
//	φ(x) = [√(2λ_j) cos 2π(w_j·x + b_j) for all j]                        (offset)
//
// whose inner products are, or have over offsets b_j the mean,
//
//	K(x, z) = Σ_j λ_j cos 2πw_j·(x−z).
//
// # Where the frequencies are
//
// A recipe holds the SHA-256 of a file of frequencies, not the frequencies: Encode
// writes the file, and Provide makes its frequencies known to every recipe of this process that
// names their sum. Who opens a sealed recipe provides the file first; New says so where that was
// forgotten.
package learned
