package ridge

import (
	"fmt"

	"github.com/bochner-ml/bochner/internal/blas"
)

// Limits of a Shape.
const (
	MaxDim     = 1 << 17 // a Gram matrix of 64 GiB
	MaxOutputs = 1 << 17
)

const maxTarget = blas.MaxTarget // |q| of a target on its grid

// Shape describes a Sum: D features and k outputs, which are the classes, or the targets
// if Regression is set. Weighted says that rows have weights.
type Shape struct {
	Dim        int
	Outputs    int
	Regression bool
	Weighted   bool
}

// Validate returns an error that names the field out of range.
func (s Shape) Validate() error {
	if s.Dim < 1 || s.Dim > MaxDim {
		return fmt.Errorf("ridge: the number of features must be 1 to %d (have %d)", MaxDim, s.Dim)
	}
	if s.Outputs < 1 || s.Outputs > MaxOutputs {
		return fmt.Errorf("ridge: the number of outputs must be 1 to %d (have %d)", MaxOutputs, s.Outputs)
	}
	return nil
}

// Bytes returns the memory of one Sum of the shape. A worker has one for every fold.
func (s Shape) Bytes() int64 { return solverShape(s).Bytes() }

// PartBytes returns the memory of a Sum that has only the parts from first up to end.
func (s Shape) PartBytes(first, end int) int64 {
	n := int64(s.headLen()) + blas.TilesLen(s.Dim, end-1) - blas.TilesLen(s.Dim, min(max(first, 1), max(end, 1))-1)
	if end > blas.NumTiles(s.Dim)+1 {
		n += int64(s.Dim) * int64(s.width())
	}
	return 8 * n
}

// MaxRows returns the largest number of rows, or sum of weights, for which sums of features up to a number of
// steps are guaranteed exact. With more, a sum of products could pass 2⁵³.
func (s Shape) MaxRows(steps int) int64 {
	if s.Regression {
		return (1 << 53) / int64(steps*max(steps, maxTarget))
	}
	return (1 << 53) / int64(steps*steps)
}

// FineSteps is the number of steps from 0 to the bound on a grid of 16 bits. The full range has 55,440
// steps, a multiple of all numbers up to 12, so small whole numbers that fill a range lie on its grid.
const FineSteps = 27720

// Fine returns the number of steps of the finest grid, up to FineSteps, on which sums of a number of rows (or
// a sum of weights) are guaranteed exact. It is at least the number for 8 bits.
func (s Shape) Fine(rows int64) int {
	most := FineSteps
	for _, divisor := range []int{1, 2, 5, 11, 22, 55, 110} {
		most = FineSteps / divisor
		if s.MaxRows(most) >= rows {
			return most
		}
	}
	return max(most, blas.MaxByte)
}

// width returns the number of columns of the cross products: one per output, and in regression one more for
// a constant target 1, whose column is Σz.
func (s Shape) width() int {
	if s.Regression {
		return s.Outputs + 1
	}
	return s.Outputs
}

// labels returns the number of labels of a row: its targets, or 1 for its class.
func (s Shape) labels() int {
	if s.Regression {
		return s.Outputs
	}
	return 1
}

// headLen returns the length of the Head.
func (s Shape) headLen() int {
	n := 1 + s.Outputs
	if s.Regression {
		n += 2 * s.Outputs
	}
	if s.Weighted {
		n++
	}
	return n
}

// Rows returns the number of rows in sums with that head.
func (s Shape) Rows(h Head) int64 {
	if s.Weighted {
		return int64(h[len(h)-1])
	}
	return int64(h.Weight())
}

// MaxPartBytes limits the memory of a part of a Sum.
const MaxPartBytes = 8 << 20

// maxPart is MaxPartBytes in float64s.
const maxPart = MaxPartBytes / 8

// A Sum crosses the runner in parts of at most 8 MiB, each an array of float64 that is added
// element by element to the same part of another Sum. The parts of D features and width w (Outputs
// for classes, Outputs+1 for targets, whose last column is Σz) are
//
//	0                   the Head
//	1 … blas.NumTiles   the tiles of Σzzᵀ, in the order of blas.NewTiles
//	the rest            Σzqᵀ, row-major D×w, cut after every c rows,
//	                    c = min(blas.TileDim, 2²⁰/w)

// NumParts returns the number of parts of a Sum.
func (s Shape) NumParts() int {
	c := s.chunk()
	return 1 + blas.NumTiles(s.Dim) + (s.Dim+c-1)/c
}

// chunk is the number of rows of the cross products in a part.
func (s Shape) chunk() int { return max(1, min(blas.TileDim, maxPart/s.width())) }

// Part returns part i, which shares the Sum's memory. It panics if i is out of range.
func (s *Sum) Part(i int) []float64 {
	switch n := len(s.tiles); {
	case i < 0 || i >= s.shape.NumParts():
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

// IsTile reports whether part i is a tile of the Gram matrix.
func (s Shape) IsTile(i int) bool { return i > 0 && i <= blas.NumTiles(s.Dim) }

// TilePlace returns the row and column of the tile in part i.
func (s Shape) TilePlace(i int) (row, column int) {
	i--
	for ; i > row; row++ {
		i -= row + 1
	}
	return row, i
}

// CrossPlace returns the first feature of the cross products in part i and their number of columns. ok is false
// if part i has no cross products.
func (s Shape) CrossPlace(i int) (from, width int, ok bool) {
	n := blas.NumTiles(s.Dim)
	return (i - 1 - n) * s.chunk(), s.width(), i > n
}

// tiles returns zeroed tiles for the parts that include selects, and nil for the others.
func (s Shape) tiles(include func(part int) bool) [][]float64 {
	lengths := make([]int, blas.NumTiles(s.Dim))
	for i := range lengths {
		if part := i + 1; include(part) {
			lengths[i] = s.PartLen(part)
		}
	}
	return blas.MakeEach[float64](lengths)
}

// PartLen returns the number of float64s in part i.
func (s Shape) PartLen(i int) int {
	if i == 0 {
		return s.headLen()
	}
	if from, width, ok := s.CrossPlace(i); ok {
		return width * min(s.chunk(), s.Dim-from)
	}
	row, column := s.TilePlace(i)
	return blas.TileRows(s.Dim, row) * blas.TileRows(s.Dim, column)
}

// Stripe is a range of the parts of the sums of several folds, numbered fold by fold: part k of fold f is
// f·NumParts + k. Sums too large for one worker are added up in stripes, each in its own pass over the rows
// of its folds. Stripes change no bit, because parts are exact sums of the same rows.
type Stripe struct{ First, End int }

// CutStripes cuts the sums of folds into at least n stripes, or into one per part if there are fewer. If n
// ≤ folds, stripes have whole folds, so each row is mapped once. More stripes cut each fold into equally
// many pieces, and the rows of the fold are mapped for each of them.
func CutStripes(shape Shape, folds, n int) []Stripe {
	parts := shape.NumParts()
	var out []Stripe
	if n <= folds {
		n = max(n, 1)
		for s := range n {
			out = append(out, Stripe{s * folds / n * parts, (s + 1) * folds / n * parts})
		}
		return out
	}
	pieces := min((n+folds-1)/folds, parts)
	for f := range folds {
		for p := range pieces {
			out = append(out, Stripe{f*parts + p*parts/pieces, f*parts + (p+1)*parts/pieces})
		}
	}
	return out
}

// FitStripes returns the fewest stripes of which none takes more than most bytes, where size returns the
// memory for a number of folds and the bytes of their sums. It returns one stripe if there is no limit (0),
// or if no number fits: then least is the smallest limit that could be kept, otherwise 0.
func FitStripes(shape Shape, folds int, most int64,
	size func(folds int, bytes int64) int64) (stripes []Stripe, bytes, least int64) {
	largest := func(stripes []Stripe) (bytes int64) {
		for _, s := range stripes {
			bytes = max(bytes, size(s.size(shape)))
		}
		return bytes
	}
	stripes = CutStripes(shape, folds, 1)
	bytes = largest(stripes)
	if most == 0 || bytes <= most {
		return stripes, bytes, 0
	}
	least = bytes
	for n := 2; n <= maxStripes; n++ {
		more := CutStripes(shape, folds, n)
		b := largest(more)
		if b <= most {
			return more, b, 0
		}
		least = min(least, b)
		if len(more) < n {
			break // each has one part
		}
		n = len(more)
	}
	return stripes, bytes, least
}

// maxStripes is the most stripes that FitStripes tries. Beyond it rows would be read too often.
const maxStripes = 256

// Part returns the range of the parts of a fold that are in the stripe, from first up to end; empty if none is.
func (s Stripe) Part(shape Shape, fold int) (first, end int) {
	parts := shape.NumParts()
	first, end = max(s.First-fold*parts, 0), min(s.End-fold*parts, parts)
	if first >= end {
		return 0, 0
	}
	return first, end
}

// size returns the number of folds that have parts in the stripe, and the bytes of their sums.
func (s Stripe) size(shape Shape) (folds int, bytes int64) {
	parts := shape.NumParts()
	for f := s.First / parts; f*parts < s.End; f++ {
		folds++
		bytes += shape.PartBytes(s.Part(shape, f))
	}
	return folds, bytes
}
