package blas

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
)

// isa holds the kernels for an instruction set. All fields do the same with every instruction set, bit for bit, unless
// their comment says otherwise.
//
// Vectors are counted in units of 16 columns. Slices are as long as the call needs and may be longer.
type isa struct {
	name string
	mapKernels
	gridKernels
	sumKernels
	thinKernels
	vectorKernels
	f64 dense[float64]
	f32 dense[float32]
}

// mapKernels make features of rows.
type mapKernels struct {
	// mul continues the chains c = init + x·w: for each of the rows and each of 16·vecs columns, k fused
	// multiply-adds in order. Row r of c, init and x starts at r·cs, r·is and r·xs; vector v of w at v·ws, its 16
	// columns side by side for each of the k steps. c may be init.
	mul func(c []float32, cs int, init []float32, is int, x []float32, xs int, w []float32, ws int, k, rows, vecs int)
	// cos stores scale·cos 2πt for the rows×16·vecs angles of src; with stream past the caches, where it can.
	cos func(dst []float32, ds int, src []float32, ss int, rows, vecs int, scale float32, stream bool)
	// cosSin stores scale·cos 2πt in dst and scale·sin 2πt in dst[sin:].
	cosSin func(dst []float32, ds, sin int, src []float32, ss int, rows, vecs int, scale float32, stream bool)
	// hadamard transforms x, of a power of two numbers.
	hadamard func(x []float32)
	// affine stores x_j·s_j + b_j in dst, or x_j·s_j if b is nil, for all of s.
	affine func(dst, x, s, b []float32)
	// slide replaces each element of rows×16·vecs of x, xs apart, by the larger of itself and the one shift places
	// on, in the order of memory, which may be in the next row. NaN is larger than all; of two zeros it may be
	// either.
	slide func(x []float32, xs, shift, rows, vecs int)
}

// gridKernels map features to the grid, for 4·quads rows of 16 columns, ss apart in src: byte 64q+4c+r is row
// 4q+r, column c.
type gridKernels struct {
	// cosBytes stores round(127·cos 2πt). NaN gives 0.
	cosBytes func(dst []int8, src []float32, ss, quads int)
	// cosSinBytes is cosBytes with the sines in sin.
	cosSinBytes func(cos, sin []int8, src []float32, ss, quads int)
	// quantize stores round(f·x), cut to ±127, and counts what was cut. NaN gives 0 and counts.
	quantize func(dst []int8, src []float32, ss, quads int, f float32) int64
	// split stores the limbs of round(f·x), cut to ±MaxSteps, and returns how many were cut, NaN included.
	split func(low, high []int8, src []float32, ss, quads int, f float32) int64
}

// sumKernels add products of features on the grid.
type sumKernels struct {
	// gram adds the products of 16 columns of z with 48 columns, over 4·quads rows, to g: 16 rows of 48, gs apart.
	gram func(g []float64, gs int, z *operand, a, b int)
	// expand fills what gram wants besides the block, panel by panel; nil if nothing. It may write the panel's
	// sums, and its words or packs if they are set.
	expand       func(z *operand, panel int)
	words, packs bool
	// classes adds row i of a panel of 16 columns to acc[16·class[i]:], for a multiple of four rows.
	classes func(acc []int32, panel []int8, class []int32)
	// targets stores in acc (k×16) the products of a panel with k targets over 4·quads ≤ targetRows rows. The
	// values of target t for rows 4q, 4q+2, 4q+1 and 4q+3 are y[q·ys+4t:].
	targets func(acc []int32, panel []int8, y []int16, ys, quads, k int)
}

// thinKernels multiply by matrices of few outputs.
type thinKernels struct {
	// scores stores X·Wᵀ, n numbers long, for some rows of x and of w.
	scores func(dst []float32, ds int, x []float32, xs int, w []float32, ws int, n, rows, outs int)
	// gradients add Cᵀ·X to g: outs columns of c by cols columns of x, a multiple of 16, over rows of both.
	gradient      func(g []float32, gs int, c []float32, cs int, x []float32, xs int, rows, cols, outs int)
	gradient64    func(g []float64, gs int, c []float64, cs int, x []float64, xs int, rows, cols, outs int)
	gradientMixed func(g []float64, gs int, c []float64, cs int, x []float32, xs int, rows, cols, outs int)
}

// vectorKernels compute with vectors of any length.
type vectorKernels struct {
	// exp replaces elements by their powers of e.
	exp func(x []float64)
	// dots stores in dst the products of a with vectors bs apart in b, of which there is at least one.
	dots func(dst, a, b []float64, bs int)
	dot  func(x, y []float32) float32
	axpy func(a float32, x, y []float32)
	// squares and absolutes store, for each row of x, xs apart, the sums of the squares or absolute values of its
	// differences from a over every fourth column, one after the other. a has whole fours.
	squares, absolutes func(dst []float64, a, x []float32, xs int)
	// floats stores whole numbers as float32, as many as src has.
	floats func(dst []float32, src []int16)
}

// real is a number that matrices are factored in.
type real interface{ float32 | float64 }

// dense holds the kernels of the factorisation.
type dense[T real] struct {
	// tile subtracts from the mr×nr elements of c the product of mr rows of a with the nr columns of the packed b,
	// each a chain of k steps.
	mr, nr int
	tile   func(c []T, cs int, a []T, as int, b []T, k int)
	// solve replaces the columns of x (n×32) by the solution of L·y = x, L being lower triangular with rows ls
	// apart.
	solve func(x, l []T, ls, n int)
	// factor replaces the first n columns of 32 rows, which are the rows of x (n×32), by the columns of the factor
	// of the matrix in the lower triangle of the first n rows. It returns the index of the first pivot that is not
	// positive, which it leaves in its place, or n. What lies above the diagonal becomes anything.
	factor func(x []T, n int) (pivot int)
	// columns stores the first of n columns of 8 rows of src, ss apart, as rows of dst, ds apart, and returns how
	// many.
	columns func(dst []T, ds int, src []T, ss, n int) int
}

// denseOf returns the kernels of l for numbers of type T.
func denseOf[T real](l *isa) *dense[T] {
	var d any = &l.f64
	if _, ok := any(T(0)).(float32); ok {
		d = &l.f32
	}
	return d.(*dense[T])
}

var current atomic.Pointer[isa]

// isas holds what this machine can run, the fastest first, plain Go last.
var isas = append(nativeISAs(), &goISA)

func init() {
	current.Store(isas[0])
	if name := os.Getenv("BOCHNER_CPU"); name != "" {
		// A worker must not fail if the CPU lacks the instruction set: all instruction sets give the same
		// numbers. ISA returns the instruction set in use.
		_ = SetISA(name)
	}
}

func active() *isa { return current.Load() }

// ISA returns the name of the implementation in use: "avx512", "avxvnni" or "avx2" on amd64, "i8mm",
// "dotprod" or "neon" on arm64, or "go". It is the fastest that the machine supports, unless the
// environment variable BOCHNER_CPU names another supported one; other values are ignored.
func ISA() string { return active().name }

// ISAs returns the names that SetISA accepts on this machine, best first.
func ISAs() (names []string) {
	for _, l := range isas {
		names = append(names, l.name)
	}
	return names
}

// SetISA selects the implementation to use from the next call on. It changes the speed
// but not the results. The error lists the names that this machine supports.
func SetISA(name string) error {
	for _, l := range isas {
		if l.name == name {
			current.Store(l)
			return nil
		}
	}
	return fmt.Errorf("blas: the instruction set %q is not available on this machine; have %s", name,
		strings.Join(ISAs(), ", "))
}
