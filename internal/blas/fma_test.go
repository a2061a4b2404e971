package blas

import (
	"math"
	"math/big"
	"testing"
)

// exactFMA is x·y + z rounded once, by way of exact arithmetic.
func exactFMA(x, y, z float32) float32 {
	b := func(v float32) *big.Float { return new(big.Float).SetPrec(2000).SetFloat64(float64(v)) }
	p := b(x)
	p.Mul(p, b(y))
	p.Add(p, b(z))
	f, _ := p.Float32()
	return f
}

func TestFMA32RoundsOnce(t *testing.T) {
	r := random(1)
	wrong := 0 // how often rounding twice would be wrong: the test must see such cases
	try := func(x, y, z float32) {
		got, want := fma32(x, y, z), exactFMA(x, y, z)
		// big.Float has no signed zero from sums.
		if !same32(got, want) && !(got == 0 && want == 0) {
			t.Fatalf("fma32(%g, %g, %g) = %g, want %g", x, y, z, got, want)
		}
		if naive := float32(float64(x)*float64(y) + float64(z)); naive != want {
			wrong++
		}
	}
	bits := func() float32 {
		for {
			v := math.Float32frombits(r.Uint32())
			if e := math.Abs(float64(v)); e < 1e15 && (e > 1e-44 || e == 0) {
				return v
			}
		}
	}
	for range 200000 {
		try(bits(), bits(), bits())
		// Subnormal results.
		try(float32(r.NormFloat64()*1e-22), float32(r.NormFloat64()*1e-22), float32(r.NormFloat64()*1e-42))
		// z + 1 is a midpoint of float32, and the product 1 - e² too near to 1 for
		// float64 to tell.
		z := float32(1<<24 + 2*r.IntN(1<<23))
		e := float32(math.Ldexp(1, -r.IntN(9)-15))
		try(1+e, 1-e, z)
		try(-1-e, 1-e, -z)
		try(-1-e, 1-e, z)
		// The same where the result has one bit less, being below 2⁻¹²⁶.
		z = math.Float32frombits(uint32(1<<22 + r.IntN(1<<22)))
		e = float32(math.Ldexp(1, -r.IntN(8)-16))
		try(0x1p-75*(1+e), 0x1p-75*(1-e), z)
		try(-0x1p-75*(1+e), 0x1p-75*(1-e), z)
	}
	if wrong < 100 {
		t.Errorf("only %d cases needed the second thought", wrong)
	}
}

func TestFMA32HandlesSpecialValues(t *testing.T) {
	inf, nan, zero := float32(math.Inf(1)), float32(math.NaN()), float32(0)
	neg := float32(math.Copysign(0, -1))
	for _, c := range []struct{ x, y, z, want float32 }{
		{inf, 1, 1, inf}, {inf, 1, -inf, nan}, {inf, 0, 1, nan}, {nan, 1, 1, nan}, {1, 1, nan, nan},
		{neg, 1, neg, neg}, {neg, 1, zero, zero}, {1, 1, -1, 0}, {math.MaxFloat32, 2, 0, inf},
		{math.MaxFloat32, 2, -math.MaxFloat32, math.MaxFloat32}, {-1e-45, 0.25, 0, neg},
	} {
		if got := fma32(c.x, c.y, c.z); !same32(got, c.want) {
			t.Errorf("fma32(%g, %g, %g) = %g, want %g", c.x, c.y, c.z, got, c.want)
		}
	}
}
