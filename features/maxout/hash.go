package maxout

import "github.com/bochner-ml/bochner/features"

var _ features.Hasher = (*featureMap)(nil)

// HashLen returns the number of words of a row's packed codes.
func (m *featureMap) HashLen() int { return packedLen(m.out, m.q) }

// Hash stores in dst (n×HashLen) the packed codes of the n rows of x (see codes and
// pack). It panics if a slice is too short.
func (m *featureMap) Hash(dst []uint64, x []float32, n int) {
	words := m.HashLen()
	if n < 0 || len(dst) < n*words {
		panic("maxout: Hash: slice too short")
	}
	codes := make([]uint8, n*m.out)
	m.codes(codes, x, n)
	for i := range n {
		pack(dst[i*words:(i+1)*words], codes[i*m.out:(i+1)*m.out], m.q)
	}
}
