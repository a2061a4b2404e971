package blas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestDistancesMatchTheirDefinition(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, n := range []int{0, 1, 3, 4, 5, 33, 70} {
			for d := range 14 {
				a, x := make([]float32, d), make([]float32, n*d)
				for _, v := range [][]float32{a, x} {
					for i := range v {
						v[i] = float32(r.NormFloat64())
					}
				}
				if n > 3 && d > 2 {
					x[2], x[d+1] = float32(math.NaN()), float32(math.Inf(1))
				}
				for _, absolute := range []bool{false, true} {
					got, check := guarded[float64](t, n)
					Distances(got, a, x, absolute)
					for j := range n {
						var s [4]float64
						for k, v := range a {
							e := math.Abs(float64(v) - float64(x[j*d+k]))
							if !absolute {
								e = float64(e * e)
							}
							s[k%4] += e
						}
						if want := (s[0] + s[1]) + (s[2] + s[3]); got[j] != want && (got[j] == got[j] || want == want) {
							t.Errorf("%s: %g, want %g", fmt.Sprint(n, d, absolute, j), got[j], want)
						}
					}
					check()
				}
			}
		}
	})
}
