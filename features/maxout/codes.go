package maxout

import "math/bits"

// codes stores in dst (n×m, row-major) the codes of the n rows of x: for each unit the index j < q of its
// largest projection, the first of several. The mean share of units at which the codes of two rows differ
// is 1 − κ_q: a locality-sensitive hash (Mroueh, Rennie & Goel 2015, Remark 1). It panics if a slice is too
// short.
func (m *featureMap) codes(dst []uint8, x []float32, n int) {
	if n < 0 || len(x) < n*m.in || len(dst) < n*m.out {
		panic("maxout: codes: slice too short")
	}
	m.project(x, n, 1, func(p []float32, row, rows int) {
		_, width := m.weights.Dims()
		for i := range rows {
			to, from := dst[(row+i)*m.out:][:m.out], p[i*width:(i+1)*width]
			for l := range to {
				best, code := float32(0), 0
				for j := range m.q {
					k := l*m.q + j
					if m.index != nil {
						k = int(m.index[k])
					}
					if v := from[k]; j == 0 || v > best {
						best, code = v, j
					}
				}
				to[l] = uint8(code)
			}
		}
	})
}

// codeBits returns the number of bits of a unit's code, ⌈log₂ q⌉. It panics unless 1 ≤ q ≤ MaxQ.
func codeBits(q int) int {
	checkQ(q)
	return bits.Len(uint(q - 1))
}

// packedLen returns the number of words of m packed codes: codeBits(q) for every 64 units.
func packedLen(m, q int) int { return codeBits(q) * ((m + 63) / 64) }

// pack stores the codes in dst, packedLen words, plane by plane: bit ℓ mod 64 of
// word k·⌈m/64⌉ + ℓ div 64 is bit k of the code of unit ℓ. Bits after the last unit are 0. It
// panics if dst is too short or a code is not below q.
func pack(dst []uint64, codes []uint8, q int) {
	planes, words := codeBits(q), (len(codes)+63)/64
	if len(dst) < planes*words {
		panic("maxout: pack: slice too short")
	}
	clear(dst[:planes*words])
	for l, c := range codes {
		if int(c) >= q {
			panic("maxout: pack: code out of range")
		}
		for k := range planes {
			dst[k*words+l/64] |= uint64(c>>k&1) << (l % 64)
		}
	}
}
