// Package loss provides the losses of linear models: the value, slope, conjugate and dual step of each. New
// returns a Loss by name; a Problem is what a learner minimises.
//
//	name                 ℓ(y, s)                   for
//	squared              ½(s − y)²                 classes, targets
//	logistic             log(1 + exp(−ys))         classes
//	softmax              log Σ exp s_c − s_y       classes, all scores together
//	hinge                max(0, 1 − ys)            classes
//	squared_hinge        max(0, 1 − ys)²           classes
//	huber                ½r² up to ε, ε|r| − ½ε²   targets, r = s − y
//	epsilon_insensitive  max(0, |r| − ε)           targets
//
// Classes are coded one-vs-all: output c has y = 1 for rows of class c and −1
// for the others, and the loss of a row is the sum over its outputs.
package loss
