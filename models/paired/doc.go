// Package paired compares two models on the same rows.
//
// Most rows are predicted alike by two models that are nearly the same. The difference of
// their scores is therefore known much better than either score: what counts are the rows on
// which they differ. Errors are compared by counting those rows, losses by the moments of
// their differences. Counts and sums are exact, so results do not depend on the order of the
// rows or on how they were cut, and results of several workers can be merged.
//
// The two models are called the champion and the challenger. A difference is always the
// challenger's score minus the champion's, and all scores are losses: a difference above 0 means
// that the challenger is worse.
package paired
