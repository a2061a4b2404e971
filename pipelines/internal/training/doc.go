// Package training trains models: it fits weights by exact sums and a solve, or by rounds of an iterative
// learner, publishes the model directory, and describes the model in a Result.
//
// Run is the whole job. Begin opens and profiles the data. Each further stage returns its result: how features
// were Found, the Fit, and the Model that is published. A RecipeJob has the recipe of another model. It sums rows
// (ByRecipe.Begin, SumRows) or takes stored sums (BeginAdded), and fits models to sums (SolveSums).
package training
