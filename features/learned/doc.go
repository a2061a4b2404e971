// Package learned provides Fourier features whose frequencies are data: found by
// a search, or chosen and weighted by labels, not drawn at random.
//
// Frequencies w_j in turns with weights λ_j ≥ 0 that sum to 1 give
//
//	φ(x) = [√λ_j cos 2πw_j·x for all j | √λ_j sin 2πw_j·x for all j]      (paired)
//	φ(x) = [√(2λ_j) cos 2π(w_j·x + b_j) for all j]                        (offset)
//
// whose inner products are, exactly or on average over the offsets b_j,
//
//	K(x, z) = Σ_j λ_j cos 2πw_j·(x−z).
//
// # The file of frequencies
//
// A recipe holds the SHA-256 of a file of frequencies, not the frequencies: Encode
// writes the file, and Provide makes its frequencies available to every recipe of this process
// with that hash. Provide the file before opening a sealed recipe; otherwise New fails.
package learned
