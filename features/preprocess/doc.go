// Package preprocess provides the steps of a recipe that precede a random map. Columns of a table become
// numbers, numbers are scaled or turned by a metric, images are cropped or whitened, and maps of single
// columns join steps of whole rows. Each step is a recipe that turns a row of one length into a row of
// another, so a features.Chain combines them:
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
// Columns is the first step for tables. A row of a table has one slot for each value that package
// schema stores: a number, 0 or 1 for a boolean, the index of a level for a category, and NaN where the
// value is missing. The step makes numbers of them, which are never NaN.
//
// A one-hot slot becomes one number for each level: the weight w for the row's level and 0 for
// the others. So the squared distance of two rows that differ in nothing but this category is
//
//	2w²   between two levels, of which "missing" and "other" may be two
//	w²    between a level and one that the training rows never had, which is all zeros
//
// and a kernel of width σ sees rows that differ in k categories at the distance w·√(2k). The
// numbers are compared with other columns, which have variance 1 after standardisation, so
// that two random rows have a squared distance of 2 on average in one of them. Scalings of columns
// therefore do not apply to the numbers of categories: to standardise them would weigh a
// level that one row in a thousand has a thousand times as much as w² says.
//
// # Scalings
//
// Standard, MinMax, Divide, Clip, NormalScores and Unit map a row of d values to a row of d values.
// Their kernel is the inner product of the scaled rows. They may write to the rows they read (dst
// and x the same slice).
//
// # Metrics
//
// Metrics are linear maps of rows, so that the kernel of the map that follows measures distances in
// another metric than the Euclidean one of the columns:
//
//	K(Ax, Az),   which for the Gaussian kernel is exp(−(x−z)ᵀM(x−z)/2σ²) with M = AᵀA
//
// A diagonal A weighs columns, a full one also turns and mixes them. Package agop learns A from data.
// The recipe of a full metric holds the SHA-256 of a file, not the matrix: EncodeMetric writes the file,
// and ProvideMetric makes it available to every recipe of this process with that hash. Provide the file
// before opening a sealed recipe; otherwise New fails.
//
// # Images
//
// Images are cropped, greyed and whitened, and become gradients or projections of patches. The same
// image in either layout (pixel by pixel or plane by plane) gives the same values.
//
// # Single columns
//
// Bins are features of single columns: indicators of intervals, and hat functions, whose sums are the
// piecewise-linear functions. A Join puts them beside random features, so that a model fits rough
// effects of single columns, which a kernel over all columns smooths away.
package preprocess
