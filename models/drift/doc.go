// Package drift measures how far rows have moved from those that a model or a recipe was made
// from: column by column, from counts, and in the model's own features, from exact sums.
//
// A distance is between 0, the same, and 1. Beside each is the distance that is certain: at least
// so far apart are what the two sets of rows are drawn from, with confidence 95 % for all columns
// at once. If nothing has moved, it is 0 for all columns in at least 95 % of all cases, however
// many columns there are. A bound on the certain distance therefore raises few false alarms, and
// unlike a p-value it does not fail for a small change because there are many rows.
package drift
