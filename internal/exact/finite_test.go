package exact

import (
	"math"
	"testing"
)

func TestFiniteIsNeitherNaNNorInfinite(t *testing.T) {
	for _, v := range []float64{0, math.Copysign(0, -1), 1, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64} {
		if !Finite(v) || !AllFinite([]float64{1, v}) {
			t.Errorf("%g is not finite", v)
		}
	}
	for _, v := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		if Finite(v) || AllFinite([]float32{1, v}) {
			t.Errorf("%g is finite", v)
		}
	}
}
