// Package days keeps models up to date with data that arrives in parts, such as a directory per day.
//
// A day is the set of files that --data matches for a date, with a digest of their names, sizes and versions. A
// recipe describes how rows become features and sums, and how sums become a model. Each recipe has a directory with
// the sums of its days and an index of them (retrain_index.go). A lineage lists the days that a model was made from,
// and the day that judged it. The held-out day is the newest day that the champion has not seen; with --held_out,
// fixed files judge instead. A reference recipe is a small recipe that is drawn from one day, or from all, to compare
// days when there is no recipe.
//
// Retrain decides in this order:
//
//  1. Stop if the champion was made for this day from the same data, or for a later day.
//  2. If there is no champion, or if it is unknown on which days it was trained, or if its learner does not train by
//     sums: keep the days with small drift from a reference recipe (retrain_days.go), hold out the newest, train a
//     model with a new recipe on the others, and continue at 6.
//  3. Sum new days by the champion's recipe (retrain_by_recipe.go). Leave out days with unusable data, copies of
//     another day, and days that drift by more than --max_drift. Stop if this leaves out the day of the run.
//  4. Hold out a day, and choose the window if it is automatic. Stop if no day can judge, or if the champion was
//     trained on exactly the remaining days.
//  5. Fit a model to the sums. But train a model with a new recipe if the rows of all remaining days together drift
//     by more than --redraw, or if the recipe does not fit them.
//  6. Compare the model with the champion on the held-out rows, unless the two are equal byte by byte. If it passes
//     all gates, promote it by a compare-and-swap in the registry.
//
// Then Retrain prunes sums (retrain_prune.go) and writes a report (retrain_report.go). Each step creates a directory,
// complete or not at all, whose name has a hash of its inputs, so a repeated run continues at the first missing step.
//
// The other jobs work on sums: Sum (sum.go) creates them. Fit and AddSums add and subtract them (sum_fit.go). Forget
// and VerifyForgotten remove rows from a model (sum_forget.go, sum_rowhashes.go). Prune removes old sums
// (sum_prune.go).
package days
