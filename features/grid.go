package features

import (
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/option"
)

// MaxRows is the largest number of rows of a Grid: it keeps sums of products of 8-bit
// numbers exact in float32.
const MaxRows = blas.MaxRows

// ByteSteps is the number of steps from 0 to the bound on an 8-bit grid.
const ByteSteps = blas.MaxByte

// MaxSteps is the largest magnitude of a feature on a grid, in steps: 32,384.
const MaxSteps = blas.MaxSteps

// Grid is a block of up to MaxRows rows of features, each a whole number of steps. The memory layout suits
// the matrix kernels, so At is slow; use it for tests and inspection. To implement Gridded, call OnGrid, or
// Resize and QuantizeRows.
type Grid blas.Bytes

// NewGrid returns an empty block for rows of the given number of features, on a grid with the given number of
// steps from 0 to the bound. It panics if features is negative or steps is not between 1 and MaxSteps.
func NewGrid(features, steps int) *Grid { return (*Grid)(blas.NewGrid(features, steps)) }

func (g *Grid) bytes() *blas.Bytes { return (*blas.Bytes)(g) }

// N returns the number of rows.
func (g *Grid) N() int { return g.bytes().N() }

// D returns the number of features of a row.
func (g *Grid) D() int { return g.bytes().D() }

// Steps returns the number of steps from 0 to the bound: ByteSteps on an 8-bit grid.
func (g *Grid) Steps() int { return g.bytes().Most() }

// At returns feature j of row i, in steps. It panics if i or j is out of range.
func (g *Grid) At(i, j int) int { return g.bytes().At(i, j) }

// Row stores the features of row i, in steps, in dst. It panics if i is out of range, or if the length of
// dst is not D.
func (g *Grid) Row(dst []int16, i int) { g.bytes().Row(dst, i) }

// Resize sets the number of rows to n. Their values are undefined until QuantizeRows
// stores them. It panics if n is more than MaxRows.
func (g *Grid) Resize(n int) { g.bytes().Resize(n) }

// Columns calls fill with a block of n columns on the same grid, in which fill must store as many rows as g
// has. It makes its columns the columns of g from first on. It panics if there are no such columns, or if
// fill stores another number of rows. It must not be called concurrently.
func (g *Grid) Columns(first, n int, fill func(part *Grid)) {
	g.bytes().Columns(first, n, func(part *blas.Bytes) { fill((*Grid)(part)) })
}

// Quantize stores the n ≤ MaxRows rows of z (n×D), each value rounded to a whole number of steps,
// ties to even. Values beyond the bound are as exact as others up to MaxSteps steps, where they are
// clipped. It returns the number of clipped values. NaN becomes 0 and counts as clipped. It panics
// unless bound is positive and finite.
func (g *Grid) Quantize(z []float32, n int, bound float32, threads int) (saturated int64) {
	return g.bytes().Quantize(z, n, bound, threads)
}

// QuantizeRows stores the rows of z (rows×D) as rows first to first+rows−1, as Quantize does. It panics
// unless first is a multiple of 4, and rows too, unless these are the last rows. Calls for different rows
// may run concurrently.
func (g *Grid) QuantizeRows(first int, z []float32, rows int, bound float32) (saturated int64) {
	return g.bytes().QuantizeRows(first, z, rows, bound)
}

// Bits is the number of bits of a grid of features, or auto.
type Bits string

// Values of Bits; "" means AutoBits.
const (
	AutoBits Bits = "auto"
	Bits8    Bits = "8"
	Bits16   Bits = "16"
)

// Validate returns an error unless b is one of the values.
func (b Bits) Validate() error {
	switch b {
	case "", AutoBits, Bits8, Bits16:
		return nil
	}
	return option.Errorf("grid", "must be auto, 8 or 16 (have %q)", string(b))
}

// Steps returns the initial number of grid steps: ByteSteps, or fine. Auto takes fine if the number of
// products, rows × D², is at most few, or if features are wide, each with its own range (see Ranged).
func (b Bits) Steps(products, few float64, wide bool, fine int) int {
	if b != Bits8 && (b == Bits16 || wide || products <= few) {
		return fine
	}
	return ByteSteps
}
