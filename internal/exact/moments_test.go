package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// ratMoments is the dumb twin: rational arithmetic over the list of values.
func ratMoments(x []float32) (mean, variance float64) {
	n := big.NewRat(int64(len(x)), 1)
	m, v := new(big.Rat), new(big.Rat)
	for _, f := range x {
		m.Add(m, new(big.Rat).SetFloat64(float64(f)))
	}
	m.Quo(m, n)
	for _, f := range x {
		d := new(big.Rat).SetFloat64(float64(f))
		d.Sub(d, m)
		v.Add(v, d.Mul(d, d))
	}
	v.Quo(v, n)
	mean, _ = m.Float64()
	variance, _ = v.Float64()
	return mean, variance
}

func TestMomentsAreRoundedOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for i := range 400 {
		x := make([]float32, 1+r.IntN(20))
		for j := range x {
			switch i % 3 {
			case 0:
				x[j] = anyFloat(r)
			case 1: // a tiny spread on a large offset, where float64 formulas fail
				x[j] = 1e6 + float32(r.IntN(3))/16
			case 2:
				x[j] = float32(r.NormFloat64())
			}
		}
		var s, q Sum
		for _, f := range x {
			s.Add(f)
			q.AddSquare(f)
		}
		mean, variance := Moments(int64(len(x)), &s, &q)
		wantMean, wantVar := ratMoments(x)
		if mean != wantMean || variance != wantVar {
			t.Fatalf("moments %x, %x; want %x, %x of %v", mean, variance, wantMean, wantVar, x)
		}
		if Mean(int64(len(x)), &s) != wantMean {
			t.Fatalf("mean of %v", x)
		}
	}
}

// The mean is not 1, as it would be after rounding to 64 bits first, where it is a tie.
func TestMeanIsNotRoundedTwice(t *testing.T) {
	var s Sum
	for _, x := range []float32{1, 0x1p-53, 0x1p-80} {
		s.Add(x)
	}
	if m := Mean(1, &s); m != 1+0x1p-52 {
		t.Errorf("mean %x", m)
	}
}

func TestConstantsHaveNoVariance(t *testing.T) {
	for _, c := range []float32{0, 0.1, -3e38, 0x1p-149} {
		var s, q Sum
		for range 7 {
			s.Add(c)
			q.AddSquare(c)
		}
		if m, v := Moments(7, &s, &q); v != 0 || m != float64(c) {
			t.Errorf("%v: mean %v, variance %v", c, m, v)
		}
	}
}

func TestMomentsOfNoRowsAndOfManyRows(t *testing.T) {
	if m, v := Moments(0, new(Sum), new(Sum)); m != 0 || v != 0 {
		t.Errorf("of none: %v, %v", m, v)
	}
	// One unit among 2⁶³−1 values: the smallest moments there are stay normal.
	var s, q Sum
	s.Add(0x1p-149)
	q.AddSquare(0x1p-149)
	m, v := Moments(math.MaxInt64, &s, &q)
	if m != 0x1p-212 || v != 0x1p-361 {
		t.Errorf("smallest: %x, %x", m, v)
	}
}

func BenchmarkMoments(b *testing.B) {
	var s, q Sum
	for i := range 1000 {
		s.Add(float32(i))
		q.AddSquare(float32(i))
	}
	for b.Loop() {
		Moments(1000, &s, &q)
	}
}
