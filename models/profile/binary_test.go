package profile

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/io/wire"
)

func TestEncodingRoundTrips(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 30 {
		want := encode(t, collect(Options{Sample: 1 + r.IntN(30), Long: r.IntN(2) == 0}, randomTable(r, r.IntN(80), 15)))
		var s Sum
		buf := slices.Clone(want)
		if err := wire.Unmarshal(&s, buf); err != nil {
			t.Fatal(err)
		}
		clear(buf) // the sum has no part in the caller's buffer
		if !bytes.Equal(encode(t, &s), want) {
			t.Fatal("decoded and encoded again it differs")
		}
	}
}

func TestDamagedEncodingIsRejected(t *testing.T) {
	good := encode(t, collect(Options{Sample: 3}, randomTable(rand.New(rand.NewPCG(2, 2)), 20, 4)))
	for n := range good {
		if wire.Unmarshal(new(Sum), good[:n]) == nil {
			t.Errorf("%d of %d bytes accepted", n, len(good))
		}
	}
	if wire.Unmarshal(new(Sum), append(slices.Clone(good), 0)) == nil {
		t.Error("a byte too many accepted")
	}
	for name, at := range map[string]int{"version": 0, "sample": 4, "rows": 12, "columns": 16} {
		bad := slices.Clone(good)
		bad[at] = 0xff
		if wire.Unmarshal(new(Sum), bad) == nil {
			t.Errorf("wrong %s accepted", name)
		}
	}
}

func TestSizesAreCheckedBeforeAllocating(t *testing.T) {
	b := encode(t, &Sum{opts: Options{Sample: 1000}, rows: 5})
	const columns = 4 + 1 + 8 + 8                     // where their number is
	binary.LittleEndian.PutUint32(b[columns:], 1<<20) // in a few bytes
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if wire.Unmarshal(new(Sum), b) == nil {
		t.Error("accepted")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes allocated for a few", n)
	}
}

func TestContradictionsAreRejected(t *testing.T) {
	for name, change := range map[string]func(*Sum){
		"none":                    func(s *Sum) {},
		"sample out of order":     func(s *Sum) { s.sample.rows[0], s.sample.rows[1] = s.sample.rows[1], s.sample.rows[0] },
		"row twice in the sample": func(s *Sum) { s.sample.rows[1] = s.sample.rows[0] },
		"rows without a sample":   func(s *Sum) { s.sample.rows = nil },
		"sample too large":        func(s *Sum) { s.opts.Sample = 2 },
		"more values than rows":   func(s *Sum) { s.columns[0].nonzero = s.rows + 1 },
		"min above max":           func(s *Sum) { s.columns[0].min, s.columns[0].max = 2, 1 },
		"min of zero":             func(s *Sum) { s.columns[0].min = 0 },
		"squares below zero":      func(s *Sum) { s.columns[0].squares.AddProduct(1e30, -1e30) },
		"columns without rows":    func(s *Sum) { s.rows, s.sample.rows = 0, nil },
		"row too long":            func(s *Sum) { s.sample.rows[2].content = appendContent(nil, []float32{1, 1, 1, 1}) },
		"value not finite":        func(s *Sum) { s.sample.rows[2].content = []byte{0, 1, 0, 0, 0x80, 0x7f} },
		"zero written out":        func(s *Sum) { s.sample.rows[2].content = []byte{0, 1, 0, 0, 0, 0} },
		"empty run":               func(s *Sum) { s.sample.rows[2].content = []byte{1, 0} },
		"runs not joined":         func(s *Sum) { s.sample.rows[2].content = []byte{0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1} },
		"longer form of a number": func(s *Sum) { s.sample.rows[2].content = []byte{0x80, 0, 1, 0, 0, 0, 1} },
		"norm below zero":         func(s *Sum) { s.norm2 = -1 },
		"norm not a number":       func(s *Sum) { s.norm2 = math.NaN() },
	} {
		s := New(Options{Sample: 3})
		add(s, [][]float32{{1, 2, 3}, {-1, 0, 5}, {7}, {8}})
		change(s)
		if err := wire.Unmarshal(new(Sum), encode(t, s)); (err == nil) != (name == "none") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func FuzzUnmarshalBinary(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 5, 20} {
		f.Add(encode(f, collect(Options{Sample: 4}, randomTable(r, n, 5))))
		f.Add(encode(f, collectTable(randomTyped(r, n))))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Sum
		if wire.Unmarshal(&s, b) != nil {
			return
		}
		if again := encode(t, &s); !bytes.Equal(again, b) {
			t.Fatalf("%x decodes and encodes to %x", b, again)
		}
		p := s.Result()
		if p.VarAll != p.VarAll || p.MaxNorm != p.MaxNorm {
			t.Fatal("not finite")
		}
		if x, n, d := s.Sample(); len(x) != n*d {
			t.Fatal("sample of another shape")
		}
		u := New(s.opts)
		if s.counts == nil {
			add(u, [][]float32{{1, 2}, {3}})
		} else {
			u = NewTable(s.opts, s.values())
		}
		u.Merge(&s)
		u.Result()
	})
}
