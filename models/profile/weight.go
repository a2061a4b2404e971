package profile

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/wire"
)

// WeightSum summarises the weights of rows. It does not depend on the order of the rows. The zero value is empty.
type WeightSum struct {
	rows     int64
	total    exact.Sum
	squares  exact.Sum
	min, max float32
	// odd·2^exp is the largest number of which all weights are multiples.
	odd uint64
	exp int
}

// Add adds the weight of a row. It panics unless the weight is above 0 and passes rowio.CheckWeight.
func (s *WeightSum) Add(weight float64) {
	w := float32(weight)
	if !(w > 0) || rowio.CheckWeight(weight) != "" {
		panic("profile: out of range")
	}
	fraction, e := math.Frexp(float64(w))
	m := uint64(math.Ldexp(fraction, 24))
	for e -= 24; m&1 == 0; e++ {
		m >>= 1
	}
	t := WeightSum{rows: 1, min: w, max: w, odd: m, exp: e}
	t.total.Add(w)
	t.squares.AddSquare(w)
	s.Merge(&t)
}

// Merge adds the weights of t.
func (s *WeightSum) Merge(t *WeightSum) {
	if t.rows == 0 {
		return
	}
	if s.rows == 0 {
		*s = *t
		return
	}
	s.rows += t.rows
	s.total.Merge(&t.total)
	s.squares.Merge(&t.squares)
	s.min, s.max = min(s.min, t.min), max(s.max, t.max)
	s.exp = min(s.exp, t.exp)
	for a := t.odd; a != 0; {
		s.odd, a = a, s.odd%a
	}
}

// Weights describes the weights of rows.
type Weights struct {
	Rows int64   `json:"rows"` // rows with a weight above 0
	Sum  float64 `json:"sum"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	Unit float64 `json:"unit"` // the largest number of which all weights are multiples
	// Effective is (Σ w)²/Σ w² (Kish 1965): a weighted mean is as precise as the mean of Effective rows of
	// equal weights.
	Effective float64 `json:"effective_rows"`
}

// Result returns the description of the weights so far, or nil if there are none.
func (s *WeightSum) Result() *Weights {
	if s.rows == 0 {
		return nil
	}
	sum := s.total.Float64()
	return &Weights{
		Rows: s.rows, Sum: sum, Min: float64(s.min), Max: float64(s.max),
		Unit: math.Ldexp(float64(s.odd), s.exp), Effective: min(float64(s.rows), sum*sum/s.squares.Float64()),
	}
}

// Validate returns an error if these cannot be the weights of this number of rows, as in a damaged file.
func (w *Weights) Validate(rows int64) error {
	if w.Rows != rows || !(w.Min > 0) || !(w.Min <= w.Max) || !(w.Unit > 0) || !(w.Sum >= w.Max) || !(w.Effective > 0) ||
		math.IsInf(w.Sum, 0) || math.IsInf(w.Effective, 0) {
		return fmt.Errorf("profile: weights from %g to %g, multiples of %g, of sum %g, of %d rows, want %d", w.Min, w.Max,
			w.Unit, w.Sum, w.Rows, rows)
	}
	return nil
}

// UnitWeights returns the Weights of rows of weight 1.
func UnitWeights(rows int64) *Weights {
	return &Weights{Rows: rows, Sum: float64(rows), Min: 1, Max: 1, Unit: 1, Effective: float64(rows)}
}

// Equal reports whether all weights are the same, as if there were none. It is true for nil.
func (w *Weights) Equal() bool { return w == nil || w.Min == w.Max }

// Mean returns the mean weight; 1 for nil. If all weights are equal, it is exactly that weight.
func (w *Weights) Mean() float64 {
	switch {
	case w == nil:
		return 1
	case w.Equal():
		return w.Max
	}
	return w.Sum / float64(w.Rows)
}

// Code implements wire.Coded. Sums of equal weights have equal encodings.
func (s *WeightSum) Code(c *wire.Coder) {
	c.Counts(&s.rows)
	if s.rows == 0 {
		return
	}
	c.Float32(&s.min, &s.max)
	s.odd = uint64(c.Int(int(s.odd), 1<<24))
	s.exp = int(int32(c.Int(int(uint32(s.exp)), math.MaxUint32)))
	c.Part(&s.total, &s.squares)
	c.Check(s.rows < maxRows && s.min <= s.max && s.min >= rowio.MinWeight && s.max <= rowio.MaxWeight &&
		s.odd&1 == 1 && s.exp >= -84 && s.exp <= 60 && s.total.Sign() > 0 && s.squares.Sign() > 0)
}

// weighted has exact sums over the weights of rows.
type weighted struct {
	rows    WeightSum
	total   exact.Sum
	missing []exact.Sum // for each column, of the rows without a value; may be shorter than the columns
}

// any reports whether rows have weights.
func (w *weighted) any() bool { return w.total.Sign() > 0 }

// present returns the sum of the weights of the rows that have a value in column j.
func (w *weighted) present(j int) *exact.Sum {
	sum := w.total
	if j < len(w.missing) {
		sum.Sub(&w.missing[j])
	}
	return &sum
}

// grow makes room for column j.
func (w *weighted) grow(j int) {
	if n := j + 1 - len(w.missing); n > 0 {
		w.missing = append(w.missing, make([]exact.Sum, n)...)
	}
}

// addMissing adds the weight of a row without a value in column j.
func (s *Sum) addMissing(j int, w float32) {
	if s.weights.any() {
		s.weights.grow(j)
		s.weights.missing[j].Add(w)
	}
}

// MissingShare returns the share of rows, by their weights, that have no value in column j.
func (s *Sum) MissingShare(j int) float64 {
	missing := s.columns[j].missing
	if missing == 0 {
		return 0
	}
	if s.weights.any() {
		return s.weights.missing[j].Float64() / s.weights.total.Float64()
	}
	return float64(missing) / float64(s.rows)
}

// moments returns mean and variance of column j over its present rows, by weight if rows have weights.
func (s *Sum) moments(j int, present int64) (mean, variance float64) {
	c := &s.columns[j]
	if s.weights.any() {
		return exact.WeightedMoments(s.weights.present(j), &c.sum, &c.squares)
	}
	return exact.Moments(present, &c.sum, &c.squares)
}

// WeightCollector collects rows until a block is full, for an exact sum to add. Rows with weights are
// collected separately for each weight while there are few weights, because a block of equal weights takes
// half the time or less. A sum does not depend on which rows share a block.
type WeightCollector struct {
	Weights   *WeightGrid // nil if rows have no weights
	Unlabeled bool        // labels are not collected

	// Full receives each full block, and the last ones, with the weights of the rows on the grid; nil
	// without a grid. It must not keep either.
	Full func(b *rowio.Block, weights []int64)

	dim     int
	rest    batch
	equal   map[int64]*batch // by weight
	weights []int64          // scratch
}

// batch is a block of rows with their weights on the grid.
type batch struct {
	rowio.Block
	weights []int64
}

// Limits on batches of equal weights: their number, and the bytes of their rows.
const (
	maxBatches     = 16
	maxBatchMemory = 16 << 20
)

// WeightCollectorBytes returns the most memory of a WeightCollector for weighted rows of length d.
func WeightCollectorBytes(d int) int64 {
	return 4 * int64(rowio.RowsPerBlock(d)) * int64(d) * int64(1+batches(d))
}

// batches returns the most batches of equal weights for rows of length d.
func batches(d int) int {
	return max(1, min(maxBatches, maxBatchMemory/(4*rowio.RowsPerBlock(d)*max(d, 1))))
}

// Add collects the rows of b from first up to end.
func (c *WeightCollector) Add(b *rowio.Block, first, end int) {
	if c.dim != b.D {
		c.Flush()
		c.dim = b.D
		c.rest.reset(b.D)
		c.equal = nil
	}
	if c.Weights == nil {
		for first < end {
			n := min(end-first, rowio.RowsPerBlock(b.D)-c.rest.N)
			c.take(&c.rest, b, first, n)
			first += n
		}
		return
	}
	c.weights = c.Weights.AppendWeights(c.weights[:0], b, first, end)
	for i, w := range c.weights {
		to, ok := c.equal[w]
		if !ok {
			to = &c.rest
			if len(c.equal) < batches(b.D) {
				if c.equal == nil {
					c.equal = map[int64]*batch{}
				}
				to = new(batch)
				to.reset(b.D)
				c.equal[w] = to
			}
		}
		to.weights = append(to.weights, w)
		c.take(to, b, first+i, 1)
	}
}

func (t *batch) reset(d int) {
	t.Reset(d)
	t.weights = t.weights[:0]
}

// take appends n rows to a batch, which must have room for them.
func (c *WeightCollector) take(t *batch, b *rowio.Block, first, n int) {
	if t.N == 0 {
		t.Reserve()
	}
	t.X = append(t.X, b.X[first*b.D:(first+n)*b.D]...)
	if !c.Unlabeled {
		k := len(b.Y) / b.N // labels per row
		t.Y = append(t.Y, b.Y[first*k:(first+n)*k]...)
	}
	t.N += n
	if t.N == rowio.RowsPerBlock(b.D) {
		c.flush(t)
	}
}

// flush passes a batch to Full, and empties it.
func (c *WeightCollector) flush(t *batch) {
	c.Full(&t.Block, t.weights)
	t.reset(c.dim)
}

// Flush passes all remaining rows to Full.
func (c *WeightCollector) Flush() {
	for w, t := range c.equal {
		// Small batches share a block.
		if t.N < rowio.RowsPerBlock(c.dim)/2 {
			for i := range t.N {
				c.rest.weights = append(c.rest.weights, w)
				c.take(&c.rest, &t.Block, i, 1)
			}
			t.reset(c.dim)
		}
		if t.N > 0 {
			c.flush(t)
		}
	}
	if c.rest.N > 0 {
		c.flush(&c.rest)
	}
}
