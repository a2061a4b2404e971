// Package sgd trains linear models by mini-batch gradient descent over partitions of the rows: each iterates over its
// rows from the same weights, and the results are averaged, weighted by rows (Zinkevich, Weimer, Smola and Li 2010).
//
// It minimises, for rows φ_i with labels y_i and weights c_i,
//
//	(1/n) Σ c_i ℓ(y_i, W·φ_i + b) + (λ/2)‖W‖².
//
// A batch is a fixed number of consecutive rows of the partition, however they are split into blocks; the
// last may be shorter. With g the mean of c_i ∂ℓ/∂W over the batch and η the rate,
//
//	sgd      W ← (W − η g)/(1 + ηλ)
//	momentum V ← βV + g + λW,  W ← W − η (g + λW + βV)
//	adagrad  A ← A + (g + λW)²,  W ← W − η (g + λW)/(√A + 10⁻⁸), elementwise
//
// (Robbins and Monro 1951, with a proximal step for the regulariser, which is stable at any rate; Nesterov 1983;
// Duchi, Hazan and Singer 2011). The rate of sgd is Rate/√(1 + e), where e is the number of completed epochs, with
// fractions. The rate of adagrad is Rate. The rate of momentum is halved after each epoch that hardly lowers the
// objective. After several halvings training ends, and the last round measures the gradient, which bounds the
// distance from the minimum. The intercept b moves like the weights, without λ.
//
// Rows are taken in order and sums are added in order, so the result depends on the partitions but not on
// the blocks. Shuffle files that are sorted by label.
package sgd
