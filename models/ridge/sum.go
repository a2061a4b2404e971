package ridge

import (
	"runtime"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/models/linear"
)

// Sum holds all that ridge regression needs of a set of rows. Here z are features on their grid and q
// targets on their 16-bit grid (or the 0/1 indicators of the classes):
//
//	N, Σq, Σq²       the head
//	Σ zzᵀ            the Gram matrix, in tiles of its lower triangle
//	Σ zqᵀ, Σ z       the cross products, D×k and D×1
//
// Rows may have weights, which are whole numbers (package profile): a row of weight w then
// counts as w rows everywhere.
//
// Every number in it is an exact integer, so Merge and Sub are exact, and the order of
// rows and sums does not matter. A Sum is not safe for concurrent use.
type Sum struct {
	shape Shape

	head  Head
	tiles [][]float64 // as blas.NewTiles
	cross []float64   // row-major D×width; the last column of targets is Σz

	// In a sum of only some parts the other tiles are nil. cross is nil if none of its parts is there.

	labels []int32       // scratch of Add
	block  blas.Weighted // scratch: a block's features times its weights
	padded []int32       // scratch: a block's targets with a 1 after each row
}

// NewSum returns the sum of no rows. It panics if the shape is not valid.
func NewSum(shape Shape) *Sum { return NewPartSum(shape, 0, shape.NumParts()) }

// NewPartSum returns a sum of no rows that adds up only a range of the parts. Its other parts are
// nil, except that the head is always there. It panics if the shape or the range is not valid.
func NewPartSum(shape Shape, first, end int) *Sum {
	if shape.Validate() != nil || first < 0 || end > shape.NumParts() || first >= end {
		panic("ridge: invalid shape or range of parts")
	}
	s := &Sum{shape: shape, head: make([]float64, shape.headLen())}
	s.tiles = shape.tiles(func(part int) bool { return first <= part && part < end })
	if end > len(s.tiles)+1 {
		s.cross = make([]float64, shape.Dim*shape.width())
	}
	return s
}

// tilesOf returns the tiles of Σzzᵀ; nil for a nil sum.
func (s *Sum) tilesOf() [][]float64 {
	if s == nil {
		return nil
	}
	return s.tiles
}

// Clear makes s the sum of no rows.
func (s *Sum) Clear() { s.combine(s, func(a, _ []float64) { clear(a) }) }

// Shape returns the shape of the sum.
func (s *Sum) Shape() Shape { return s.shape }

// Rows returns the number of rows in the sum.
func (s *Sum) Rows() int64 { return s.shape.Rows(s.head) }

// Weight returns the sum of the weights of the rows, or their number if they have none.
func (s *Sum) Weight() float64 { return s.head.Weight() }

// ClassCounts returns the number of rows of each class, or the sum of their weights; nil in regression.
func (s *Sum) ClassCounts() []int64 {
	if s.shape.Regression {
		return nil
	}
	counts := make([]int64, s.shape.Outputs)
	for c, n := range s.head.outputs(s.shape.Outputs) {
		counts[c] = int64(n)
	}
	return counts
}

// Add adds the rows of z with their labels y: targets (row-major, n×Outputs), which grid rounds, or classes
// if grid is nil. Without labels all rows are of class 0. weights has one entry per row if the sum is
// weighted; otherwise it is nil.
func (s *Sum) Add(z *features.Grid, y []float64, grid linear.Grids, weights []int64, threads int) {
	s.labels = AppendLabels(s.labels[:0], z.N(), y, grid)
	s.AddLabels(z, s.labels, weights, threads)
}

// AppendLabels appends the labels y of n rows as whole numbers, as Add adds them: targets on their grid, or
// classes if grid is nil.
func AppendLabels(dst []int32, n int, y []float64, grid linear.Grids) []int32 {
	if grid != nil {
		return grid.Append(dst, y)
	}
	for i := range n {
		class := int32(0)
		if i < len(y) {
			class = int32(y[i])
		}
		dst = append(dst, class)
	}
	return dst
}

// AddLabels is Add for labels as from AppendLabels. It panics if lengths do not fit, or a class or target is out of
// range.
func (s *Sum) AddLabels(z *features.Grid, labels []int32, weights []int64, threads int) {
	n := z.N()
	if z.D() != s.shape.Dim || len(labels) != n*s.shape.labels() || len(weights) != n && s.shape.Weighted ||
		weights != nil && !s.shape.Weighted {
		panic("ridge: block, labels and sum do not fit")
	}
	if s.shape.Regression {
		s.addTargets(z, labels, weights, threads)
	} else {
		s.addClasses(z, labels, weights, threads)
	}
}

// addClasses adds a block with classes: its Gram matrix, the weight of each class, and the sums of features by class.
func (s *Sum) addClasses(z *features.Grid, class []int32, weights []int64, threads int) {
	for _, c := range class {
		if c < 0 || int(c) >= s.shape.Outputs {
			panic("ridge: class out of range")
		}
	}
	k := s.shape.Outputs
	counts := s.head.outputs(k)
	for i, c := range class {
		counts[c] += float64(weightOf(weights, i))
	}
	switch b := s.gram(z, weights, threads); {
	case s.cross == nil: // this sum has none of their parts
	case b != nil:
		b.ClassSums(s.cross, class, k, threads)
	default:
		blas.ClassSums(s.cross, (*blas.Bytes)(z), class, k, threads)
	}
}

// addTargets adds a block with targets: its Gram matrix, the sums and squares of targets, and the products of
// features and targets. Squares are summed in two halves, so that they are exact.
func (s *Sum) addTargets(z *features.Grid, y []int32, weights []int64, threads int) {
	n, k := z.N(), s.shape.Outputs
	s.padded = slices.Grow(s.padded[:0], n*(k+1))
	q := s.head.outputs(k)
	hi, lo := s.head.squares(k)
	for i := range n {
		w := float64(weightOf(weights, i))
		for c, v := range y[i*k : (i+1)*k] {
			if v < -maxTarget || v > maxTarget {
				panic("ridge: target out of range")
			}
			q[c] += float64(w * float64(v)) // whole numbers, so nothing is rounded
			hi[c] += float64(w * float64((v*v)>>15))
			lo[c] += float64(w * float64((v*v)&(1<<15-1)))
		}
		s.padded = append(append(s.padded, y[i*k:(i+1)*k]...), 1)
	}
	switch b := s.gram(z, weights, threads); {
	case s.cross == nil: // this sum has none of their parts
	case b != nil:
		b.Targets(s.cross, s.padded, k+1, threads)
	default:
		blas.Targets(s.cross, (*blas.Bytes)(z), s.padded, k+1, threads)
	}
}

// AddCopies is Add with row i added copies[i] times.
func (s *Sum) AddCopies(z *features.Grid, y []float64, grid linear.Grids, weights, copies []int64, threads int) {
	shape := s.shape
	shape.Weighted = true
	t := &Sum{shape: shape, head: make([]float64, shape.headLen()), tiles: s.tiles, cross: s.cross}
	total := make([]int64, len(copies))
	left := slices.Clone(copies)
	for {
		var n, more int64
		for i := range left {
			w := weightOf(weights, i)
			take := min(left[i], max(1, maxCopies/max(w, 1)))
			left[i] -= take
			total[i] = take * w
			n += take
			more += left[i]
		}
		t.Add(z, y, grid, total, threads)
		t.head.addWeightedRows(n - int64(z.N()))
		if more == 0 {
			break
		}
	}
	for i := range s.head { // a weighted head has the number of rows at its end
		s.head[i] += t.head[i]
	}
}

// maxCopies limits the weight of a row in a block.
const maxCopies = 1<<32 - 1

// gram adds the rows of z to the count and to the Gram matrix. It returns the rows with
// their weights, or nil if they have none.
func (s *Sum) gram(z *features.Grid, weights []int64, threads int) *blas.Weighted {
	if !s.shape.Weighted {
		s.head.addWeight(float64(z.N()))
		blas.Gram(s.tiles, (*blas.Bytes)(z), threads)
		return nil
	}
	for _, w := range weights {
		s.head.addWeight(float64(w))
	}
	s.head.addWeightedRows(int64(z.N()))
	s.block.Set((*blas.Bytes)(z), weights, threads)
	s.block.Gram(s.tiles, threads)
	return &s.block
}

func weightOf(weights []int64, i int) int64 {
	if weights == nil {
		return 1
	}
	return weights[i]
}

// Merge adds the rows of t. It panics if the shapes differ.
func (s *Sum) Merge(t *Sum) {
	s.combine(t, func(a, b []float64) {
		for i, v := range b {
			a[i] += v
		}
	})
}

// Sub subtracts the rows of t, which must be among the rows of s: it undoes Merge, bit for
// bit. It panics if the shapes differ.
func (s *Sum) Sub(t *Sum) {
	s.combine(t, func(a, b []float64) {
		for i, v := range b {
			a[i] -= v
		}
	})
}

// Scale multiplies all sums by times, so that every row counts that often. Unless times is a whole number,
// the sums are rounded and no longer exact.
func (s *Sum) Scale(times float64) {
	s.combine(s, func(a, _ []float64) {
		for i := range a {
			a[i] *= times
		}
	})
}

// Equal reports whether s and t have the same shape and the same sums.
func (s *Sum) Equal(t *Sum) bool {
	return s.shape == t.shape && slices.Equal(s.head, t.head) && slices.Equal(s.cross, t.cross) &&
		slices.EqualFunc(s.tiles, t.tiles, slices.Equal[[]float64])
}

// combine calls f with each slice of s and the slice of t at the same place. It panics if the shapes differ.
func (s *Sum) combine(t *Sum, f func(a, b []float64)) {
	if s.shape != t.shape {
		panic("ridge: sums of different shapes")
	}
	f(s.head, t.head)
	f(s.cross, t.cross)
	threads := 1
	if s.shape.Dim >= largeSum {
		threads = runtime.GOMAXPROCS(0)
	}
	parallel.Each(len(s.tiles), threads, func(_, i int) {
		if s.tiles[i] != nil { // an outline lacks most of them
			f(s.tiles[i], t.tiles[i])
		}
	})
}

// Columns returns Σz, of length Dim.
func (s *Sum) Columns() []float64 {
	dst, w := make([]float64, s.shape.Dim), s.shape.width()
	for j := range dst {
		row := s.cross[j*w : (j+1)*w]
		if s.shape.Regression {
			row = row[w-1:]
		}
		for _, v := range row {
			dst[j] += v
		}
	}
	return dst
}

// Head is part 0 of a Sum: the weight of the rows, which is their number if rows have no weights, then the weight
// of each class or, for targets, Σq, Σ⌊q²/2¹⁵⌋ and Σ(q² mod 2¹⁵) of each. Σq² itself would be exact only for eight
// million rows. If rows have weights, their number follows.
type Head []float64

// Weight returns the sum of the weights of the rows, or their number if they have none.
func (h Head) Weight() float64 { return h[0] }

// outputs returns the sum of each of k outputs: the weight of a class or Σq of a target.
func (h Head) outputs(k int) []float64 { return h[1 : 1+k] }

// squares returns the limbs of Σq² of each of k targets.
func (h Head) squares(k int) (high, low []float64) { return h[1+k : 1+2*k], h[1+2*k : 1+3*k] }

// addWeight adds to the weight of the rows.
func (h Head) addWeight(w float64) { h[0] += w }

// addWeightedRows adds to the number of rows, if they have weights.
func (h Head) addWeightedRows(n int64) { h[len(h)-1] += float64(n) }
