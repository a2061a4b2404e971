package ridge

import (
	"fmt"

	"github.com/bochner-ml/bochner/internal/blas"
)

// MaxPartBytes limits the memory of a part of a Sum.
const MaxPartBytes = 8 << 20

// maxPart is MaxPartBytes in float64s.
const maxPart = MaxPartBytes / 8

// A Sum crosses the runner in parts of at most 8 MiB, each an array of float64
// that is added element by element to the same part of another Sum. The parts
// of D features and width w (Outputs for classes, Outputs+1 for targets, whose
// last column is Σz) are
//
//	0                   the head: N and the count of each class; or N, Σq,
//	                    Σ⌊q²/2¹⁵⌋ and Σ(q² mod 2¹⁵), a value for each target;
//	                    with weights, their sum for N, and N at the end
//	1 … blas.NumTiles   the tiles of Σzzᵀ, in the order of blas.NewTiles
//	the rest            Σzqᵀ, row-major D×w, cut after every c rows,
//	                    c = min(blas.TileDim, 2²⁰/w)

// NumParts returns the number of parts of a Sum.
func NumParts(shape Shape) int {
	c := shape.chunk()
	return 1 + blas.NumTiles(shape.Dim) + (shape.Dim+c-1)/c
}

// chunk is the number of rows of the cross products in a part.
func (s Shape) chunk() int { return max(1, min(blas.TileDim, maxPart/s.width())) }

// Part returns part i, which shares the Sum's memory. It panics if i is out of range.
func (s *Sum) Part(i int) []float64 {
	switch n := len(s.tiles); {
	case i < 0 || i >= NumParts(s.shape):
		panic("ridge: no such part")
	case i == 0:
		return s.head
	case i <= n:
		return s.tiles[i-1]
	default:
		c, d, w := s.shape.chunk(), s.shape.Dim, s.shape.width()
		from := (i - 1 - n) * c
		return s.cross[from*w : min(from+c, d)*w]
	}
}

// SetPart copies v into part i. It fails if v has another length, as from a file of another run.
func (s *Sum) SetPart(i int, v []float64) error {
	return s.withPart(i, v, func(part []float64) { copy(part, v) })
}

// AddPart adds v to part i, and fails like SetPart.
func (s *Sum) AddPart(i int, v []float64) error {
	return s.withPart(i, v, func(part []float64) {
		for j, x := range v {
			part[j] += x
		}
	})
}

func (s *Sum) withPart(i int, v []float64, f func(part []float64)) error {
	part := s.Part(i)
	if len(v) != len(part) {
		return fmt.Errorf("ridge: part %d of a sum has %d numbers, want %d", i, len(v), len(part))
	}
	f(part)
	return nil
}

// Layout says what each part of a sum holds.
type Layout struct{ Shape }

// LayoutOf returns the layout of sums of a shape.
func LayoutOf(s Shape) Layout { return Layout{s} }

// Parts returns the number of parts.
func (l Layout) Parts() int { return NumParts(l.Shape) }

// Tile reports whether part i is a tile of the Gram matrix.
func (l Layout) Tile(i int) bool { return i > 0 && i <= blas.NumTiles(l.Dim) }

// diagonal returns the row of the diagonal tile in part i. ok is false if part i is not such a tile.
func (l Layout) diagonal(i int) (row int, ok bool) {
	row, column := l.Place(i)
	return row, l.Tile(i) && row == column
}

// Place returns the row and column of the tile in part i.
func (l Layout) Place(i int) (row, column int) {
	i--
	for ; i > row; row++ {
		i -= row + 1
	}
	return row, i
}

// Cross returns the first feature of the cross products in part i and their number of columns. ok is false
// if part i has no cross products.
func (l Layout) Cross(i int) (from, width int, ok bool) {
	n := blas.NumTiles(l.Dim)
	return (i - 1 - n) * l.chunk(), l.width(), i > n
}

// tiles returns zeroed tiles for the parts that some selects, and nil for the others.
func (l Layout) tiles(some func(part int) bool) [][]float64 {
	lengths := make([]int, blas.NumTiles(l.Dim))
	for i := range lengths {
		if part := i + 1; some(part) {
			lengths[i] = l.Len(part)
		}
	}
	return blas.MakeEach[float64](lengths)
}

// Len returns the number of float64s in part i.
func (l Layout) Len(i int) int {
	if i == 0 {
		return l.headLen()
	}
	if from, width, ok := l.Cross(i); ok {
		return width * min(l.chunk(), l.Dim-from)
	}
	row, column := l.Place(i)
	return blas.TileRows(l.Dim, row) * blas.TileRows(l.Dim, column)
}
