package exact

import (
	"math"
	"math/big"
	"math/bits"
)

const (
	limbs    = 10
	unitBits = 298 // the unit is 2^-unitBits
)

// Sum is an exact sum of float32 values and of products of two float32. The
// zero value is an empty sum; a copy of the value is a sum of its own. Equal
// sums are equal under ==. A Sum is not safe for concurrent use.
type Sum struct {
	limbs [limbs]uint64 // two's complement, least significant first
}

// split returns x as (−1)^sign·m·2^(e−150), with 1 ≤ e ≤ 254. It panics if x is
// not finite.
func split(x float32) (m uint64, e uint, sign uint64) {
	b := math.Float32bits(x)
	e = uint(b >> 23 & 0xff)
	m = uint64(b & (1<<23 - 1))
	if e-1 >= 254 {
		if e != 0 {
			panic("exact: not finite")
		}
		return m, 1, uint64(b >> 31)
	}
	return m | 1<<23, e, uint64(b >> 31)
}

// Add adds x. It panics if x is not finite.
func (s *Sum) Add(x float32) {
	if x == 0 {
		return
	}
	m, e, sign := split(x)
	s.add(m, e+unitBits-150, sign)
}

// AddProduct adds a·b. It panics if a or b is not finite.
func (s *Sum) AddProduct(a, b float32) {
	if a == 0 && Finite(b) || b == 0 && Finite(a) {
		return
	}
	ma, ea, sa := split(a)
	mb, eb, sb := split(b)
	s.add(ma*mb, ea+eb+unitBits-300, sa^sb)
}

// AddSquare adds x². It panics if x is not finite.
func (s *Sum) AddSquare(x float32) {
	if x == 0 {
		return
	}
	m, e, _ := split(x)
	s.add(m*m, 2*e+unitBits-300, 0)
}

// AddWeightedSquare adds w·x², as AddWeightedProduct.
func (s *Sum) AddWeightedSquare(w, x float32) { s.AddWeightedProduct(w, x, x) }

// AddWeighted64 adds w·x for each term that Add64 adds of x.
func (s *Sum) AddWeighted64(w float32, x float64) {
	a, b, c := parts(x)
	s.AddProduct(w, a)
	s.AddProduct(w, b)
	s.AddProduct(w, c)
}

// AddWeightedSquare64 adds w times the square of the number that Add64 adds for x.
func (s *Sum) AddWeightedSquare64(w float32, x float64) {
	if w == 1 { // faster
		s.AddSquare64(x)
		return
	}
	a, b, c := parts(x)
	for _, p := range [...][2]float32{{a, a}, {b, b}, {c, c}, {a, b}, {a, b}, {a, c}, {a, c}, {b, c}, {b, c}} {
		s.AddWeightedProduct(w, p[0], p[1])
	}
}

// AddWeightedProduct adds w·x·y, truncated to a multiple of 2⁻²⁹⁸. The sum of such terms still
// does not depend on their order. It panics unless 0 ≤ w < 2⁶⁴ and x and y are finite.
func (s *Sum) AddWeightedProduct(w, x, y float32) {
	if !(w >= 0 && w < 0x1p64) {
		panic("exact: weight out of range")
	}
	if w == 0 || x == 0 || y == 0 {
		return
	}
	mw, ew, _ := split(w)
	mx, ex, sx := split(x)
	my, ey, sy := split(y)
	hi, lo := bits.Mul64(mx*my, mw)
	if pos := int(ew+ex+ey) + unitBits - 450; sx == sy {
		s.addWide(hi, lo, pos)
	} else {
		var t Sum
		t.addWide(hi, lo, pos)
		s.Sub(&t)
	}
}

// addWide adds hi·2⁶⁴ + lo, shifted left by pos bits, in units.
func (s *Sum) addWide(hi, lo uint64, pos int) {
	if r := uint(-pos); pos < 0 {
		if r < 64 {
			lo, hi = lo>>r|hi<<(64-r), hi>>r
		} else {
			lo, hi = hi>>(r-64), 0
		}
		pos = 0
	}
	// Three limbs of 64 bits, from limb l on.
	l, sh := uint(pos>>6), uint(pos&63)
	var c uint64
	for i, t := range [3]uint64{lo << sh, lo>>1>>(63-sh) | hi<<sh, hi >> 1 >> (63 - sh)} {
		if at := l + uint(i); at < limbs {
			s.limbs[at], c = bits.Add64(s.limbs[at], t, c)
		}
	}
	if c != 0 {
		s.ripple(l+3, c)
	}
}

// parts returns three float32 whose exact sum is x, except for bits below the smallest
// float32, 2⁻¹⁴⁹. It panics if x is beyond the range of float32.
func parts(x float64) (a, b, c float32) {
	a = float32(x)
	x -= float64(a)
	b = float32(x)
	return a, b, float32(x - float64(b))
}

// Add64 adds x, exactly where it has no bits below 2⁻¹⁴⁹. It panics if x is beyond the
// range of float32.
func (s *Sum) Add64(x float64) {
	a, b, c := parts(x)
	s.Add(a)
	s.Add(b)
	s.Add(c)
}

// AddSquare64 adds the square of the number that Add64 adds.
func (s *Sum) AddSquare64(x float64) {
	a, b, c := parts(x)
	s.AddSquare(a)
	if b == 0 {
		return
	}
	s.AddSquare(b)
	s.AddSquare(c)
	for range 2 {
		s.AddProduct(a, b)
		s.AddProduct(a, c)
		s.AddProduct(b, c)
	}
}

// add adds (−1)^sign·m·2^pos units, for m < 2⁴⁸ and pos < 512. The term touches
// two limbs; a carry or borrow seldom leaves them. The sign is a mask rather
// than a branch, because signs of data cannot be predicted.
func (s *Sum) add(m uint64, pos uint, sign uint64) {
	l, sh := pos>>6&7, pos&63
	mask := -sign
	// −t = ^t + 1, where ^t has ones in all limbs above the two.
	lo, c := bits.Add64(s.limbs[l], m<<sh^mask, sign)
	hi, c := bits.Add64(s.limbs[l+1], m>>1>>(^pos&63)^mask, c)
	s.limbs[l], s.limbs[l+1] = lo, hi
	if c != sign {
		s.ripple(l+2, c)
	}
}

// ripple adds one at limb l if carry is 1, and subtracts one if it is 0.
func (s *Sum) ripple(l uint, carry uint64) {
	if carry != 0 {
		for ; l < limbs; l++ {
			s.limbs[l]++
			if s.limbs[l] != 0 {
				return
			}
		}
		return
	}
	for ; l < limbs; l++ {
		s.limbs[l]--
		if s.limbs[l] != math.MaxUint64 {
			return
		}
	}
}

// Merge adds the terms of t.
func (s *Sum) Merge(t *Sum) {
	var c uint64
	for i := range s.limbs {
		s.limbs[i], c = bits.Add64(s.limbs[i], t.limbs[i], c)
	}
}

// Sub subtracts the terms of t.
func (s *Sum) Sub(t *Sum) {
	var c uint64
	for i := range s.limbs {
		s.limbs[i], c = bits.Sub64(s.limbs[i], t.limbs[i], c)
	}
}

// IsZero reports whether the sum is exactly zero.
func (s *Sum) IsZero() bool { return s.limbs == [limbs]uint64{} }

// Sign returns −1, 0 or +1.
func (s *Sum) Sign() int {
	switch {
	case s.limbs[limbs-1]>>63 != 0:
		return -1
	case s.IsZero():
		return 0
	}
	return 1
}

// abs returns the magnitude of the sum in units.
func (s *Sum) abs() [limbs]uint64 {
	a := s.limbs
	if a[limbs-1]>>63 != 0 {
		c := uint64(1)
		for i := range a {
			a[i], c = bits.Add64(^a[i], 0, c)
		}
	}
	return a
}

// Float64 returns the sum rounded to the nearest float64, ties to even. Every
// sum is in the range of normal float64 numbers.
func (s *Sum) Float64() float64 {
	a := s.abs()
	i := limbs - 1
	for i >= 0 && a[i] == 0 {
		i--
	}
	if i < 0 {
		return 0
	}
	z := bits.LeadingZeros64(a[i])
	top, rest := a[i]<<z, uint64(0) // the leading 64 bits, and all that is below
	if i > 0 {
		top |= a[i-1] >> 1 >> (63 - z)
		rest = a[i-1] << z
		for _, l := range a[:i-1] {
			rest |= l
		}
	}
	const drop = 64 - 53
	m, low := top>>drop, top&(1<<drop-1)
	const half = 1 << (drop - 1)
	if low > half || low == half && (rest != 0 || m&1 != 0) {
		m++
	}
	x := math.Ldexp(float64(m), 64*i-z+drop-unitBits)
	if s.Sign() < 0 {
		return -x
	}
	return x
}

// Big returns the sum in units of 2⁻²⁹⁸.
func (s *Sum) Big() *big.Int {
	a := s.abs()
	buf := make([]byte, 0, 8*limbs)
	for i := limbs - 1; i >= 0; i-- {
		for sh := 56; sh >= 0; sh -= 8 {
			buf = append(buf, byte(a[i]>>sh))
		}
	}
	z := new(big.Int).SetBytes(buf)
	if s.Sign() < 0 {
		z.Neg(z)
	}
	return z
}
