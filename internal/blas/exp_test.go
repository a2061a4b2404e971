package blas

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestExpEachMatchesExp(t *testing.T) {
	odd := []float64{0, math.Copysign(0, -1), 1, -1, -708, math.Nextafter(-708, -800), -709, -1e300, 709.7827,
		math.Nextafter(709.7827, 800),
		709.78271289338397, 710, 1e300, math.Inf(1), math.Inf(-1), math.NaN(), 709, 709.5, 0.5 * math.Ln2, -0.5 * math.Ln2,
		5e-324, -5e-324}
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for n := range 70 {
			x, check := guarded[float64](t, n)
			for i := range x {
				x[i] = 250 * r.NormFloat64()
				if r.IntN(3) == 0 {
					x[i] = odd[r.IntN(len(odd))]
				}
			}
			want := append([]float64(nil), x...)
			for i, v := range want {
				want[i] = Exp(v)
			}
			ExpEach(x)
			for i, v := range x {
				if math.Float64bits(v) != math.Float64bits(want[i]) {
					t.Errorf("%d elements: element %d is %g, want %g", n, i, v, want[i])
				}
			}
			check()
		}
	})
}

func TestFloatsConvertsExactly(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for n := range 70 {
			dst, check := guarded[float32](t, n)
			src := make([]int16, n)
			for i := range src {
				src[i] = int16(i*1999 - 1<<15)
			}
			Floats(dst, src)
			for i, v := range dst {
				if v != float32(src[i]) {
					t.Errorf("%d numbers: number %d is %g, want %d", n, i, v, src[i])
				}
			}
			check()
		}
	})
}
