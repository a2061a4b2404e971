package maxout

import (
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features/stream"
)

func TestPackedCodesMatchTheCodes(t *testing.T) {
	s := stream.New(2, stream.PurposeOf("test/codes"), 0)
	for _, q := range []int{1, 2, 3, 4, 5, 8, 16, 17, 255, 256} {
		for _, m := range []int{0, 1, 63, 64, 65, 200} {
			var codes [2][]uint8
			var packed [2][]uint64
			for i := range codes {
				codes[i], packed[i] = make([]uint8, m), make([]uint64, packedLen(m, q)+1)
				for l := range codes[i] {
					codes[i][l] = uint8(s.Below(uint64(q)))
					if i == 1 && s.Below(2) == 0 {
						codes[1][l] = codes[0][l]
					}
				}
				for w := range packed[i] {
					packed[i][w] = ^uint64(0) // garbage that pack must clear
				}
				pack(packed[i], codes[i], q)
				if packed[i][packedLen(m, q)] != ^uint64(0) {
					t.Errorf("q %d, m %d: wrote past the packed length", q, m)
				}
				back, words := make([]uint8, m), (m+63)/64
				for l := range back {
					for k := range codeBits(q) {
						back[l] |= uint8(packed[i][k*words+l/64]>>(l%64)&1) << k
					}
				}
				if !slices.Equal(back, codes[i]) {
					t.Errorf("q %d, m %d: %v unpacks as %v", q, m, codes[i], back)
				}
			}
		}
	}
}

func TestCodesTakeLog2QBits(t *testing.T) {
	for q, want := range map[int]int{1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 8: 3, 9: 4, 16: 4, 256: 8} {
		if b := codeBits(q); b != want {
			t.Errorf("q = %d: %d bits, want %d", q, b, want)
		}
	}
	if n := packedLen(1000, 4); n != 32 {
		t.Errorf("1,000 codes of 2 bits take %d words, want 32", n)
	}
}

// The first of equal projections gives the code; for a row of zeros all are equal.
func TestTiesTakeTheFirstCode(t *testing.T) {
	m := mustNew(t, Recipe{In: 3, Out: 20, Q: 4, Bound: 1})
	codes := make([]uint8, 20)
	if m.codes(codes, make([]float32, 3), 1); !slices.Equal(codes, make([]uint8, 20)) {
		t.Errorf("codes of a row of zeros: %v", codes)
	}
}
