// Package prepare profiles the data of a job and derives from the profile what training needs: the types of
// columns, the target, the folds and the recipe of features.
//
// Data runs the profile pass for options.Prepare and returns a Prepared. ProfileByRecipe does so with the recipe of a
// model. A Session is a job with a Prepared: it runs further passes before the fit, which count copies of rows,
// sum labels to encode categories, and sample rows. The order is New, Session.EncodeLabels, Session.CountCopies, and
// then passes with folds. A Recipe is made from the options of a kernel, a chain of preprocessing steps (Scaling)
// and the statistics of the profile.
//
// The profile pass adds up a profile.Sum, whose result is a profile.Profile. ProfileRows returns the sum with other
// results of the pass as a PassResult; Prepared has those that later steps need. A model directory
// records them as sums.Profile, and a manifest as models.Profile.
package prepare
