package ridge

import (
	"fmt"
	"math"
)

// TargetGrid puts the targets of a regression, known to lie in [Low, High], on
// 16 bits: y ≈ Mid() + Step()·q with |q| ≤ 32767, off by at most half a step.
type TargetGrid struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Validate returns an error unless Low ≤ High and both are finite.
func (g TargetGrid) Validate() error {
	if !(g.High-g.Low >= 0) || math.IsInf(g.High-g.Low, 0) {
		return fmt.Errorf("ridge: target grid from %g to %g: want finite bounds in this order", g.Low, g.High)
	}
	return nil
}

// Mid returns the target that q = 0 stands for.
func (g TargetGrid) Mid() float64 { return g.Low + (g.High-g.Low)/2 }

// Half returns half the range: targets are Mid() ± Half(). It is 0 if all
// targets are equal.
func (g TargetGrid) Half() float64 { return (g.High - g.Low) / 2 }

// Step returns the distance of neighbours on the grid, in the units of the
// targets.
func (g TargetGrid) Step() float64 { return g.Half() / maxTarget }

// Value returns the target that q stands for.
func (g TargetGrid) Value(q int32) float64 {
	return g.Mid() + float64(g.Step()*float64(q))
}

// Scaled returns y as a fraction of the range: -1 at its low end, 1 at its high
// end, 0 if all targets are equal.
func (g TargetGrid) Scaled(y float64) float32 {
	if g.Half() == 0 {
		return 0
	}
	return float32((y - g.Mid()) / g.Half())
}

// Contains reports whether y is in the range. Quantize cuts other values to it.
func (g TargetGrid) Contains(y float64) bool {
	return y >= g.Low && y <= g.High
}

// Quantize returns the point of the grid nearest to v, the even one of two; of a
// v outside the range, the end of the grid.
func (g TargetGrid) Quantize(v float64) int32 {
	switch {
	case v < g.Low:
		return -maxTarget
	case !(v <= g.High):
		return maxTarget
	case g.Step() == 0:
		return 0
	}
	r := math.RoundToEven((v - g.Mid()) / g.Step())
	// Rounding of the quotient can pass the last point by a fraction.
	return int32(max(-maxTarget, min(maxTarget, r)))
}
