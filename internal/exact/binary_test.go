package exact

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestEncodingRoundTrips(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for range 2000 {
		var s, back Sum
		for range r.IntN(4) {
			s.Add(anyFloat(r))
		}
		if r.IntN(2) == 0 {
			s.AddProduct(anyFloat(r), anyFloat(r))
		}
		b, err := s.AppendBinary([]byte("head"))
		if err != nil || len(b) > 4+1+8*limbs {
			t.Fatalf("%d bytes, error %v", len(b), err)
		}
		back.Add(5) // what was there is replaced
		rest, err := back.Decode(append(b[4:], "tail"...))
		if err != nil || back != s || string(rest) != "tail" {
			t.Fatalf("decoded %v, want %v; rest %q, error %v", back.Big(), s.Big(), rest, err)
		}
	}
}

func TestEncodingIsCompact(t *testing.T) {
	for _, c := range []struct {
		x    float32
		size int
	}{{0, 1}, {1, 9}, {-1, 9}, {1<<22 + 1, 17}, {0x1p-149, 9}} {
		var s Sum
		s.Add(c.x)
		if b, _ := s.AppendBinary(nil); len(b) != c.size {
			t.Errorf("%v takes %d bytes, want %d", c.x, len(b), c.size)
		}
	}
}

func TestDamagedEncodingIsRejected(t *testing.T) {
	limb := []byte{1, 0, 0, 0, 0, 0, 0, 0}
	zero := make([]byte, 8)
	for name, b := range map[string][]byte{
		"empty":              {},
		"cut":                append([]byte{1 << 4}, limb[:7]...),
		"too many limbs":     append([]byte{11 << 4}, bytes.Repeat(limb, 11)...),
		"past the end":       append([]byte{2<<4 | 9}, bytes.Repeat(limb, 2)...),
		"zero, not at 0":     {3},
		"zero limb below":    append(append([]byte{2 << 4}, zero...), limb...),
		"sign limb repeated": append(append([]byte{2 << 4}, limb...), zero...),
	} {
		var s Sum
		if _, err := s.Decode(b); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if !s.IsZero() {
			t.Errorf("%s: the sum changed", name)
		}
	}
}

func FuzzUnmarshalBinary(f *testing.F) {
	for _, x := range []float32{0, 1, -1, 3e38, 0x1p-149} {
		var s Sum
		s.Add(x)
		b, _ := s.AppendBinary(nil)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Sum
		rest, err := s.Decode(b)
		if err != nil || len(rest) > 0 {
			return
		}
		again, _ := s.AppendBinary(nil)
		if !bytes.Equal(again, b) {
			t.Fatalf("%x decodes and encodes to %x", b, again)
		}
	})
}
