// Package ask answers questions about data from stored sums, without reading rows. With the Gram matrix G_p =
// Σzzᵀ, the cross products b_p = Σzy and Σy² of each part p of the data, the error of weights w is
//
//	n·MSE_p(w) = Σy² − 2wᵀb_p + wᵀG_p w,
//
// and weights for any set of parts take one solve with the sums of their G and b. So an answer is
// the same as from training on the rows of some parts and scoring the rows of others, with features
// on the grid of the recipe.
//
// Ask opens the sums (data), calls the function of a question, and returns its results.Ask. No error in
// an answer is measured on rows by which λ was chosen, except for results.Forgetting.Hindsight. backtest
// and window choose λ by the errors on earlier judged dates (prequentially). Their first date and
// other questions use cross-validation inside the training set: over up to five blocks of its parts,
// or over the folds of its only part.
package ask
