// Package search finds how rows should become features, from a pilot: a sample of the training
// rows with their labels.
//
// A Candidate says how columns are viewed (standardised, clipped, some of them as levels, …), which
// kernel is used, at which multiple of the median distance, in which metric and beside which other
// terms. It is tried with few features on some of the pilot's rows, and judged by its loss on pilot
// rows that it was not fitted to. Candidates that do well are tried again with more rows and more
// features (successive halving, Jamieson and Talwalkar 2016), and their metric is learned from the
// training rows of the pilot (package agop). Then functions of single columns, and a narrow kernel
// of two of them, are put beside the best ones. If a narrow kernel does not help, residuals may show
// two columns that strong terms of others hide (package pairs). Of candidates whose losses differ by
// less than half a standard error of the difference, row by row, the simpler one is chosen.
//
// Everything is a function of the pilot and the options: unless Options.Enough ends it, no clock is
// read, and threads do not change a bit. The losses are of the best of many candidates, so they are
// optimistic; errors to be published must come from rows outside of the pilot.
//
// Labels of numbers that name things jump from each value to the next, labels of numbers that measure
// mostly do not. A KernelMatrix is of a kernel that is a function of the distance of two rows: few rows
// allow kernel methods without features.
package search
