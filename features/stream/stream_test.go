package stream

import (
	"math"
	"strconv"
	"testing"
)

// Words equal Random123's kat_vectors for philox4x32 with 10 rounds.
func TestPhiloxKnownAnswers(t *testing.T) {
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{
			counter: [4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
			key:     [2]uint32{0xffffffff, 0xffffffff},
			want:    [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		},
		{
			counter: [4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			key:     [2]uint32{0xa4093822, 0x299f31d0},
			want:    [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		var got [4]uint32
		got[0], got[1], got[2], got[3] = philox(c.counter[0], c.counter[1], c.counter[2], c.counter[3], c.key[0], c.key[1])
		if got != c.want {
			t.Errorf("counter %x key %x: have %x, want %x", c.counter, c.key, got, c.want)
		}
	}
}

func golden() *Stream { return New(0x0123456789abcdef, PurposeOf("golden"), 0xfedcba9876543210) }

// Words never change. The values below were computed from the package comment by an independent program.
func TestWordsAreGolden(t *testing.T) {
	if p := PurposeOf("golden"); p != 0x1705ad44 {
		t.Errorf("purpose %#x", p)
	}
	if p := PurposeOf("foobar"); p != 0xbf9cf968 { // from the FNV authors' test vectors
		t.Errorf("FNV-1a of foobar: %#x", p)
	}
	s := golden()
	for i, want := range []uint64{
		0x185fb324c62e5287, 0xf0e5873c94ebf126, 0x6107bf9fc41a0ba7, 0xf2c582bff55ae367, 0xbc5f945567a5db38,
	} {
		if w := s.Uint64(); w != want {
			t.Errorf("word %d: have %#x, want %#x", i, w, want)
		}
	}
}

func TestNumbersAreGolden(t *testing.T) {
	for _, c := range []struct {
		name string
		draw func(*Stream) float64
		want []float64
	}{
		{"uniform", (*Stream).Uniform, []float64{0x1.85fb324c62e58p-4, 0x1.e1cb0e7929d7fp-1, 0x1.841efe7f10682p-2,
			0x1.e58b057feab5dp-1, 0x1.78bf28aacf4bbp-1, 0x1.aa51e4d7fd963p-1}},
		{"normal", (*Stream).Normal, []float64{-0x1.4f30a69b78c5dp+0, 0x1.9030b85ac4b4cp+0, -0x1.3b6fd8ceb9485p-2,
			0x1.a0fb7c73d38d5p+0, 0x1.42d7c7e6a9776p-1, 0x1.edef0a93b8ab2p-1}},
		{"cauchy", (*Stream).Cauchy, []float64{-0x1.9f183c0ce9c04p+1, 0x1.5555f3bf0491cp+2, -0x1.99109bc2fbe87p-2,
			0x1.86c536f9aafc9p+2, 0x1.d4572c86c2a27p-1, 0x1.b93bf40db3014p+0}},
		{"laplace", (*Stream).Laplace, []float64{-0x1.a894ca53a2469p+0, 0x1.118cd2570b49bp+1, -0x1.1ba7ccf317e80p-2,
			0x1.22842cce60eafp+1, 0x1.46aba2f8a93e1p-1, 0x1.1834e059b4a5dp+0}},
		{"gamma ½", func(s *Stream) float64 { return s.Gamma(0.5) }, []float64{
			0x1.1e4198a2a8104p-4, 0x1.28a291021d9bep-1, 0x1.9021767066ff1p-4}},
		{"gamma 3/2", func(s *Stream) float64 { return s.Gamma(1.5) }, []float64{
			0x1.f9aa3038eecd1p-3, 0x1.baa8d435b71d5p-1, 0x1.fd269594924d7p+0}},
		{"gamma 20", func(s *Stream) float64 { return s.Gamma(20) }, []float64{
			0x1.cd360834f9d53p+3, 0x1.254fbce69abb0p+4, 0x1.698fd0c66e1c1p+4}},
	} {
		s := golden()
		for i, want := range c.want {
			if x := c.draw(s); x != want {
				t.Errorf("%s %d: have %x, want %x", c.name, i, x, want)
			}
		}
	}
	s := golden()
	for i, want := range []uint64{0, 9, 3, 9, 7, 8, 1, 3, 4, 3, 6, 9} {
		if k := s.Below(10); k != want {
			t.Errorf("below 10, %d: have %d, want %d", i, k, want)
		}
	}
	// A range of three quarters of 2⁶⁴ rejects a quarter of the words.
	for i, want := range []uint64{11094921236862654938, 6015423374467463788, 6910391487076079873, 3402945006595687212} {
		if k := s.Below(3 << 62); k != want {
			t.Errorf("below 3·2⁶², %d: have %d, want %d", i, k, want)
		}
	}
}

// The FNV-1a 64 hash of 20,000 numbers, little-endian, never changes; the numbers take all branches, the far
// tail included.
func TestLongRunsAreGolden(t *testing.T) {
	shape := 0
	for _, c := range []struct {
		name string
		draw func(*Stream) float64
		want uint64
	}{
		{"normal", (*Stream).Normal, 0x884fd8a3d2dce69},
		{"cauchy", (*Stream).Cauchy, 0xd463969a084671b8},
		{"laplace", (*Stream).Laplace, 0xbfb36db3c7cd71},
		{"gamma", func(s *Stream) float64 { shape++; return s.Gamma(0.5 + float64((shape-1)%7)) }, 0xb7d71e5ffa43f9e2},
	} {
		h, s := uint64(0xcbf29ce484222325), golden()
		for range 20000 {
			for b, i := math.Float64bits(c.draw(s)), 0; i < 8; i++ {
				h = (h ^ b>>(8*i)&255) * 0x100000001b3
			}
		}
		if h != c.want {
			t.Errorf("%s: have %#x, want %#x", c.name, h, c.want)
		}
	}
}

func TestStreamsOfDifferentKeysDiffer(t *testing.T) {
	seen := map[uint64]string{}
	for _, seed := range []uint64{0, 1, 1 << 32, 1<<32 | 1} {
		for _, purpose := range []string{"a", "b"} {
			for _, index := range []uint64{0, 1, 1 << 32, 1<<32 | 1} {
				s := New(seed, PurposeOf(purpose), index)
				for word := range 4 {
					w := s.Uint64()
					at := purpose + " " + strconv.FormatUint(seed, 16) + " " + strconv.FormatUint(index, 16) + " " + strconv.Itoa(word)
					if other, ok := seen[w]; ok {
						t.Errorf("word %#x at %s and %s", w, other, at)
					}
					seen[w] = at
				}
			}
		}
	}
}

func TestExhaustedStreamPanics(t *testing.T) {
	s := golden()
	s.block = 1<<32 - 1
	s.Uint64()
	s.Uint64()
	defer func() {
		if recover() == nil {
			t.Error("the stream continued after its last block")
		}
	}()
	s.Uint64()
}
