package sums

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// values returns n whole numbers below a size.
func values(n int, size float64, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(int64((2*r.Float64() - 1) * size))
	}
	return v
}

func TestFramesAreReadAsWritten(t *testing.T) {
	e, err := NewWriter()
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewReader()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	edges := []float64{0, -1, 127, -128, 128, -129, 1<<31 - 1, -1 << 31, 1 << 31, 1<<53 - 1, -(1<<53 - 1)}
	for _, n := range []int{0, 1, 2, 7, 60, 64, 255, 256, 300, 5000} {
		for _, size := range []float64{0.5, 1.5, 100, 127, 30000, 1e6, 1e12, 1 << 53} {
			v := values(n, size, uint64(n))
			for i := range v {
				if int(size)%2 == 0 && edges[i%len(edges)] < size && -edges[i%len(edges)] < size {
					v[i] = edges[i%len(edges)]
				}
			}
			frame, f := e.append(nil, v)
			got := values(n, 9, 9)
			if err := d.decode(got, frame, f); err != nil || !slices.Equal(got, v) {
				t.Fatalf("%d numbers below %g: %v", n, size, err)
			}
			if f.Size != int64(len(frame)) || f.Size > maxFrame(n) {
				t.Errorf("%d numbers in %d bytes, %d at most", n, f.Size, maxFrame(n))
			}
			if same := e.unpacked(v); same.SHA256 != f.SHA256 {
				t.Error("the digest depends on how a frame is packed")
			}
			if len(frame) > 2 && d.decode(make([]float64, n+1), frame, f) == nil { // zeros take no bytes
				t.Errorf("%d numbers were read as %d", n, n+1)
			}
		}
	}
}

func FuzzFrame(f *testing.F) {
	e, err := NewWriter()
	if err != nil {
		f.Fatal(err)
	}
	for _, n := range []int{0, 3, 300} {
		frame, sum := e.append(nil, values(n, 1e6, 3))
		f.Add(frame, n, sum.SHA256)
	}
	f.Fuzz(func(t *testing.T, frame []byte, n int, sum string) {
		if n < 0 || n > 1<<12 {
			return
		}
		d, err := NewReader()
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		v := make([]float64, n)
		if d.decode(v, frame, Frame{SHA256: sum}) == nil {
			if again := e.unpacked(v); again.SHA256 != sum && len(frame) > 0 && frame[0] <= 7 {
				// A frame may take more bytes for a number than it needs, but then its checksum
				// belongs to a longer frame.
				if int(frame[0]) <= int(e.plain[0]) {
					t.Errorf("%x is read as other numbers", frame)
				}
			}
		}
	})
}

func FuzzManifest(f *testing.F) {
	p := &Manifest{Recipe: "r", SumFiles: SumFiles{Classes: []string{"a", "b"}, ClassCounts: []int64{1, 2},
		Folds: [][]Frame{{{Size: 9, SHA256: hexDigest("x")}}}}}
	p.Rows.Read, p.Rows.Used = 3, 3
	data, err := p.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := decodeManifest(data); err == nil {
			if _, err := p.Encode(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestChangedPartIsRejected(t *testing.T) {
	p := &Manifest{Recipe: "r", SumFiles: SumFiles{Folds: [][]Frame{{{Size: 9, SHA256: hexDigest("x")}}}}}
	data, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeManifest(data); err != nil {
		t.Fatal(err)
	}
	for i := range data {
		if data[i] < '0' || data[i] > '9' {
			continue
		}
		changed := slices.Clone(data)
		changed[i] ^= 1
		if _, err := decodeManifest(changed); err == nil {
			t.Fatalf("byte %d was changed", i)
		}
	}
}
