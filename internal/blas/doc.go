// Package blas holds the numerical kernels: products with packed weights (Weights), followed
// by cosines or sines; products with few outputs (Scores, Gradient); exact Gram matrices and
// sums of features of 8 or 16 bits (Bytes, Gram); and the Cholesky factorisation.
//
// # Bits
//
// Results do not depend on the instruction set (see ISA), on the
// number of threads or on how the rows are cut into calls. That holds because
// each number is defined as one expression whose order is fixed:
//
//   - an element of X·Wᵀ is a chain of fused multiply-adds over the row, in
//     order, which starts from the bias;
//   - products without packed weights (Dot, Dots, Scores, Gradient) name their
//     chains, and the order in which these are added;
//   - an element of a Cholesky factor, or of a solution, is a chain of fused
//     multiply-adds followed by one division or square root;
//   - cosines are a fixed chain after an exact reduction of the argument;
//   - sums of 8-bit features are sums of integers and so exact in any order.
//
// Every kernel has a twin in plain Go, which is the reference, and the only
// implementation on platforms without assembly or under the build tag purego.
//
// NaN is the exception: an element is NaN with all instruction sets or with none, but the sign and
// payload of the NaN depend on the platform.
//
// # Shapes
//
// Matrices are dense and row-major. A slice that is too short, a negative size or an index out of range
// is the caller's bug and panics. A slice may be longer than needed; the rest is neither read nor
// written. Sources and destinations must not overlap, unless the function says so.
//
// With fewer than 2 threads, the calling goroutine does all of the work.
package blas
