package features

import "github.com/bochner-ml/bochner/internal/option"

// Bits is the number of bits of a grid of features, or auto.
type Bits string

// Values of Bits; "" means AutoBits.
const (
	AutoBits Bits = "auto"
	Bits8    Bits = "8"
	Bits16   Bits = "16"
)

// MarshalText returns the text.
func (b Bits) MarshalText() ([]byte, error) { return []byte(b), nil }

// UnmarshalText accepts any text; Validate checks it.
func (b *Bits) UnmarshalText(text []byte) error {
	*b = Bits(text)
	return nil
}

// Validate returns an error unless b is one of the values.
func (b Bits) Validate() error {
	switch b {
	case "", AutoBits, Bits8, Bits16:
		return nil
	}
	return option.Errorf("grid", "must be auto, 8 or 16 (have %q)", string(b))
}

// Steps returns the initial number of grid steps: ByteSteps, or fine. Auto takes fine if the number of
// products, rows × D², is at most few, or if features are wide, each with its own range (see Ranged).
func (b Bits) Steps(products, few float64, wide bool, fine int) int {
	if b != Bits8 && (b == Bits16 || wide || products <= few) {
		return fine
	}
	return ByteSteps
}
