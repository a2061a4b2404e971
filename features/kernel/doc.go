// Package kernel is the registry of kernel families: their names, their options, and
// how to make a recipe from options and data.
//
// A family is a package that registers itself next to its recipe:
//
//	func init() {
//		features.Register("fourier.gaussian", features.Decode[Gaussian])
//		kernel.Register(kernel.Family{Name: "gaussian", New: func() kernel.Options { return &GaussianOptions{} }})
//	}
//
// A program that imports the package can train with the family and has its flags and help.
//
// # Widths
//
// MedianWidth chooses the width σ of a kernel from a sample of rows, and FromGamma converts
// the γ of other programs.
//
// # Bounds
//
// A Bound limits the error of inner products of random Fourier features. It gives the number of features
// that suffices for an error of ε with probability 1−δ. Features are counted as in a map: the paired form
// has two for each frequency.
//
// All bounds follow from one inequality (Hoeffding 1963): the average of n independent
// terms in an interval of width w differs from its expectation by t or more with probability at most
// 2 exp(−2nt²/w²). With D features the estimate of one pair of rows is a mean of
//
//	paired:  D/2 terms cos ω·(x−z), of width 2:               2 exp(−Dε²/4)
//	offset:  D terms 2 cos(ω·x+b) cos(ω·z+b), of width 4:     2 exp(−Dε²/8)
//
// The bounds use only E‖ω‖² of the kernel, and are therefore loose: measured errors are smaller, and
// learning needs even fewer features.
package kernel
