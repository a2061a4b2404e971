package folds

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/bochner-ml/bochner/io/wire"
)

// stream returns n hashes: some frequent ones with the given shares, the rest all
// different, shuffled.
func stream(r *rand.Rand, n int, shares ...float64) []uint64 {
	var out []uint64
	for _, share := range shares {
		h := r.Uint64()
		for range int(share * float64(n)) {
			out = append(out, h)
		}
	}
	for len(out) < n {
		out = append(out, r.Uint64())
	}
	r.Shuffle(n, func(i, k int) { out[i], out[k] = out[k], out[i] })
	return out
}

// summarize adds the hashes to summaries in parts and merges these.
func summarize(limit, parts int, hashes []uint64) *Summary {
	s := newSummary(limit)
	for p := range parts {
		t := newSummary(limit)
		for _, h := range hashes[p*len(hashes)/parts : (p+1)*len(hashes)/parts] {
			t.Add(h)
		}
		s.Merge(t)
	}
	return s
}

// count − lost ≤ counter ≤ count, and lost ≤ (n − Σ counters)/(m+1), in every order
// and however the hashes are cut (Misra and Gries 1982; Agarwal et al. 2012, Lemma 2).
func TestCountersAreWithinTheBound(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		limit, n := 1+r.IntN(40), r.IntN(3000)
		hashes := stream(r, n, 0.2, 0.1, 0.05, 0.02)
		for i := range hashes {
			if r.IntN(3) == 0 {
				hashes[i] = uint64(r.IntN(60)) << 3 // that meet in the table
			}
		}
		count := map[uint64]int64{}
		for _, h := range hashes {
			count[h]++
		}
		s := summarize(limit, 1+r.IntN(6), hashes)
		var sum int64
		used := 0
		for i, c := range s.slots {
			if c.count > 0 {
				sum += c.count
				used++
				if s.slot(c.hash) != &s.slots[i] {
					t.Fatal("a counter that cannot be found")
				}
			}
		}
		if s.n != int64(n) || used != s.used || used > limit || s.lost*int64(limit+1) > int64(n)-sum {
			t.Fatalf("seed %d: %d counters of %d, sum %d, lost %d, n %d of %d", seed, used, limit, sum, s.lost, s.n, n)
		}
		for h, c := range count {
			var got int64
			if len(s.slots) > 0 {
				got = s.slot(h).count
			}
			if got > c || got < c-s.lost {
				t.Fatalf("seed %d: counter %d of %d added, %d lost", seed, got, c, s.lost)
			}
		}
	}
}

// Data without repetitions have no candidates, and so no pass more.
func TestDistinctRowsAreNoCandidates(t *testing.T) {
	for _, n := range []int{0, 1, 2, rowCounters - 1, rowCounters, rowCounters + 1, 3 * rowCounters / 2, 2*rowCounters + 1, 100_003} {
		for _, parts := range []int{1, 7} {
			hashes := stream(rand.New(rand.NewPCG(uint64(n), 2)), n)
			if c := summarize(rowCounters, parts, hashes).Candidates(Frequent(int64(n))); len(c) > 0 {
				t.Errorf("%d different rows in %d parts: %d candidates", n, parts, len(c))
			}
		}
	}
}

// A summary is bounded, in memory and on its way to another worker.
func TestSummaryIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	s := NewSummary()
	for range 300_000 {
		s.Add(r.Uint64())
	}
	if b := wire.Marshal(s); len(b) > 20*rowCounters {
		t.Errorf("%d bytes", len(b))
	}
	if n := len(s.slots) + len(s.spare); n > 8*rowCounters {
		t.Errorf("%d slots for %d counters", n, rowCounters)
	}
}

func TestSummaryEncodingRoundTrips(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for n := range 60 {
		s := summarize(1+r.IntN(20), 2, stream(r, n, 0.3, 0.1))
		b := wire.Marshal(s)
		var back Summary
		if err := wire.Unmarshal(&back, b); err != nil {
			t.Fatal(err)
		}
		if again := wire.Marshal(&back); !bytes.Equal(again, b) {
			t.Fatal("decoded and encoded again it differs")
		}
		for cut := range b {
			if wire.Unmarshal(new(Summary), b[:cut]) == nil {
				t.Fatalf("%d of %d bytes accepted", cut, len(b))
			}
		}
		if wire.Unmarshal(new(Summary), append(b, 0)) == nil {
			t.Fatal("a byte too many accepted")
		}
	}
}

func FuzzUnmarshalBinary(f *testing.F) {
	b := wire.Marshal(summarize(9, 2, stream(rand.New(rand.NewPCG(5, 5)), 40, 0.3)))
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Summary
		if wire.Unmarshal(&s, b) == nil {
			s.Add(1)
			s.Merge(&s)
		}
		var c Census
		if wire.Unmarshal(&c, b) == nil {
			c.Merge(&c)
			c.Frequent(10)
		}
		_ = wire.Unmarshal(new(Counts), b)
	})
}

// What a summary adds to the reading of a row that does not repeat.
func BenchmarkDistinctRows(b *testing.B) {
	s := NewSummary()
	h := uint64(1)
	for b.Loop() {
		h = mix(h + golden)
		s.Add(h)
	}
}
