// Package fourier holds random Fourier features for four shift-invariant
// kernels: by Bochner's theorem such a kernel is the mean of cos ω·(x−z) over
// frequencies ω of a distribution of its own, so that inner products of
//
//	φ(x) = √(2/D) [cos ω_j·x for all j | sin ω_j·x for all j],   j < D/2     (Paired)
//	φ(x) = √(2/D) [cos(ω_j·x + b_j) for all j],                  j < D       (Offset)
//
// have the kernel as their mean (Rahimi & Recht, "Random features for
// large-scale kernel machines", NIPS 2007).
//
// # What is drawn
//
// The draw is part of every model, so it is fixed to the last bit. Frequency j
// of a recipe with that seed comes from the stream (seed, "fourier/frequency", j),
// one number z_i a column i:
//
//	Gaussian   z_i normal
//	Laplace    z_i Cauchy
//	Cauchy     z_i Laplace
//	Matern     z_i = normal·√(ν/g), g one number Gamma(ν) of the stream (seed, "fourier/radius", j)
//
// It is kept in turns, w_ji = float32(z_i · (1/(2π·width))), in float64 up to the
// last rounding; the offset of feature j in turns, b_j, is the uniform number of the
// stream (seed, "fourier/offset", j), rounded to float32. Features are then
// cos 2π(x·w_j + b_j).
//
// # Heavy tails
//
// The frequencies of the Laplace kernel have no variance: |z_i| reaches
// 2.9·10¹⁵, which float32 holds. But an angle of t turns is known in float32 to
// about 2⁻²⁴·t turns only, and angles of 2²³ turns and more count as whole
// turns. For rows with ‖x‖₁ = s·width an angle is Cauchy distributed with scale
// s/2π turns: it passes 2²³ turns with probability 1.2·10⁻⁸·s, and that is how far
// the mean of the estimate can be off. One estimate from D = 256 features moves by about
// 6·10⁻⁴ at s = 1,000, against its spread of 6·10⁻². So only rows that are very long
// in units of the width suffer: centre and scale them. Nothing is cut off or drawn again.
package fourier
