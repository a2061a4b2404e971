// Package training trains models: it fits weights by exact sums and a solve, or by rounds of an iterative learner.
//
// Run is the whole job, in this order:
//
//  1. spec.Options.Complete sets the defaults that do not depend on rows.
//  2. Begin opens and profiles the data. Training.resolve then sets the options that depend on the rows.
//  3. Training.chooseFeatures learns or searches features, if the options ask for it.
//  4. Model.fitSize chooses the number of features, if the options ask for it, and fits the weights.
//  5. Model.finish publishes the model directory and describes the model as results.Train.
//
// A Training is the state that these steps share; whoever calls Begin closes its Job. Its spec is complete after
// resolve. Later steps change only four options: Search, if a search does not apply to the rows; Select, after
// a search; the time that is left for rounds; and the grid, for each number of features. Steps 3 and 4 replace the
// recipe in Prepared, Reserve drops from Prepared what no later step needs, and every step may add notes. All other
// results of a step are in its FeatureChoice, Fit or Model.
//
// A fit by sums (sumsPlan.fit) reads the rows once, adds up sums for each fold, and solves for each λ from these. It
// may read the rows again, on a finer grid or to score the trials. A fit by rounds (roundFit.fit) reads them in every
// round, for several values of λ at once, and then fits the chosen one to all rows.
//
// Both end with calibrator.fitOutputRules: on the first fold, with weights that were fitted without it, it chooses
// probabilities, threshold and intervals. Training.willCalibrate decides whether a classifier gets probabilities.
//
// A RecipeJob has the recipe of another model. It sums rows (ByRecipe.Begin, SumRows) or takes stored sums
// (BeginAdded), and fits models to sums (SolveSums).
package training
