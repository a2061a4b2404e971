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
//
// # Spherical harmonics
//
// Harmonics are the rotation-invariant counterpart of Fourier features: the real spherical
// harmonics on the sphere S^{d−1} of R^d, in any dimension d ≥ 2 (Bullins, Zhang & Zhang,
// "Not-So-Random Features", ICLR 2018, Section 2.1 and Appendix B). Coordinates are split off from
// the last one (Higuchi, "Symmetric tensor spherical harmonics on the N-sphere", J. Math. Phys. 28,
// 1987, in different notation). A harmonic of degree ℓ_d in d coordinates has one of degree ℓ_{d−1}
// ≤ ℓ_d in the first d−1, and so on down to two coordinates:
//
//	Y(x) = B(x_1, x_2) Π_{k=3}^d P_k(x_k, r_k),    r_k² = x_1² + … + x_k²
//
// B is 1 for degree 0, and √2 Re z^m or √2 Im z^m, z = x_1 + i x_2, for degree m. P_k is the
// homogeneous form r^n p_n(t/r) of the orthonormal Gegenbauer polynomial of degree n = ℓ_k − ℓ_{k−1}
// with index ν = ℓ_{k−1} + (k−2)/2, by the recurrence
//
//	β_n P_n = t P_{n−1} − r² β_{n−1} P_{n−2},    β_n² = n(n+2ν−1) / (4(n+ν)(n+ν−1)),
//	P_0² = Π_{i<ℓ_{k−1}} (k+2i) / (k−1+2i).
//
// So every harmonic is a polynomial: it needs no angles and no division by their sines,
// and the recurrences of orthonormal polynomials are stable.
//
// The mean of Y² over the sphere is 1: Y is √|S^{d−1}| times the harmonic whose square
// integrates to 1. Then harmonics of degree ℓ have the addition theorem
//
//	Σ_m Y_ℓm(x) Y_ℓm(z) = N(d,ℓ) C_ℓ(x·z)/C_ℓ(1),    C_ℓ the Gegenbauer polynomial of index (d−2)/2,
//
// and none is larger than √N(d,ℓ).
//
// Harmonics of degree ℓ in d coordinates, N(d,ℓ) = C(d−1+ℓ, ℓ) − C(d−3+ℓ, ℓ−2) of them, are
// numbered from 0 by the degree ℓ_{d−1} first, then by the degree in d−2 coordinates, and so on; of the two
// of degree m ≥ 1 in two coordinates the cosine is first.
//
// Only the direction of a row matters: each row is divided by its length. A row of zeros
// has features 0, except for the harmonic of degree 0, which is 1 everywhere.
package learned
