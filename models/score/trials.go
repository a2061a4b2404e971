package score

import (
	"encoding"
	"encoding/binary"
	"errors"
	"math"

	"github.com/bochner-ml/bochner/internal/exact"
)

// Trials measures how several fits of one model do on the same rows, without a table of
// classes for each. Create it with NewTrials. It is not safe for concurrent use.
type Trials struct {
	rows int64
	fits []trial
}

// trial is the result of one fit.
type trial struct {
	errors  int64     // rows that get another class than their own, or none
	finite  int64     // rows whose squared error is in the range of float32
	squares exact.Sum // of those
}

// NewTrials returns empty counts for that many fits.
func NewTrials(fits int) *Trials { return &Trials{fits: make([]trial, fits)} }

// AddClass counts a row of that class with the scores of all fits, one fit after the
// other. A row is assigned the class of the largest score, the first of several, and its
// squared error is Σ(score − code)², with the code 1 for its class and −1 for the others.
func (t *Trials) AddClass(class int, scores []float32) {
	t.rows++
	k := len(scores) / len(t.fits)
	for i := range t.fits {
		row := scores[i*k : (i+1)*k]
		best, square := 0, 0.0
		for c, s := range row {
			if s > row[best] {
				best = c
			}
			code := -1.0
			if c == class {
				code = 1
			}
			e := float64(s) - code
			square += float64(e * e)
		}
		if !t.fits[i].add(square) || best != class {
			t.fits[i].errors++
		}
	}
}

// AddTarget counts a row with that target and the score of each fit.
func (t *Trials) AddTarget(target float64, scores []float32) {
	t.rows++
	for i, s := range scores[:len(t.fits)] {
		e := float64(s) - target
		t.fits[i].add(float64(e * e))
	}
}

// add adds a squared error, and reports whether it could.
func (t *trial) add(square float64) bool {
	if !(square <= math.MaxFloat32) {
		return false
	}
	t.finite++
	t.squares.Add64(square)
	return true
}

// Rows returns how many rows were counted.
func (t *Trials) Rows() int64 { return t.rows }

// Of returns the errors of a fit and its mean squared error over the rows where that is
// finite, 0 if there are none.
func (t *Trials) Of(fit int) (errors int64, mse float64) {
	f := &t.fits[fit]
	return f.errors, exact.Mean(f.finite, &f.squares)
}

// Merge adds the rows of u, counted for the same fits.
func (t *Trials) Merge(u *Trials) {
	t.rows += u.rows
	for i := range t.fits {
		t.fits[i].errors += u.fits[i].errors
		t.fits[i].finite += u.fits[i].finite
		t.fits[i].squares.Merge(&u.fits[i].squares)
	}
}

var (
	_ encoding.BinaryMarshaler   = (*Trials)(nil)
	_ encoding.BinaryUnmarshaler = (*Trials)(nil)
)

var errTrials = errors.New("score: damaged encoding of trials")

// MarshalBinary writes the rows, and the counts and the sum of each fit. The error is
// always nil.
func (t *Trials) MarshalBinary() ([]byte, error) {
	b := binary.LittleEndian.AppendUint64(nil, uint64(t.rows))
	for i := range t.fits {
		f := &t.fits[i]
		b = binary.LittleEndian.AppendUint64(b, uint64(f.errors))
		b = binary.LittleEndian.AppendUint64(b, uint64(f.finite))
		b, _ = f.squares.AppendBinary(b)
	}
	return b, nil
}

// UnmarshalBinary sets t to the counts encoded in b.
func (t *Trials) UnmarshalBinary(b []byte) error {
	if len(b) < 8 {
		return errTrials
	}
	u := Trials{rows: int64(binary.LittleEndian.Uint64(b))}
	for b = b[8:]; len(b) > 0; {
		if len(b) < 16 {
			return errTrials
		}
		f := trial{errors: int64(binary.LittleEndian.Uint64(b)), finite: int64(binary.LittleEndian.Uint64(b[8:]))}
		var err error
		if b, err = f.squares.Decode(b[16:]); err != nil {
			return errTrials
		}
		if f.errors < 0 || f.errors > u.rows || f.finite < 0 || f.finite > u.rows || f.squares.Sign() < 0 || f.finite == 0 && !f.squares.IsZero() {
			return errTrials
		}
		u.fits = append(u.fits, f)
	}
	if u.rows < 0 {
		return errTrials
	}
	*t = u
	return nil
}
