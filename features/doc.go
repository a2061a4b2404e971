// Package features defines feature maps (Map) and the recipes from which they are drawn (Recipe). Subpackages contain
// the maps themselves.
//
// A recipe is a struct of a few numbers. It passes through these steps:
//
//	var recipe features.Recipe = fourier.Gaussian{In: 2, Out: 512, Width: 1.5, Seed: 1}
//	sealed, err := features.Seal(recipe) // plain data, for a model file or a worker
//	recipe, err = sealed.Open()          // the same recipe, on another machine
//	m, err := recipe.New()               // draws the map, the same one everywhere
//	m.Apply(z, x, n)                     // float32 features of n rows, for predictions
//
// Open knows the recipes of all packages that the program imports, because each package calls Register. A Chain is
// the recipe of several maps, one after the other: preprocessing, then features.
//
// Some maps implement further interfaces:
//
//   - A Gridded map writes features to a Grid of whole numbers of 8 or 16 bits (Quantize). Sums of their products
//     are exact in any order, so training uses Quantize, and prediction uses Apply.
//   - A Ranged map is Gridded, and each feature has a grid of its own, such as each column of raw data.
//   - A Hasher also maps a row to a few words of bits. Similar rows differ in few bits.
//   - A ShortForm lists only those columns of a row that are not zero, such as the levels of categories: with one
//     number followed by one-hot columns, (0.3, 0, 0, 1, 0, 1, 0) becomes (0.3, 2, 4). A ShortFormRecipe draws maps
//     of such rows, which take less time for the same features. A Chain uses them where that is faster.
//
// In a row, NaN means a missing value to a MissingTaker, such as the first step of preprocessing. Other maps compute
// with it: features that depend on it become NaN in Apply; Quantize stores 0 and counts them.
package features
