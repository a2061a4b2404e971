// Package align learns Fourier frequencies from labelled rows. It has two methods:
//
//   - The game draws no frequencies: it searches for them (Bullins, Zhang & Zhang, "Not-So-Random
//     Features", ICLR 2018).
//   - Kernel alignment draws many frequencies and weights them (Sinha & Duchi, "Learning kernels
//     with random features", NIPS 2016).
//
// The results are recipes of package features/learned: frequencies, or spherical harmonics for
// rotation-invariant kernels.
//
// # The game
//
// Two players play on n rows x_i with labels y_i = ±1. The kernel player chooses a measure q of mass 1 on frequencies
// ω. The other player chooses the dual weights α_i of a support vector machine. The payoff is the dual objective
//
//	F(α, q) = (1/n) Σ_i α_i − (1/2λ) Σ_ω q(ω) v_α(ω),    v_α(ω) = |(1/n) Σ_i α_i y_i e^{iω·x_i}|²
//
// of the machine that minimises (λ/2)‖w‖² plus the mean hinge loss. The function v_α is called the
// Fourier potential. The kernel player minimises F. The other player maximises it over
//
//	K = {0 ≤ α ≤ 1, Σ_i y_i α_i = 0}.
//
// This is min_q max_α F, equation 6 of the paper, in other units: with the paper's C, λ = 1/(Cn),
// the paper's α is C times ours, its potential C²n² times, and its F is Cn times.
//
// In each round the kernel player answers with the frequencies of the largest potential, which
// Langevin dynamics find (Algorithm 1: Search). Then α takes a gradient step and is projected onto
// K (Algorithm 2: Learn). The frequencies of all rounds, with equal weights, are the measure.
//
// With more than two classes, each class has its own α, against all other classes. Such a set of α_i y_i for all rows
// is a weighting here, and the potential of a frequency is the sum over the weightings. A single α for all classes
// does much worse. On the ten digits of MNIST (8,000 rows, 100 frequencies, ridge) the accuracy is
//
//	drawn frequencies                        84.0%
//	one α, codes of classes ±1               43.9%
//	one α, centred codes                     85.7%
//	one α for each class                     91.0%
//
// # How to use it
//
// For rows in memory, take PaperOptions or DemoOptions and call Learn. Harmonics plays the same game
// with spherical harmonics as the answers, with HarmonicOptions.
//
// For rows in partitions, Learner runs the game as rounds of package models/iterative.
// Search.FindStarts adds starting points for its search, and Round.Frequencies returns the result.
//
// For kernel alignment (the method lkrf of the command line), Propose draws frequencies, Alignment
// computes their potentials, and AddNeedles adds frequencies that random draws miss. Weigh returns
// their weights, Top or Draw selects some of them, and Select returns the result.
//
// # Parts
//
// A worker needs only its own rows and a few numbers about all other rows. Field computes
// potentials and their gradients. Dual holds the dual weights of some rows and moves them. A census
// summarises the rows for the projection onto K. The game is the state between rounds.
//
// Frequencies are in turns everywhere, w = ω/2π, as in the feature maps. Matrices of rows (n×d) and
// frequencies (m×d) are row-major. Dual weights (K×n) are stored weighting by weighting. In such
// shapes K is the number of weightings: 1 for two classes, otherwise the number of classes.
package align
