package blas

import (
	"fmt"
	"math"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// turnsError returns the largest errors of cosine and sine at the given turns,
// against math.Cos and math.Sin of the exactly reduced angle.
func turnsError(angles []float32) (cos, sin float64) {
	p := Pack([]float32{1}, nil, 1, 1)
	out := make([]float32, 2*len(angles))
	p.CosSin(out, angles, len(angles), 1, 1)
	for i, t := range angles {
		r := float64(t) - math.RoundToEven(float64(t))
		cos = max(cos, math.Abs(float64(out[2*i])-math.Cos(2*math.Pi*r)))
		sin = max(sin, math.Abs(float64(out[2*i+1])-math.Sin(2*math.Pi*r)))
	}
	return cos, sin
}

func TestCosineIsWithin2e7(t *testing.T) {
	sets := map[string]func(i int) float32{
		"dense":    func(i int) float32 { return float32(i-1<<16) / (1 << 16) },
		"tiny":     func(i int) float32 { return math.Float32frombits(uint32(i) * 8000) },
		"units":    func(i int) float32 { return float32(i) * 4e-4 },
		"large":    func(i int) float32 { return float32(i) * 64.03 },
		"negative": func(i int) float32 { return -float32(i) * 3.001 },
	}
	r := random(3)
	sets["random"] = func(int) float32 { return float32(r.NormFloat64()) }
	n := campaign.Pick(1<<16, 1<<17)
	eachLevel(t, func(t *testing.T) {
		for name, f := range sets {
			angles := make([]float32, n)
			for i := range angles {
				angles[i] = f(i)
			}
			cos, sin := turnsError(angles)
			if !(cos <= 1.4e-7) || !(sin <= 1.4e-7) {
				t.Errorf("%s: cosine off by %.3g, sine by %.3g, want at most 1.4e-7", name, cos, sin)
			}
		}
	})
}

func TestQuarterTurnsAreExact(t *testing.T) {
	for q := -8; q <= 8; q++ {
		r := reduce(float32(q) / 4)
		cos, sin := cosReduced(r), sinReduced(r)
		wantCos := []float32{1, 0, -1, 0}[(q+8)%4]
		wantSin := []float32{0, 1, 0, -1}[(q+8)%4]
		if cos != wantCos || sin != wantSin {
			t.Errorf("%d quarters: (%g, %g), want (%g, %g)", q, cos, sin, wantCos, wantSin)
		}
	}
}

func TestCosineNeverExceedsOne(t *testing.T) {
	for i := range 1 << 21 {
		r := float32(i) / (1 << 22)
		if c, s := cosReduced(r), sinReduced(r); abs32(c) > 1 || abs32(s) > 1 {
			t.Fatalf("at %g turns: (%g, %g)", r, c, s)
		}
	}
}

// Features that bypass the cache equal features that do not.
func TestStreamingStoresMatchPlainStores(t *testing.T) {
	r := random(4)
	eachLevel(t, func(t *testing.T) {
		for _, c := range []struct{ rows, vecs, ds, sin, shift int }{
			{3, 5, 176, 96, 0},
			{1, 1, 32, 16, 0},
			{7, 2, 64, 32, 5}, // not on a line
			{4, 3, 101, 50, 0},
		} {
			src := normals[float32](r, c.rows*c.vecs*lanes)
			var got, want [2][]float32
			for i, stream := range []bool{true, false} {
				for k := range got {
					dst := Make[float32](c.rows*c.ds + 16)[c.shift:]
					for j := range dst {
						dst[j] = 7 // what is between rows stays
					}
					if k == 0 {
						active().cos(dst, c.ds, src, c.vecs*lanes, c.rows, c.vecs, 0.3, stream)
					} else {
						active().cosSin(dst, c.ds, c.sin, src, c.vecs*lanes, c.rows, c.vecs, 0.3, stream)
					}
					[]*[2][]float32{&got, &want}[i][k] = dst
				}
			}
			for k := range got {
				mustSame32(t, fmt.Sprintf("%+v", c), got[k], want[k])
			}
		}
		// Many features take that way by themselves.
		const n, in, out = 1100, 3, 1024
		p, x := Pack(normals[float32](r, in*out), nil, out, in), normals[float32](r, n*in)
		all, part := Make[float32](n*out), make([]float32, n*out)
		p.Cos(all, x, n, 1, 2)
		for i := range n {
			p.Cos(part[i*out:], x[i*in:], 1, 1, 1)
		}
		mustSame32(t, "many", all, part)
	})
}
