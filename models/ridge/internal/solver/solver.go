package solver

import (
	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
)

// Shape describes a system with D features and k outputs. Its sum has Width columns of cross products and
// Head numbers in its head.
type Shape struct{ Dim, Outputs, Width, Head int }

const (
	// SubsetFrom is the number of features from which λ is first found on a subset of them, if there are more
	// than SubsetValues values. With fewer, all values are tried on all folds.
	SubsetFrom   = 1024
	SubsetValues = 3

	// SubsetFolds is the most folds whose sums over a subset of the features are in memory together.
	SubsetFolds = 16

	// The subset has one of SubsetShare features.
	SubsetShare = 4
)

const (
	// Numbers of features from which a descent costs less than a float64 factorisation: in all, for each
	// output, and for each output if descents share a factor.
	DescentDim       = 1024
	descentPerOutput = 80
	sharedPerOutput  = 256

	// descentRows is the number of rows per feature from which the rows outside a fold are similar to all
	// rows. With M = G_c + μI of all rows, the eigenvalues of M⁻¹(G_c' + μ'I) without one of 5 folds are
	// between about 0.4 and 1. So one factor of M serves every fold, in a dozen steps.
	descentRows = 6

	// MaxFactors is the most factors in memory together.
	MaxFactors = 3
)

// Method says how the systems of folds are solved.
type Method int

const (
	Exactly      Method = iota // by a float64 factor of each
	OwnFactor                  // by a float32 factor of each, and a few steps of a descent
	SharedFactor               // by descents that share a float32 factor of all rows for each λ
)

// Plan says which rows are held out to choose λ.
type Plan struct {
	Folds     int  // the number of sums; with fewer than 2 no rows are held out
	FirstOnly bool // only the first fold is held out
}

// MethodFor returns the cheapest method for a number of rows. If only the first fold is held out, a factor of all
// rows does not pay.
func (p Plan) MethodFor(shape Shape, rows int64) Method {
	switch d, k := shape.Dim, shape.Outputs; {
	case d < DescentDim || d > RereadAbove:
		return Exactly
	case !p.FirstOnly && d >= sharedPerOutput*k && rows >= descentRows*int64(d):
		return SharedFactor
	case d >= descentPerOutput*k:
		return OwnFactor
	}
	return Exactly
}

// StoresRows reports whether rows are so few that they are stored and the dual problem is solved.
func StoresRows(shape Shape, rows int64) bool {
	most := int64(shape.Dim)
	if shape.Dim > RereadAbove {
		most /= fewShare // more of them take as much memory as a sum
	}
	return shape.Dim >= SubsetFrom && rows <= most
}

// SubsetOf returns the features of the subset, ascending: the first of each tile, so that all kinds of features
// are in it, whether kinds alternate or are contiguous.
func SubsetOf(dim int) []int {
	var subset []int
	for i := 0; i*blas.TileDim < dim; i++ {
		rows := blas.TileRows(dim, i)
		for j := range (rows + SubsetShare - 1) / SubsetShare {
			subset = append(subset, i*blas.TileDim+j)
		}
	}
	return subset
}

// RereadAbove is the number of features above which only one sum is in memory while λ is chosen.
const RereadAbove = 1 << 14

// fewShare is the least number of features per row at which rows count as few above RereadAbove.
const fewShare = 10

// FewTries is the number of stored rows up to which all values of λ are tried on all folds.
const FewTries = 1024

// Folds is the usual number of folds of a cross-validation.
const Folds = 5

// Bytes returns the memory of a sum.
func (s Shape) Bytes() int64 {
	return 8*(int64(s.Head)+int64(s.Dim)*int64(s.Width)) + blas.TileBytes(s.Dim, 8)
}

// Memory implements ridge.Memory.
func Memory(shape Shape, p Plan, rows int64, threads int) int64 {
	d, k := int64(shape.Dim), int64(shape.Outputs)
	if p.Folds > 1 && shape.Dim > RereadAbove {
		return rereadMemory(shape, p, rows, threads)
	}
	bytes := shape.Bytes() + 2*8*d*k + 4*d*k
	if p.Folds > 1 {
		fold, forms := shape.Bytes(), k
		descent := blas.TriangleBytes(shape.Dim) + 7*8*d*k
		method := p.MethodFor(shape, rows)
		// The last system is solved in the memory of the sum. The matrix of a fold has its own memory.
		if method == Exactly {
			bytes += blas.TileBytes(shape.Dim, 8)
		} else {
			bytes += blas.SymmetricBytes(shape.Dim, MaxFactors*shape.Outputs)
		}
		if method == SharedFactor || rows == 0 && p.MethodFor(shape, descentRows*d) == SharedFactor {
			// The factors are computed in float32 tiles while the last fold is in memory.
			fold += max(blas.TileBytes(shape.Dim, 4)+MaxFactors*blas.TriangleBytes(shape.Dim), MaxFactors*descent)
			forms *= MaxFactors
		} else if method == OwnFactor {
			fold += blas.TileBytes(shape.Dim, 4) + descent + 3*8*d*k
		}
		if d >= SubsetFrom && p.Folds <= SubsetFolds {
			subset := shape
			subset.Dim = len(SubsetOf(shape.Dim))
			fold = max(fold, shape.Bytes()+int64(p.Folds)*subset.Bytes()+Memory(subset, p, rows, threads))
		}
		bytes += fold + 8*d*k + heldOutBytes(shape.Dim, int(forms))*int64(max(threads, 1))
	}
	return bytes
}

// MemoryOfRows implements ridge.MemoryOfRows.
func MemoryOfRows(shape Shape, rows int64, folds, threads int) int64 {
	d, k := int64(shape.Dim), int64(shape.Outputs)
	block := int64(min(rows, features.MaxRows)) * d * (4 + 4) // as float32 numbers and on the grid
	subset := shape
	subset.Dim = len(SubsetOf(shape.Dim))
	subsetBytes := rows*int64(subset.Dim)*2 + int64(folds)*subset.Bytes() +
		Memory(subset, Plan{Folds: folds}, rows, threads)
	search := dualBytes(rows, shape.Dim, shape.Outputs, folds, threads, subsetBytes) + 8*d*min(d, blas.TileDim)
	// Sorting the rows needs a second copy of them.
	return 4*rows*d + block + int64(folds)*8*d*int64(shape.Width) + 8*rows*k + 3*8*d*k + max(search, shape.Bytes())
}

// rereadMemory is Memory above RereadAbove features, with several folds.
func rereadMemory(shape Shape, p Plan, rows int64, threads int) int64 {
	d, k, side := int64(shape.Dim), int64(shape.Outputs), int64(blas.TileDim)
	always := (4*8+4)*d*k + 8*d*(side+int64(shape.Width)) + heldOutBytes(shape.Dim, shape.Outputs)*int64(max(threads, 1))
	var small, search int64
	if p.Folds <= SubsetFolds {
		subset := shape
		subset.Dim = len(SubsetOf(shape.Dim))
		small, search = int64(p.Folds)*subset.Bytes(), Memory(subset, p, rows, threads)
	}
	return always + max(shape.Bytes()+small, small+search)
}
