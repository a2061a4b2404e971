package features

import "github.com/bochner-ml/bochner/internal/blas"

// MaxRows is the largest number of rows of a Grid: few enough that sums of products
// of numbers of 8 bits are exact in float32.
const MaxRows = blas.MaxRows

// ByteSteps is the number of steps from 0 to the bound on a grid of 8 bits.
const ByteSteps = blas.MostByte

// MaxSteps is the largest number of steps that a feature on a grid can have: 32,384.
const MaxSteps = blas.MaxSteps

// Grid is a block of up to MaxRows rows of features, each of them a whole number of
// steps. The layout is that of the kernels that multiply such blocks, so At is for
// tests and for looking at a few numbers.
//
// A map of one's own implements Gridded by OnGrid, or by Resize and QuantizeRows.
type Grid blas.Bytes

// NewGrid returns an empty block of rows of so many features, on a grid of that many
// steps from 0 to the bound. It panics if the number of features is negative, or that of
// steps is not 1 to MaxSteps.
func NewGrid(features, steps int) *Grid { return (*Grid)(blas.NewGrid(features, steps)) }

func (g *Grid) bytes() *blas.Bytes { return (*blas.Bytes)(g) }

// N returns the number of rows.
func (g *Grid) N() int { return g.bytes().N() }

// D returns the number of features of a row.
func (g *Grid) D() int { return g.bytes().D() }

// Most returns the number of steps from 0 to the bound: ByteSteps on a grid of 8 bits.
func (g *Grid) Most() int { return g.bytes().Most() }

// At returns feature j of row i, in steps. It panics if there is none.
func (g *Grid) At(i, j int) int { return g.bytes().At(i, j) }

// Resize makes it a block of n rows, whose numbers are undefined until QuantizeRows has
// stored them. It panics if n is beyond MaxRows.
func (g *Grid) Resize(n int) { g.bytes().Resize(n) }

// Quantize makes it the block of the n ≤ MaxRows rows of z (n×D), each number rounded
// to a whole number of steps, ties to even. Numbers beyond the bound are as exact as
// others, up to MaxSteps steps; there they are cut. It returns how many
// were. NaN gives 0 and counts as cut. It panics unless bound is positive and finite.
func (g *Grid) Quantize(z []float32, n int, bound float32, threads int) (saturated int64) {
	return g.bytes().Quantize(z, n, bound, threads)
}

// QuantizeRows stores the rows of z (rows×D) as rows first to first+rows−1, as Quantize
// does. Rows come in fours: it panics unless first is a multiple of 4, and so is rows if
// others follow. Calls for different rows may run at the same time.
func (g *Grid) QuantizeRows(first int, z []float32, rows int, bound float32) (saturated int64) {
	return g.bytes().QuantizeRows(first, z, rows, bound)
}
