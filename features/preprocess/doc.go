// Package preprocess provides the steps of a recipe that precede a random map. Columns of a table become
// numbers; numbers are scaled or transformed by a metric; images are cropped, whitened or described by
// gradients and patches; and features of single columns are joined with features of whole rows. Each step
// is a recipe that maps rows of one length to rows of another, so a features.Chain combines them:
//
//	cifar := preprocess.ImageShape{Height: 32, Width: 32, Channels: 3, Planar: true}
//	features.Chain{Steps: []features.Recipe{
//		preprocess.HoG{Shape: cifar, Cell: 4, Orientations: 8},
//		fourier.Gaussian{In: 512, …},
//	}}
//
// Equal recipes give equal bits for equal rows on every machine: each operation is rounded once, sums
// run in one order in float64, and no product is fused with a sum.
//
// # Columns
//
// Columns is the first step for tables. A row of a table has one slot for each value that package schema
// stores: a number, 0 or 1 for a boolean, the index of a level for a category, and NaN for a missing value.
// The step turns them into numbers, which are never NaN.
//
// A one-hot slot becomes one number for each level: the weight w for the row's level and 0 for the others.
// So the squared distance of two rows that differ only in this category is
//
//	2w²   between two levels, which may include "missing" and "other"
//	w²    between a level and one that no training row has, which is all zeros
//
// and rows that differ in k categories are w·√(2k) apart. Other columns have variance 1 after
// standardisation, so that two random rows have a squared distance of 2 on average in each. The numbers of
// categories are not scaled: standardising them would give a level that one row in a thousand has a
// thousand times the influence that w² intends.
//
// # Scalings
//
// Standard, MinMax, Divide, Clip, NormalScores and Unit map d numbers to d numbers. Their kernel is the
// inner product of the scaled rows. They can work in place: dst and x may be the same slice.
//
// # Metrics
//
// Metrics are linear maps of rows. The kernel of the map that follows then measures distances in another
// metric than the Euclidean one:
//
//	K(Ax, Az),   which for the Gaussian kernel is exp(−(x−z)ᵀM(x−z)/2σ²) with M = AᵀA
//
// A diagonal A weighs columns; a full A also rotates and mixes them. Package agop learns A from data. The
// sealed recipe of a full metric has the SHA-256 of a file, not the matrix: to open it, give the file with
// features.Sealed.WithFiles. EncodeMetric encodes the file, and MetricOf returns its recipe.
//
// # Images
//
// Images are cropped, converted to grey and whitened, and described by gradients or projections of patches.
// An image gives the same values in either layout (pixel by pixel or plane by plane).
//
// # Single columns
//
// Bins are features of single columns: indicators of intervals, or hat functions, whose sums are the
// piecewise-linear functions. A Join combines them with random features, so that a model can fit rough
// effects of single columns, which a kernel over all columns would smooth.
package preprocess
