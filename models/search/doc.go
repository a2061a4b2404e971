// Package search chooses features for a table: how columns are prepared, the kernel, its width, and a learned
// metric. It works on a Pilot, a sample of the training rows with their labels. Run takes a Pilot and Options,
// and returns a Result with the preparation steps and the kernel of the best Candidate.
//
// A Candidate names a View (steps that prepare the columns, such as standardisation), a kernel, its width as a
// multiple of the median distance, a metric, and additional features. The pilot has five folds. A trial fits
// ridge regression to the rows outside one fold and measures the loss on that fold, for one or more folds.
//
// The search is successive halving (Jamieson and Talwalkar 2016): one to three rungs, each with more rows and
// fewer candidates. With few rows, kernels are tried without features, as exact kernel ridge regression on a
// kernelMatrix. The steps are:
//
//  1. screen tries the kernels in the first view, and the best of them in the other views. In some views, the
//     values of numeric columns are levels, like the values of a category.
//  2. metrics learns metrics from average gradient outer products (package agop); products learns them from pairs
//     of columns that matter only together (package pairs).
//  3. rougher and widths vary the kernel and the width of the best candidate.
//  4. addPair adds a narrow kernel of two columns, and addPiecewise piecewise-linear columns. pairOfResiduals looks
//     for pairs in the residuals of the best candidate, where strong terms of other columns do not hide them.
//  5. simplest chooses among candidates whose losses differ by at most half a standard error of the difference,
//     row by row. confirm tries its choice with random features, landmarks with kernel values at rows as features.
//
// The result is a function of the pilot and the options: it does not depend on threads, and no clock is read
// unless Options.Stop does so. A reported loss is the smallest of many, hence optimistic: published errors must
// come from rows outside the pilot.
package search
