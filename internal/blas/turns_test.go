package blas

import (
	"math"
	"testing"
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
		"dense":    func(i int) float32 { return float32(i-1<<18) / (1 << 18) },
		"tiny":     func(i int) float32 { return math.Float32frombits(uint32(i) * 2000) },
		"units":    func(i int) float32 { return float32(i) * 1e-4 },
		"large":    func(i int) float32 { return float32(i) * 16.03 },
		"negative": func(i int) float32 { return -float32(i) * 3.001 },
	}
	r := random(3)
	sets["random"] = func(int) float32 { return float32(r.NormFloat64()) }
	n := 1 << 19
	if testing.Short() {
		n = 1 << 16
	}
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

func TestCosineNeverPassesOne(t *testing.T) {
	for i := range 1 << 21 {
		r := float32(i) / (1 << 22)
		if c, s := cosReduced(r), sinReduced(r); abs32(c) > 1 || abs32(s) > 1 {
			t.Fatalf("at %g turns: (%g, %g)", r, c, s)
		}
	}
}
