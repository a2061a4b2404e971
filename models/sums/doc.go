// Package sums makes training by exact sums repeatable on later data. Sums of some rows can be added and subtracted
// without changing a bit: the result, and the model that is fitted to it, are the same as for the remaining rows.
//
// A model directory holds the Recipe of its training: its features, folds, grids and values of λ, and statistics of
// the rows from which these were chosen (Profile). A directory of sums (Dir) holds the sums of some rows by a Recipe:
//
//   - A Manifest describes it.
//   - Each fold has a file (FoldFile), with the parts of its sum one after the other. A Frame is an encoded part.
//     A Writer writes frames, and a Reader reads them.
//   - A Leaf is a piece of the data that one job has summed: its files and the number of its rows. The total of
//     several directories has the leaves of all, so that no rows are added twice.
//   - A Segment contains separate sums for the rows with a value of some columns, such as country=DE.
//   - RowHashes identify the rows, so that no rows are subtracted that are not in the sums.
//   - CopiesFile counts the copies of frequent rows, whose folds are known only after all sums are added.
package sums
