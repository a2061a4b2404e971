// Package prepare profiles the data of a job and decides what follows from the profile: the
// target, the recipe of features, and the folds of repeated rows. A Recipe is made from the options of a
// kernel, a chain of scalings, and the results of the profile.
package prepare
