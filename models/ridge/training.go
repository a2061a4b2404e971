package ridge

import (
	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models/learner"
)

func init() {
	learner.Register(learner.Learner{
		Name: "ridge", Aliases: []string{"krr"}, Summary: "least squares, one pass", Weighted: true,
		New: func() learner.Options { return NewTraining() },
	})
}

// Training holds the options of training by this learner. The zero value is that of
// NewTraining.
type Training struct {
	// Grid is the bits of the grid on which features are added up: 8 or 16; "" is auto.
	Grid Bits `flag:"grid" help:"Bits of the grid that ridge rounds features to for exact sums: 8, 16 (four times slower) or auto, which uses 16 for small data, for raw columns, and when the chosen lambda is too small for 8." values:"auto,8,16"`
	// Weights selects the weights of classes; none if empty.
	Weights []string `flag:"class_weight" list:"commas" help:"Class weights in the loss: balanced, or a list of NAME=WEIGHT separated by commas."`
}

// NewTraining returns the default options.
func NewTraining() *Training { return &Training{Grid: AutoBits} }

// Validate returns errors that do not depend on the data.
func (t *Training) Validate() error { return t.Grid.Validate() }

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

// Steps returns the initial number of grid steps: of a grid of 8 bits, or fine. Auto
// takes fine if products, rows × D², are at most that few, and if features are wide, each
// with its own range (features.Ranged).
func (b Bits) Steps(products, few float64, wide bool, fine int) int {
	if b != Bits8 && (b == Bits16 || wide || products <= few) {
		return fine
	}
	return features.ByteSteps
}

// FewProducts is the number of products of features, rows × D², up to which auto uses 16
// bits at once because their cost is small.
const FewProducts = 0x1p35

// FloorFactor times Floor is the least λ that the rounding of features hardly affects.
const FloorFactor = 10

// GridOf returns the size of a grid step of a map's features: of all, or, with ranges, of
// one whose range is from −1 to 1.
func GridOf(m features.Gridded, steps int) (step float64, ranges Ranges) {
	if r, ok := m.(features.Ranged); ok {
		ranges.Centre, ranges.Half = r.Ranges()
		return 1 / float64(steps), ranges
	}
	return m.Step() * features.ByteSteps / float64(steps), ranges
}
