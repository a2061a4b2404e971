package profile

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/wire"
)

// WeightSum summarises the weights of rows. It does not depend on the order of the rows. The zero
// value is empty.
type WeightSum struct {
	rows     int64
	total    exact.Sum
	squares  exact.Sum
	min, max float32
	// odd·2^exp is the largest number of which all weights are multiples.
	odd uint64
	exp int
}

// Add adds the weight of a row. It panics unless the weight is above 0 and passes rows.CheckWeight.
func (s *WeightSum) Add(weight float64) {
	w := float32(weight)
	if !(w > 0) || rows.CheckWeight(weight) != "" {
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
	// Effective is (Σ w)²/Σ w² (Kish 1965): a weighted mean is as precise as the mean of that many rows of
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

// Validate returns an error if these cannot be the weights of that many rows, as in a damaged file.
func (w *Weights) Validate(rows int64) error {
	if w.Rows != rows || !(w.Min > 0) || !(w.Min <= w.Max) || !(w.Unit > 0) || !(w.Sum >= w.Max) || !(w.Effective > 0) ||
		math.IsInf(w.Sum, 0) || math.IsInf(w.Effective, 0) {
		return fmt.Errorf("profile: weights from %g to %g, multiples of %g, of sum %g, of %d rows, want %d", w.Min, w.Max,
			w.Unit, w.Sum, w.Rows, rows)
	}
	return nil
}

// UnitWeights returns the Weights of that many rows of weight 1.
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

// Code codes the sum. Sums of equal weights have equal encodings.
func (s *WeightSum) Code(c *wire.Coder) {
	if c.Counts(&s.rows); s.rows == 0 {
		return
	}
	c.Float32(&s.min, &s.max)
	s.odd = uint64(c.Int(int(s.odd), 1<<24))
	s.exp = int(int32(c.Int(int(uint32(s.exp)), math.MaxUint32)))
	c.Part(&s.total, &s.squares)
	c.Check(s.rows < maxRows && s.min <= s.max && s.min >= rows.LeastWeight && s.max <= rows.MostWeight &&
		s.odd&1 == 1 && s.exp >= -84 && s.exp <= 60 && s.total.Sign() > 0 && s.squares.Sign() > 0)
}
