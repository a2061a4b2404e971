package linear

import (
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
)

const maxTarget = blas.MaxTarget // |q| on the grid

// TargetGrid rounds the targets of a regression, which must be in [Low, High], to 16 bits: y ≈ Mid() +
// Step()·q with |q| ≤ 32767 and an error of at most half a step.
type TargetGrid struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Validate returns an error unless Low ≤ High and both are finite.
func (g TargetGrid) Validate() error {
	if !(g.High-g.Low >= 0) || math.IsInf(g.High-g.Low, 0) {
		return fmt.Errorf("linear: target grid from %g to %g: want finite bounds in this order", g.Low, g.High)
	}
	return nil
}

// Mid returns the target at q = 0.
func (g TargetGrid) Mid() float64 { return g.Low + (g.High-g.Low)/2 }

// Half returns half the range: targets are Mid() ± Half(). It is 0 if all targets are equal.
func (g TargetGrid) Half() float64 { return (g.High - g.Low) / 2 }

// Step returns the distance between neighbouring grid points, in the units of the targets.
func (g TargetGrid) Step() float64 { return g.Half() / maxTarget }

// Value returns the target at grid point q.
func (g TargetGrid) Value(q int32) float64 {
	return g.Mid() + float64(g.Step()*float64(q))
}

// Scaled returns y scaled to the range: −1 at its low end, 1 at its high end, 0 if all targets are equal.
func (g TargetGrid) Scaled(y float64) float32 {
	if g.Half() == 0 {
		return 0
	}
	return float32((y - g.Mid()) / g.Half())
}

// Unscaled returns the target that Scaled maps to s.
func (g TargetGrid) Unscaled(s float32) float64 {
	return g.Mid() + float64(g.Half()*float64(s))
}

// Contains reports whether y is in the range. Quantize clips other values to it.
func (g TargetGrid) Contains(y float64) bool {
	return y >= g.Low && y <= g.High
}

// Quantize returns the grid point nearest to v, the even one of two. It clips v to the range.
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
	// The quotient may exceed the last point by a rounding error.
	return int32(max(-maxTarget, min(maxTarget, r)))
}

// SpreadGrid returns the grid that scales targets for iterative learners: from their median it extends one
// robust standard deviation to each side. Losses with a unit (ε, and the λ that goes with it) then do not
// depend on the range, which one target can stretch. scaled is a sample of targets scaled to the range
// span. If half of the targets are equal, wider quantiles give the spread; if nearly all are, the range
// does.
func SpreadGrid(scaled []float32, span TargetGrid) *TargetGrid {
	s := slices.Sorted(slices.Values(scaled))
	at := func(q float64) float64 { return float64(s[int(float64(q*float64(len(s)-1))+0.5)]) }
	spread := 0.0
	// Distances between quantiles of a normal distribution, in standard deviations.
	for _, c := range []struct{ tail, deviations float64 }{{0.25, normalQuartiles}, {0.1, 2.5631031310892007},
		{0.02, 4.1074978212636450}} {
		spread = (at(1-c.tail) - at(c.tail)) / c.deviations
		if spread > 0 {
			break
		}
	}
	if !(spread > 0) {
		return &span
	}
	mid, half := span.Mid()+float64(span.Half()*at(0.5)), float64(span.Half()*spread)
	g := &TargetGrid{Low: mid - half, High: mid + half}
	if !(g.Half() > 0) || math.IsInf(g.High-g.Low, 0) {
		return &span
	}
	return g
}

// normalQuartiles is the distance of the quartiles of a normal distribution in standard
// deviations.
const normalQuartiles = 1.3489795003921634
