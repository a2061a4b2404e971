// Package prepare profiles the data of a job and derives from the profile what training needs: the types of
// columns, the target, the folds and the recipe of features.
//
// Data runs the profile pass for a Spec and returns a Prepared. ProfileByRecipe does so with the recipe of a
// model. A Session is a job with a Prepared: it runs further passes before the fit, which count copies of rows,
// sum labels to encode categories, and sample rows. recipeOf makes a Recipe from the options of a kernel, a
// chain of preprocessing steps (Scaling) and the statistics of the profile.
package prepare
