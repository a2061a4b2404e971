package exact

import (
	"encoding/binary"
	"errors"
)

var errEncoding = errors.New("exact: damaged encoding of a sum")

// AppendBinary appends the sum to b. A first byte holds the index of the lowest
// limb that is written (low four bits) and the number of limbs (high four
// bits); the limbs follow, little-endian, least significant first. Zero limbs
// below and limbs above that only repeat the sign are left out; zero is the one
// byte 0. Equal sums have equal encodings. The error is always nil.
func (s *Sum) AppendBinary(b []byte) ([]byte, error) {
	lo, hi := s.span()
	b = append(b, byte(hi-lo)<<4|byte(lo))
	for _, l := range s.limbs[lo:hi] {
		b = binary.LittleEndian.AppendUint64(b, l)
	}
	return b, nil
}

// span returns the shortest range of limbs that determines the sum.
func (s *Sum) span() (lo, hi int) {
	if s.IsZero() {
		return 0, 0
	}
	for s.limbs[lo] == 0 {
		lo++
	}
	hi = limbs
	for hi-1 > lo && s.limbs[hi-1] == uint64(int64(s.limbs[hi-2])>>63) {
		hi--
	}
	return lo, hi
}

// Decode sets s to the sum encoded at the start of b and returns the bytes
// after it. It refuses what AppendBinary does not write.
func (s *Sum) Decode(b []byte) (rest []byte, err error) {
	if len(b) == 0 {
		return nil, errEncoding
	}
	lo, n := int(b[0]&15), int(b[0]>>4)
	if lo+n > limbs || len(b) < 1+8*n {
		return nil, errEncoding
	}
	var t Sum
	for i := range n {
		t.limbs[lo+i] = binary.LittleEndian.Uint64(b[1+8*i:])
	}
	if n > 0 && t.limbs[lo+n-1]>>63 != 0 {
		for i := lo + n; i < limbs; i++ {
			t.limbs[i] = ^uint64(0)
		}
	}
	if l, h := t.span(); l != lo || h != lo+n {
		return nil, errEncoding
	}
	*s = t
	return b[1+8*n:], nil
}
