// Package days keeps models up to date with data that arrives in parts, such as a directory per day.
//
// Sum creates a directory with the exact sums of some rows, by the recipe of a model. Fit adds and
// subtracts such directories and fits a model. Forget removes rows from a model, Prune old sums.
//
// Retrain makes the model of a day from the days that changed, and decides whether it becomes
// champion. Each step creates a directory, complete or not at all, whose name has a hash of its
// inputs. So a repeated run continues at the first missing step, and does nothing if the day is
// done. The last step is the promotion, a compare-and-swap in the registry.
package days
