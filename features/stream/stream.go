package stream

import "math/bits"

// Purpose separates the uses of one seed: streams of different purposes are
// independent.
type Purpose uint32

// PurposeOf returns the purpose of that name: the 32-bit FNV-1a hash of its bytes.
func PurposeOf(name string) Purpose {
	const offset, prime = 0x811C9DC5, 0x01000193
	h := uint32(offset)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * prime
	}
	return Purpose(h)
}

// Stream is a sequence of random numbers, 2³³ words long. Make one with New;
// it is not safe for concurrent use, but cheap enough for each row to have its own.
// A *Stream is a rand.Source of math/rand/v2.
type Stream struct {
	k0, k1     uint32
	c1, c2, c3 uint32
	block      uint64 // the next block; the stream is exhausted at 2³²
	second     uint64 // the block's second word, if it is still unused
	half       bool
}

// New returns the stream of a seed, a purpose and an index, at its first word.
func New(seed uint64, purpose Purpose, index uint64) *Stream {
	return &Stream{
		k0: uint32(seed), k1: uint32(seed >> 32),
		c1: uint32(purpose), c2: uint32(index), c3: uint32(index >> 32),
	}
}

// Uint64 returns the next word. It panics after 2³³ words.
func (s *Stream) Uint64() uint64 {
	if s.half {
		s.half = false
		return s.second
	}
	if s.block>>32 != 0 {
		panic("stream: more than 2³³ words drawn from one stream")
	}
	x0, x1, x2, x3 := philox(uint32(s.block), s.c1, s.c2, s.c3, s.k0, s.k1)
	s.block++
	s.second, s.half = uint64(x2)|uint64(x3)<<32, true
	return uint64(x0) | uint64(x1)<<32
}

// Below returns an integer uniform in [0, n). It panics if n is 0.
func (s *Stream) Below(n uint64) uint64 {
	if n == 0 {
		panic("stream: Below(0)")
	}
	hi, lo := bits.Mul64(s.Uint64(), n)
	if lo < n { // otherwise lo cannot be below 2⁶⁴ mod n
		for least := -n % n; lo < least; {
			hi, lo = bits.Mul64(s.Uint64(), n)
		}
	}
	return hi
}

// philox is Philox4x32-10 of Salmon et al. (2011).
func philox(c0, c1, c2, c3, k0, k1 uint32) (uint32, uint32, uint32, uint32) {
	const (
		m0, m1 = 0xD2511F53, 0xCD9E8D57
		w0, w1 = 0x9E3779B9, 0xBB67AE85
		rounds = 10
	)
	for range rounds {
		p0, p1 := m0*uint64(c0), m1*uint64(c2)
		c0, c1, c2, c3 = uint32(p1>>32)^c1^k0, uint32(p1), uint32(p0>>32)^c3^k1, uint32(p0)
		k0 += w0
		k1 += w1
	}
	return c0, c1, c2, c3
}
