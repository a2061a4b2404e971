package profile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/wire"
)

// WeightSum is what a pass collects of the weights of rows: a function of the weights alone,
// however they were cut and merged. The zero value has no rows.
type WeightSum struct {
	rows     int64
	total    exact.Sum
	squares  exact.Sum
	min, max float32
	// odd·2^exp is the largest number of which all weights are whole multiples.
	odd uint64
	exp int
}

// Add adds the weight of a row. It panics unless it is above 0 and passes rows.CheckWeight.
func (s *WeightSum) Add(weight float64) {
	w := float32(weight)
	if !(w > 0) || rows.CheckWeight(weight) != "" {
		panic("weight: out of range")
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
	Rows int64   `json:"rows"` // with a weight above 0
	Sum  float64 `json:"sum"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	Unit float64 `json:"unit"` // the largest number of which all weights are whole multiples
	// Effective is (Σ w)²/Σ w² (Kish 1965): how many rows of equal weights a weighted mean is
	// as precise as.
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

// Validate returns an error if these are not the weights of that many rows, as in a damaged
// file.
func (w *Weights) Validate(rows int64) error {
	if w.Rows != rows || !(w.Min > 0) || !(w.Min <= w.Max) || !(w.Unit > 0) || !(w.Sum >= w.Max) || !(w.Effective > 0) ||
		math.IsInf(w.Sum, 0) || math.IsInf(w.Effective, 0) {
		return fmt.Errorf("weight: weights from %g to %g, multiples of %g, of sum %g, of %d rows, want %d", w.Min, w.Max,
			w.Unit, w.Sum, w.Rows, rows)
	}
	return nil
}

// UnitWeights describes the weights of that many rows without weights.
func UnitWeights(rows int64) *Weights {
	return &Weights{Rows: rows, Sum: float64(rows), Min: 1, Max: 1, Unit: 1, Effective: float64(rows)}
}

// Equal reports whether all weights are the same, so that there might as well be none. It
// is true of nil.
func (w *Weights) Equal() bool { return w == nil || w.Min == w.Max }

// Mean returns the mean weight, 1 of nil. It is the common weight if all are equal.
func (w *Weights) Mean() float64 {
	switch {
	case w == nil:
		return 1
	case w.Equal():
		return w.Max
	}
	return w.Sum / float64(w.Rows)
}

var errDamagedWeights = errors.New("weight: damaged encoding")

// AppendBinary appends the sum to b. Sums of equal weights have equal encodings. The error
// is always nil.
func (s *WeightSum) AppendBinary(b []byte) ([]byte, error) {
	le := binary.LittleEndian
	b = le.AppendUint64(b, uint64(s.rows))
	if s.rows == 0 {
		return b, nil
	}
	b = le.AppendUint32(b, math.Float32bits(s.min))
	b = le.AppendUint32(b, math.Float32bits(s.max))
	b = le.AppendUint32(b, uint32(s.odd))
	b = le.AppendUint32(b, uint32(int32(s.exp)))
	b, _ = s.total.AppendBinary(b)
	return s.squares.AppendBinary(b)
}

// Code codes the sum, as a sum of its own.
func (s *WeightSum) Code(c *wire.Coder) { c.Part(s) }

// Decode sets s to the sum encoded at the start of b and returns the bytes after it.
func (s *WeightSum) Decode(b []byte) (rest []byte, err error) {
	le := binary.LittleEndian
	if len(b) < 8 {
		return nil, errDamagedWeights
	}
	t := WeightSum{rows: int64(le.Uint64(b))}
	if b = b[8:]; t.rows != 0 {
		if len(b) < 16 {
			return nil, errDamagedWeights
		}
		t.min, t.max = math.Float32frombits(le.Uint32(b)), math.Float32frombits(le.Uint32(b[4:]))
		t.odd, t.exp = uint64(le.Uint32(b[8:])), int(int32(le.Uint32(b[12:])))
		if b, err = t.total.Decode(b[16:]); err != nil {
			return nil, errDamagedWeights
		}
		if b, err = t.squares.Decode(b); err != nil {
			return nil, errDamagedWeights
		}
		valid := t.rows > 0 && t.rows < 1<<40 && t.min > 0 && t.min <= t.max && t.min >= rows.LeastWeight &&
			t.max <= rows.MostWeight &&
			t.odd&1 == 1 && t.odd < 1<<24 && t.exp >= -84 && t.exp <= 60 && t.total.Sign() > 0 && t.squares.Sign() > 0
		if !valid {
			return nil, errDamagedWeights
		}
	}
	*s = t
	return b, nil
}
