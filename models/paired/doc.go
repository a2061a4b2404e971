// Package paired compares two models on the same rows.
//
// Two similar models predict most rows in the same way. The difference of their scores is therefore known
// much better than either score: only the rows on which they differ matter. A Sum collects these. It
// compares errors by counting such rows (Pairs), and losses by the moments of their differences (losses).
// Counts and sums are exact, so results do not depend on the order of the rows or on how they were cut, and
// results of several workers can be merged. Sum.Report compares the models by all metrics, and Sum.Decide
// decides a Condition.
//
// The two models are called the champion and the challenger. A difference is always the
// challenger's score minus the champion's, and all scores are losses: a difference above 0 means
// that the challenger is worse.
package paired
