// Package fourier provides random Fourier features for shift-invariant
// kernels. By Bochner's theorem such a kernel is the mean of cos ω·(x−z) over frequencies
// ω of some distribution, so the inner products of
//
//	φ(x) = √(2/D) [cos ω_j·x for all j | sin ω_j·x for all j],   j < D/2     (Paired)
//	φ(x) = √(2/D) [cos(ω_j·x + b_j) for all j],                  j < D       (Offset)
//
// have the kernel as their expectation (Rahimi & Recht, "Random features for
// large-scale kernel machines", NIPS 2007).
//
// # Independent draws
//
// The draw is part of every model, so it is fixed to the last bit. Frequency j
// of a recipe comes from the stream (seed, "fourier/frequency", j), one number z_i for each column i:
//
//	Gaussian     z_i normal
//	Laplace      z_i Cauchy
//	Cauchy       z_i Laplace
//	Matern       z_i = normal·√(ν/g), g one number Gamma(ν) of the stream (seed, "fourier/radius", j)
//	Exponential  z_i = normal·√(2s), s one stable number of index q/2 of that stream (Kanter 1975)
//
// Frequencies and offsets are stored in turns, that is in units of 2π: w_ji = float32(z_i ·
// (1/(2π·width))), in float64 up to the last rounding. The offset b_j of feature j is the uniform number of
// the stream (seed, "fourier/offset", j), rounded to float32. Features are then cos 2π(x·w_j + b_j).
//
// # Dependent draws
//
// Frequencies of a Gaussian recipe may be drawn in blocks of orthogonal frequencies: see Draw.
//
// Orthogonal: frequency k of block b, which has d frequencies, is
//
//	z = χ · H_0 H_1 … H_{k−1} (x_k/‖x_k‖),   H_i y = y − (v_i·y)·β_i v_i
//
// where x_i is i zeros and then d−i normals of the stream (seed, "fourier/frequency", b·d+i),
// v_i is x_i with sign(x_ii)·‖x_i‖ added to element i, β_i = 1/(‖x_i‖² + |x_ii|·‖x_i‖), and
// χ = √(2·g) for g one number Gamma(d/2) of the stream (seed, "fourier/norm", b·d+k).
// Sums run from the first column to the last, in float64.
//
// Structured: frequency k of block b, which has d' frequencies, d' the least power of
// two ≥ max(d, 64), consists of the first d numbers of row k of
//
//	(1/d') · H D₁ H D₂ H D₃,   H_ij = (−1)^(number of bits set in both i and j)
//
// where element e of the diagonal of D_i, i from 1 to 3, is −1 if bit e mod 64 of word e div 64 of
// the stream (seed, "fourier/sign", 3b+i−1) is set, else 1. All of that is exact.
//
// In both cases frequencies in turns are z·(1/(2π·width)) as above.
//
// The other kernels are only drawn independently. Frequencies of the Laplace and Cauchy kernels have
// independent coordinates that are not normal; making them orthogonal would change the kernel. Frequencies
// of the Matérn kernel could be orthogonal, but would keep their heavy-tailed lengths and gain little: for
// rows within two widths, their squared error was 0.9 to 1.1 times the independent draws' error at ν = ½,
// and 0.5 to 0.9 times at ν = 5/2.
//
// # Bias of structured draws
//
// A structured frequency has length √d'/σ, while the length of a normal one varies by a relative
// 1/√(2d') or so. The mean of the estimate is therefore a little less than the kernel. With s =
// ‖x−z‖/σ and directions uniform, the mean is K·(1 − s⁴/4d') up to higher powers of 1/d'. The
// measured shortfall, for d' from 64 to 128 and rows that differ in all columns or in one, is 1 to
// 1½ times that: at most 0.013 at d' = 64, which implies 0.0008 at 1,024. The proven bound is
// |E[φ(x)·φ(z)] − K| ≤ 6s/√d' (Yu, Suresh, Choromanski, Holtmann-Rice and Kumar, "Orthogonal random
// features", NIPS 2016, Theorem 3). The squared error of one estimate is nevertheless smaller than
// with independent frequencies at the same D: at d = 64, D = 128, paired, it is 0.4% as large at s
// = ½, 7% at 1 and 80% at 2 (orthogonal draws: 5%, 9% and 72%).
//
// # Heavy tails
//
// The frequencies of the Laplace kernel have no variance: |z_i| reaches 2.9·10¹⁵, which float32
// holds. But an angle of t turns is known in float32 only to about 2⁻²⁴·t turns, and angles of 2²³
// turns or more count as whole turns. For rows with ‖x‖₁ = s·width an angle is Cauchy distributed
// with scale s/2π turns: it exceeds 2²³ turns with probability 1.2·10⁻⁸·s, which bounds the error
// of the mean of the estimate. One estimate from D = 256 features moves by about 6·10⁻⁴ at s =
// 1,000, compared with its standard deviation of 6·10⁻². So only rows that are very long in units of the
// width lose accuracy: centre and scale them. Nothing is truncated or redrawn.
package fourier
