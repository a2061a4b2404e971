package blas

import (
	"fmt"
	"math"
	"testing"
)

// largest is the maximum as the contract of Max says it.
func largest(v []float32) float32 {
	m := float32(math.Inf(-1))
	for _, x := range v {
		if x != x {
			return x
		}
		m = max(m, x)
	}
	if m == 0 {
		return 0
	}
	return m
}

func TestMaxIsTheLargestOfEachGroup(t *testing.T) {
	for _, s := range []struct{ n, in, groups, q int }{
		{1, 1, 1, 1}, {3, 5, 50, 1}, {5, 3, 40, 2}, {7, 4, 33, 3}, {9, 2, 100, 4}, {97, 3, 80, 5}, {4, 6, 70, 6}, {3, 20,
			60, 7},
		{2, 8, 200, 8}, {3, 9, 50, 15}, {4, 3, 49, 16}, {5, 2, 47, 17}, {2, 30, 20, 48}, {3, 4, 5, 184}, {2, 3, 4, 185}, {3,
			4, 5, 192},
		{2, 5, 3, 369}, {3, 2, 4, 370}, {2, 3, 3, 383}, {2, 3, 3, 384}, {3, 4, 3, 385}, {2, 2, 2, 1000}, {3, 0, 7, 5}, {0, 3,
			2, 4}, {1, 3, 0, 4},
	} {
		out := s.groups * s.q
		r := random(uint64(out))
		w, bias := normals[float32](r, out*s.in), normals[float32](r, out)
		if s.in > 2 && out > 0 {
			w[r.IntN(len(w))] = float32(math.NaN())
			w[r.IntN(len(w))] = -float32(math.NaN())
			bias[r.IntN(out)] = float32(math.Inf(-1))
		}
		if s.in == 0 {
			// Whole groups of zeros of either sign.
			for i := range bias {
				bias[i] = float32(math.Copysign(0, float64(i%2)-0.5))
			}
		}
		x, checkX := guarded[float32](t, s.n*s.in)
		normal(r, x)
		all := chains(x, w, bias, s.n, s.in, out)
		want := make([]float32, s.n*s.groups)
		for g := range want {
			want[g] = largest(all[g*s.q : (g+1)*s.q])
		}
		p := Pack(w, bias, out, s.in)
		eachISA(t, func(t *testing.T) {
			for _, threads := range []int{1, 3} {
				dst, check := guarded[float32](t, s.n*s.groups)
				p.Max(dst, x, s.n, s.q, threads)
				check()
				checkX()
				mustSame32(t, fmt.Sprintf("%+v, %d threads", s, threads), dst, want)
			}
		})
	}
}

func TestMaxKeepsNaN(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, q := range []int{2, 3, 5, 8, 13} {
			for at := range q {
				bias := make([]float32, 2*q)
				for i := range bias {
					bias[i] = float32(i)
				}
				bias[at] = float32(math.NaN())
				var dst [2]float32
				Pack(nil, bias, 2*q, 0).Max(dst[:], nil, 1, q, 1)
				if v := dst[0]; v == v || dst[1] != float32(2*q-1) {
					t.Errorf("q = %d, NaN at %d: %v", q, at, dst)
				}
			}
		}
	})
}

func TestMaxPanicsOnInvalidShapes(t *testing.T) {
	p, f := Pack(make([]float32, 12), nil, 6, 2), make([]float32, 100)
	mustPanic(t, "q = 4 of 6", func() { p.Max(f, f, 1, 4, 1) })
	mustPanic(t, "q = 0", func() { p.Max(f, f, 1, 0, 1) })
	mustPanic(t, "short destination", func() { p.Max(f[:5], f, 2, 2, 1) })
	mustPanic(t, "short source", func() { p.Max(f, f[:3], 2, 2, 1) })
}
