package score

import (
	"encoding"
	"encoding/binary"
	"errors"
	"math"

	"github.com/bochner-ml/bochner/internal/exact"
)

// Targets sums how far the predictions of a regression are from its targets. The zero
// value is empty. It is not safe for concurrent use.
type Targets struct {
	n, notFinite   int64
	y, y2, r2, abs exact.Sum // of targets y and residuals r: Σy, Σy², Σr², Σ|r|
	max            float64   // max |r|
}

// Add counts one row with its residual r = predicted − truth, rounded to float64. A row
// whose residual does not fit in float32 is counted separately and not added to the sums.
// The truth must fit in float32.
func (t *Targets) Add(truth, predicted float64) {
	r := math.Abs(predicted - truth)
	if !(r <= math.MaxFloat32) {
		t.notFinite++
		return
	}
	t.n++
	t.y.Add64(truth)
	t.y2.AddSquare64(truth)
	t.r2.AddSquare64(r)
	t.abs.Add64(r)
	t.max = max(t.max, r)
}

// Merge adds the sums of u.
func (t *Targets) Merge(u *Targets) {
	t.n += u.n
	t.notFinite += u.notFinite
	t.y.Merge(&u.y)
	t.y2.Merge(&u.y2)
	t.r2.Merge(&u.r2)
	t.abs.Merge(&u.abs)
	t.max = max(t.max, u.max)
}

// TargetReport is the score of a regression over its finite residuals; all 0 if
// there are none.
type TargetReport struct {
	Rows int64 `json:"rows"` // with a finite residual
	// NotFinite counts the rows left out because their residual is infinite or not a
	// number.
	NotFinite  int64   `json:"not_finite,omitempty"`
	RMSE       float64 `json:"rmse"` // √(Σr²/n)
	MAE        float64 `json:"mae"`  // Σ|r|/n
	MaxError   float64 `json:"max_error"`
	TargetMean float64 `json:"target_mean"`
	TargetDev  float64 `json:"target_dev"` // population standard deviation
	// R2 is 1 − Σr²/Σ(y−ȳ)², the share of the variance that is explained. For constant
	// targets it is 1 if all are predicted exactly and 0 otherwise.
	R2 float64 `json:"r2"`
}

// Report returns the scores. Means and variances are rounded once from exact
// sums.
func (t *Targets) Report() TargetReport {
	r := TargetReport{Rows: t.n, NotFinite: t.notFinite, MaxError: t.max}
	if t.n == 0 {
		return r
	}
	mse := exact.Mean(t.n, &t.r2)
	mean, variance := exact.Moments(t.n, &t.y, &t.y2)
	r.RMSE, r.MAE = math.Sqrt(mse), exact.Mean(t.n, &t.abs)
	r.TargetMean, r.TargetDev = mean, math.Sqrt(max(variance, 0))
	switch {
	case variance > 0:
		r.R2 = 1 - mse/variance
	case mse == 0:
		r.R2 = 1
	}
	return r
}

var (
	_ encoding.BinaryMarshaler   = (*Targets)(nil)
	_ encoding.BinaryUnmarshaler = (*Targets)(nil)
)

var errTargets = errors.New("score: damaged encoding of target sums")

// MarshalBinary writes the counts, the largest residual and the sums. Sums over
// the same rows have equal encodings. The error is always nil.
func (t *Targets) MarshalBinary() ([]byte, error) {
	le := binary.LittleEndian
	b := le.AppendUint64(nil, uint64(t.n))
	b = le.AppendUint64(b, uint64(t.notFinite))
	b = le.AppendUint64(b, math.Float64bits(t.max))
	for _, s := range [...]*exact.Sum{&t.y, &t.y2, &t.r2, &t.abs} {
		b, _ = s.AppendBinary(b)
	}
	return b, nil
}

// UnmarshalBinary sets t to the sums encoded in b.
func (t *Targets) UnmarshalBinary(b []byte) error {
	le := binary.LittleEndian
	if len(b) < 24 {
		return errTargets
	}
	u := Targets{
		n:         int64(le.Uint64(b)),
		notFinite: int64(le.Uint64(b[8:])),
		max:       math.Float64frombits(le.Uint64(b[16:])),
	}
	b = b[24:]
	for _, s := range [...]*exact.Sum{&u.y, &u.y2, &u.r2, &u.abs} {
		var err error
		if b, err = s.Decode(b); err != nil {
			return errTargets
		}
	}
	switch {
	case len(b) > 0, u.n < 0, u.notFinite < 0,
		!(u.max >= 0 && u.max <= math.MaxFloat32), math.Signbit(u.max),
		u.y2.Sign() < 0, u.r2.Sign() < 0, u.abs.Sign() < 0,
		u.n == 0 && !(u.max == 0 && u.y.IsZero() && u.y2.IsZero() && u.r2.IsZero() && u.abs.IsZero()):
		return errTargets
	}
	*t = u
	return nil
}
