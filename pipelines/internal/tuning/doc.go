// Package tuning chooses the features of a training.
//
// Search runs package models/search on a pilot of a session's rows. A Game learns the features of the
// kernels learned and harmonic from labelled rows: it runs package models/align over the data of a session.
//
// A SizeSearch chooses the number of features: it doubles the number as long as
// held-out errors fall, or takes the number that the given time allows.
// Each size is a training of its own, so the model is byte for byte what a training with the chosen
// number makes. Sums of products grow with the square of the number, so all smaller sizes together
// cost about a third of the last. The sums of one pass with the largest number would hold the sums
// of the smaller, but it may be many times what is needed.
package tuning
