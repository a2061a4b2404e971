// Package training trains models: it fits weights by exact sums and a solve, or by rounds of an iterative
// learner, publishes the model directory, and describes the model in a Result.
//
// Run is the whole job: Begin opens and profiles the data, and a Training passes through the stages of Run,
// which set its fields. ByRecipe trains with the recipe of another model on rows (Begin, SumRows) or on stored
// sums (BeginAdded, SolveSums).
package training
