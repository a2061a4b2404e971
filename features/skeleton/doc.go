// Package skeleton provides computation skeletons, their kernels, and random features of these kernels
// (Daniely, Frostig, Gupta and Singer, "Random features for compositional kernels", 2017,
// arXiv:1703.07872).
//
// A Skeleton composes simple kernels on single columns by averaging and by power series with positive
// coefficients, along a graph that has the form of a neural network. Compositional is the recipe of its
// features, and Map their map. A random feature is a product of a few base features, which Algorithm 1
// finds by walking down the graph: at an inner node it draws a degree ℓ with probability a_ℓ, then ℓ
// inputs, with replacement, and multiplies their results.
//
// # What is drawn
//
// The draw is part of every model, so it is fixed to the last bit. Draw j of a recipe reads the stream
// (seed, "skeleton/feature", j) of package stream from its first word: Below(2), which is 0 for b = 0 and 1
// for b = π/2, and then RFSS(output), where
//
//	RFSS(input node)   circle                Below(2): 0 for e^{iθ}, 1 for e^{−iθ}
//	                   binary                nothing
//	                   categorical           ω = Below(n)
//	                   gaussian              a normal number z for each column; ω = z·(1/(2π·width)) turns
//	                   sphere: pairs         Below(2d): 2j for x_j + i·x_{j+1}, 2j+1 for x_j − i·x_{j+1}
//	                   sphere: coordinates   j = Below(d)
//	                   sphere: projection    a normal number z for each column; √d·w = z·(√d/‖z‖)
//	RFSS(inner node)   Uniform, which gives ℓ; then ℓ times Below(number of inputs) and RFSS of that input
//
// in the order in which columns and inputs are listed. Angles in turns are in units of 2π. ℓ is the least
// degree with u·(a_0 + a_1 + …) < a_0 + … + a_ℓ, all in float64 without fused operations, where
//
//   - exponential: y = 1/s, a_0 = e^{−y} correctly rounded, a_i = (a_{i−1}·y)/i, up to where i > 2y and a_i < 2⁻⁶¹;
//   - relu: a_0, a_1, a_2 as rounded from 1/π, ½, 1/(2π), a_{i+2} = (a_i·(i−1)²)/((i+1)(i+2)), up to skeleton.MaxDegree,
//     beyond which lie 5·10⁻⁹ of it;
//   - step: a_0 = ½, a_1 = 1/π, a_{i+2} = (a_i·i²)/((i+1)(i+2)), up to the degree it is cut at.
//
// A lowest inner node of the sampler Hybrid draws a normal number z for each number of its inputs (cosine
// and sine for a circle), and ω = z·(1/(2π√(s·inputs))) turns. Numbers of ω and w are rounded to float32 at
// the end.
//
// # From draws to features
//
// A complex feature R·e^{iθ} becomes √2·R·cos(θ + b) (comment 1 of the paper). A feature that is its own
// conjugate, such as the empty product or a product of signs, stays as it is for any b: the mean of
// products is the same, and no feature is wasted on sin 0.
//
// Then equal features are merged. z·z̄ is 1, signs cancel in pairs, frequencies of a category are added
// modulo n, and of a feature and its conjugate only one is kept, because their real forms are equal up to a
// sign. (That x_j is in two pairs of a sphere is not used.) A feature drawn c times in M draws has the
// weight √(c/M).
//
// Out is the number of different features. Draws are made in order until one would give the different
// feature number Out+1; that draw is left out, and M is the number of draws before it. So the estimate is
// unbiased: which draw ends the sequence does not depend on the order of those before it, so each of them
// has the distribution of the first. (Ending with the draw that gives number Out, and counting it, would be
// biased, because that draw is always new.) At most max(1,000·Out, 100,000) draws are made, or 2³³ divided
// by the mean number of nodes that a draw visits, if that is less. It is an error if they give fewer than
// Out features. Features are in the order of their first draw, and a map with more features begins with the
// same ones.
//
// # The grid
//
// The 8-bit grid has one step for all features. The constant feature, which is often far larger than the
// others, is not considered in its bound (see Map.Quantize). If there are many draws for few features, the
// short ones have large weights compared with the rest. Sphere factors of many columns have the same
// effect. Such maps lose accuracy on the grid, but not in float32.
package skeleton
