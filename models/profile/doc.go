// Package profile computes the profile of a data set in one pass: the range and the moments of
// every column, the longest row, the labels, and a sample of rows.
//
// A pass creates a Sum with New, or with NewTable if columns may be categories, adds blocks and
// labels, and merges the Sums of its readers. Sum.Result is the Profile, Sum.Statistics describes
// the rows for comparison with later data, and Sum.Sample returns rows. Scales, kernel widths and
// the list of classes follow from the profile, and so models depend on it. A Sum is therefore an
// exact function of the rows, whatever their order and however they were cut into blocks and parts.
//
// # Folds
//
// An Assigner gives each row a hash that decides its fold: by a FoldRule if groups, times or a
// column decide, and otherwise by the content of the row and the seed. The folds of a data set do
// not depend on the order of its rows or on how its files are cut.
//
// By content, the hash of its numbers decides the fold of a row. So equal rows share a fold, and no model is judged
// on copies of rows that it was fitted to. Tables of at most Few different rows are the exception. If all copies of a
// row were in one fold, a model would be judged on rows that its training rows say nothing about. There, the content
// (numbers, label, weight) and k decide the fold of copy k, as if k were one more column. Copies are equal, so their
// numbering does not matter.
//
// Assigning the copies of each content in turn would make folds more equal. But the training rows would then have the
// label proportions of the held-out rows, and held-out errors of coin flips would be below one half.
//
// The profile pass counts different rows up to Few (DistinctRows). Only if there are no more, another pass counts
// contents by shard (ContentCounts), so that copies can be numbered in every shard (Copies).
//
// # Weights
//
// The weight of a row says how much it counts: a row of weight 3 counts as three rows of weight 1 in the loss, in
// moments and in scores. Only ratios of weights matter, because λ is relative to the mean loss, Σ wℓ/Σ w. A row of
// weight 0 is not used. Weights are rounded to float32. A pass collects a WeightSum. Exact sums take weights as whole
// numbers of a WeightGrid; a WeightCollector collects blocks for them.
package profile
