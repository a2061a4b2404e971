package solver

import (
	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
)

// Bytes returns the memory of a sum.
func (s Shape) Bytes() int64 {
	return 8*(int64(s.Head)+int64(s.Dim)*int64(s.Width)) + blas.TileBytes(s.Dim, 8)
}

// Memory implements ridge.Memory.
func Memory(shape Shape, rows int64, folds, threads int, first bool) int64 {
	d, k := int64(shape.Dim), int64(shape.Outputs)
	if folds > 1 && shape.Dim > RereadAbove {
		return rereadMemory(shape, rows, folds, threads, first)
	}
	bytes := shape.Bytes() + 2*8*d*k + 4*d*k
	if folds > 1 {
		fold, forms := shape.Bytes(), k
		descent := blas.TriangleBytes(shape.Dim) + 7*8*d*k
		by := For(shape, rows, first)
		// The last system is solved in the memory of the sum. The matrix of a fold has its own memory.
		if by == Exactly {
			bytes += blas.TileBytes(shape.Dim, 8)
		} else {
			bytes += blas.SymmetricBytes(shape.Dim, MaxFactors*shape.Outputs)
		}
		if by == SharedFactor || rows == 0 && For(shape, DescentRows*d, first) == SharedFactor {
			// The factors are computed in float32 tiles while the last fold is in memory.
			fold += max(blas.TileBytes(shape.Dim, 4)+MaxFactors*blas.TriangleBytes(shape.Dim), MaxFactors*descent)
			forms *= MaxFactors
		} else if by == OwnFactor {
			fold += blas.TileBytes(shape.Dim, 4) + descent + 3*8*d*k
		}
		if d >= PartFrom && folds <= PartFolds {
			part := shape
			part.Dim = len(PartOf(shape.Dim))
			fold = max(fold, shape.Bytes()+int64(folds)*part.Bytes()+Memory(part, rows, folds, threads, first))
		}
		bytes += fold + 8*d*k + HeldOutBytes(shape.Dim, int(forms))*int64(max(threads, 1))
	}
	return bytes
}

// MemoryOfRows implements ridge.MemoryOfRows.
func MemoryOfRows(shape Shape, rows int64, folds, threads int) int64 {
	d, k := int64(shape.Dim), int64(shape.Outputs)
	block := int64(min(rows, features.MaxRows)) * d * (4 + 4) // as float32 numbers and on the grid
	part := shape
	part.Dim = len(PartOf(shape.Dim))
	parts := rows*int64(part.Dim)*2 + int64(folds)*part.Bytes() + Memory(part, rows, folds, threads, false)
	search := Bytes(rows, shape.Dim, shape.Outputs, folds, threads, parts) + 8*d*min(d, blas.TileDim)
	// Sorting the rows needs a second copy of them.
	return 4*rows*d + block + int64(folds)*8*d*int64(shape.Width) + 8*rows*k + 3*8*d*k + max(search, shape.Bytes())
}

// rereadMemory is Memory above RereadAbove features, with several folds.
func rereadMemory(shape Shape, rows int64, folds, threads int, first bool) int64 {
	d, k, side := int64(shape.Dim), int64(shape.Outputs), int64(blas.TileDim)
	always := (4*8+4)*d*k + 8*d*(side+int64(shape.Width)) + HeldOutBytes(shape.Dim, shape.Outputs)*int64(max(threads, 1))
	var small, search int64
	if folds <= PartFolds {
		part := shape
		part.Dim = len(PartOf(shape.Dim))
		small, search = int64(folds)*part.Bytes(), Memory(part, rows, folds, threads, first)
	}
	return always + max(shape.Bytes()+small, small+search)
}
