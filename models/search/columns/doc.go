// Package columns finds numeric columns that do not measure a quantity, because their values name or count things.
//
// The methods of a Pilot, a sample of rows, return preprocessing steps for a search to try:
//
//   - Named finds columns whose numbers name things, such as states, and returns their values as levels of a
//     category. It fits a linear model to the labels and compares the mean residual of each value with a line
//     between the means of the two neighbouring values. These jumps must explain 5% of the variance of the
//     residuals and 1% of the variance of the labels, and their standardised sum of squares must be 5. For
//     normal residuals chance exceeds 5 in up to 0.4% of columns with few values, and 0.02% with 100 values.
//   - Whole returns the values of all columns of whole numbers with 3 to 32 values as levels. It tests nothing.
//   - Differences finds pairs of such columns in the same units, such as coordinates on a board, where labels
//     depend on |x−z|. It subtracts functions of single columns from the labels. Its statistic is the χ² of the
//     mean residuals at each distance, transformed to a normal number. It must be at least 5 (chance exceeds
//     that for 3·10⁻⁷ of pairs) and a quarter of the largest, which must be 1.2 times as large as for x+z.
//
// These tests see all rows of the sample, also those by which the search compares its candidates. Therefore the
// thresholds are high.
//
// Entities finds columns that name the entity of a row, such as a patient. Rows of an entity should be in one fold.
// Its statistic is the intraclass correlation of rows with equal values. It must be above 0.9 for the label, or
// above 0.5 for most of the other columns. If the column has numbers, the correlation must also fall by a quarter
// when neighbouring values are joined. These are bounds on effects, not tests of significance.
package columns
