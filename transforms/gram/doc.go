// Package gram sums the Gram matrices of features in Beam pipelines, and solves for the weights of
// a model. A Pass describes the work (its Spec: recipe, folds, grid), and a State names the files
// that lead from the rows to the weights. The steps are:
//
//  1. Sums reads all rows once. Each reader maps its rows to features, adds them
//     to one ridge.Sum per fold, and stores these sums in files, cut into parts.
//  2. Merge adds the parts with the same key from all readers. This is exact, so the order does not
//     matter.
//  3. Index writes the list of the merged parts and the reports of the shards. The sum is then
//     complete.
//  4. Solve chooses λ and computes the weights on one worker.
//
// For few rows, readers store the rows themselves instead of sums (Spec.Rows).
//
// An Accumulator sums rows from any source, without Beam. StoredSums reads merged parts, and a SumsWriter
// writes them. An Audit reads the rows again, to check stored sums.
package gram
