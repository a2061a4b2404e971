package blas

import "math"

// fma32 returns x·y + z, rounded once.
//
// The product is exact in float64, since 24+24 ≤ 53 bits. The sum is rounded to
// 53 bits and then to 24, which differs from one rounding only if the first
// one lands on the midpoint of two float32, or if the result is so small that
// float32 has fewer bits: those go the long way.
func fma32(x, y, z float32) float32 {
	s := float64(x)*float64(y) + float64(z)
	if doubtful(s) {
		return fma32Odd(x, y, z)
	}
	return float32(s)
}

// mulAdd32 is fma32, by the compiler's own fused multiply-add where it makes one.
func mulAdd32(x, y, z float32) float32 {
	if fused {
		return x*y + z
	}
	return fma32(x, y, z)
}

// doubtful reports whether rounding s to float32 may differ from rounding the sum
// that s came from.
func doubtful(s float64) bool { return tiny(s) || midpoint(s) }

// tiny reports whether the exponent of s is below float32's normal numbers, and s is not 0.
func tiny(s float64) bool { return math.Float64bits(s)<<1-1 < 897<<53-1 }

// midpoint reports whether s lies halfway between two float32 of 24 bits.
func midpoint(s float64) bool { return math.Float64bits(s)<<35 == 1<<63 }

// inexact reports whether s was rounded when it became p + c.
func inexact(p, c, s float64) bool {
	t := s - p
	return (p-(s-t))+(c-t) != 0
}

// fma32Odd is fma32 by rounding to odd first, which makes the second rounding
// harmless (Boldo & Melquiond 2008, Emulation of FMA and correctly rounded sums).
func fma32Odd(x, y, z float32) float32 {
	p, c := float64(x)*float64(y), float64(z)
	s := p + c
	// TwoSum (Knuth): s + e = p + c exactly. None of it can overflow, nor can
	// it be fused wrongly: there is no product but the exact one above.
	t := s - p
	e := (p - (s - t)) + (c - t)
	if e == 0 || e != e {
		return float32(s)
	}
	b := math.Float64bits(s)
	if b&1 == 0 {
		if (e > 0) == (s > 0) {
			b++
		} else {
			b--
		}
	}
	return float32(math.Float64frombits(b))
}
