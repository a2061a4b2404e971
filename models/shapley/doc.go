// Package shapley divides a score of a linear model on features among the columns of a row, by Shapley
// values (Shapley, "A value for n-person games", 1953; for predictions Lundberg and Lee, "A unified
// approach to interpreting model predictions", NIPS 2017).
//
// ReadBackground returns the values that columns are compared with. NewExact returns an Explainer for
// Fourier features, Gaussian and Laplace kernels at landmarks, and features of single columns; NewSampled
// returns one for any other model.
//
// # The game
//
// The columns of a row x play a game. The value of a set S of columns is the mean score of rows that take
// these columns from x and all others from the background:
//
//	v(S) = E f(x_S, Z_{−S}),   Z has independent columns with given values and probabilities
//
// The effect of a column is its Shapley value, the mean of v(S ∪ {g}) − v(S) over all orders in which
// columns can join. The effects of all columns sum to f(x) − v(∅), and v(∅) is the base. A column that the
// score does not depend on has effect 0. For a sum of functions of single columns the effect is f_g(x_g) −
// E f_g(Z_g), whatever the other columns.
//
// # Fourier features
//
// A column may have several numbers, such as the levels of a category or the parts of a time. As long as
// each number comes from one column, a Fourier feature is the real part of a product over columns. That is
// so even after a metric that mixes numbers, because ω·Ax = (Aᵀω)·x:
//
//	cos(ω·x + b) = Re e^{ib} Π_g a_g,   a_g = e^{iω_g·x_g},   b_g = E e^{iω_g·Z_g}
//
// In the multilinear extension of this game, where each column joins with probability t, the factor of g is
// t·a_g + (1−t)·b_g. The Shapley value is the integral of its derivative along the diagonal (Owen 1972):
//
//	φ_g = (a_g − b_g) ∫₀¹ Π_{h≠g} (t·a_h + (1−t)·b_h) dt
//
// The integrand is a polynomial of degree d−1 in t, so Gauss–Legendre quadrature with ⌈d/2⌉ points is
// exact. A row takes about 3·m·d·⌈d/2⌉ complex products for m frequencies. The integrals of all columns
// must sum to Π a − Π b, so their error is known: with more than 64 columns, 32 points are tried first.
//
// # Kernels at landmarks
//
// A Gaussian or Laplace kernel at a landmark z is a product over columns, too, as long as no metric mixes
// numbers of several columns. Its factors are real:
//
//	k(x, z) = Π_g a_g,   a_g = e^{−‖x_g − z_g‖²/2σ²} or e^{−‖x_g − z_g‖₁/σ},   b_g = E a_g(Z_g)
//
// Features that are neither products nor functions of one column, such as maxout, need Sampled.
//
// All sums run in a fixed order with every product rounded, so equal rows give equal bytes on every
// processor.
package shapley
