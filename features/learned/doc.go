// Package learned provides two feature maps that are learned from labelled rows instead of drawn at
// random: Fourier features with given frequencies (Recipe), and spherical harmonics (Harmonics). It
// holds their recipes, files and options. Package models/align chooses the frequencies and the
// harmonics.
//
// # Fourier features
//
// Frequencies w_j, with weights λ_j ≥ 0 that sum to 1, give
//
//	φ(x) = [√λ_j cos 2πw_j·x for all j | √λ_j sin 2πw_j·x for all j]      (paired)
//	φ(x) = [√(2λ_j) cos 2π(w_j·x + b_j) for all j]                        (offset)
//
// A frequency is in turns: w = ω/2π for a frequency ω in radians. The inner product of two rows'
// features is
//
//	K(x, z) = Σ_j λ_j cos 2πw_j·(x−z).
//
// In the paired form this is exact. In the offset form it is the expectation over the random
// offsets b_j. K(x, x) = 1.
//
// A sealed Recipe does not contain the frequencies, only the SHA-256 of a file with them. The steps are:
//
//  1. Encode writes Frequencies as such a file.
//  2. RecipeOf returns the recipe of the features, given the file. To open a sealed recipe, give the
//     file with features.Sealed.WithFiles; package models does so when it loads a model.
//  3. Recipe.New returns the map.
//
// Options are the options of the kernel "learned".
//
// # Spherical harmonics
//
// Harmonics is the rotation-invariant counterpart: its features are real spherical harmonics on the
// sphere S^{d−1} of R^d, for any d ≥ 2 (Bullins, Zhang & Zhang, "Not-So-Random Features", ICLR
// 2018, Section 2.1 and Appendix B). FirstHarmonics lists harmonics to choose from, Harmonics.New returns
// the map, and HarmonicOptions are the options of the kernel "harmonic".
//
// A harmonic in d coordinates is a product. It has one factor for each coordinate from the last
// down to the third, and one for the first two (Higuchi, "Symmetric tensor spherical harmonics on
// the N-sphere", J. Math. Phys. 28, 1987, in different notation). With degrees ℓ_d ≥ ℓ_{d−1} ≥ … ≥
// ℓ_2 ≥ 0, where ℓ_k is the degree in the first k coordinates,
//
//	Y(x) = B(x_1, x_2) Π_{k=3}^d P_k(x_k, r_k),    r_k² = x_1² + … + x_k².
//
// With z = x_1 + i x_2, B is 1 if ℓ_2 = 0, and √2 Re z^m or √2 Im z^m if m = ℓ_2 > 0. P_k(t, r) is
// r^n p_n(t/r), where p_n is the orthonormal Gegenbauer polynomial of degree n = ℓ_k − ℓ_{k−1} and
// index ν = ℓ_{k−1} + (k−2)/2. The recurrence is
//
//	β_n P_n = t P_{n−1} − r² β_{n−1} P_{n−2},    β_n² = n(n+2ν−1) / (4(n+ν)(n+ν−1)),
//	P_0² = Π_{i<ℓ_{k−1}} (k+2i) / (k−1+2i),    P_{−1} = 0.
//
// So every harmonic is a polynomial. It needs no angles and no division by their sines, and the
// recurrences of orthonormal polynomials are stable.
//
// Y² has mean 1 over the sphere: Y is √|S^{d−1}| times the harmonic whose square integrates to 1.
// Harmonics of the same degree ℓ then satisfy the addition theorem
//
//	Σ_m Y_ℓm(x) Y_ℓm(z) = N(d,ℓ) C_ℓ(x·z)/C_ℓ(1),
//
// where C_ℓ is the Gegenbauer polynomial of index (d−2)/2. Hence |Y| ≤ √N(d,ℓ) on the sphere.
//
// There are N(d,ℓ) = C(d−1+ℓ, ℓ) − C(d−3+ℓ, ℓ−2) harmonics of degree ℓ (number). They are numbered
// from 0, by ascending ℓ_{d−1}, then ℓ_{d−2}, and so on. For ℓ_2 ≥ 1 the real part comes before
// the imaginary part.
//
// Only the direction of a row matters: each row is divided by its length. A row of zeros has
// features 0, except that the harmonic of degree 0 is constant.
package learned
