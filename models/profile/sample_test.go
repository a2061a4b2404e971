package profile

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/rowio"
)

// firstDistinct is the dumb twin of the sample: all distinct rows, sorted by
// hash, then content.
func firstDistinct(hash func([]float32) uint64, tab table, limit int) []sampled {
	var all []sampled
	for _, r := range tab.rows {
		all = append(all, sampled{hash(r), appendContent(nil, r), 1})
	}
	slices.SortFunc(all, func(a, b sampled) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), strings.Compare(string(a.content), string(b.content)))
	})
	var out []sampled
	for _, r := range all {
		if n := len(out); n > 0 && out[n-1].hash == r.hash && string(out[n-1].content) == string(r.content) {
			out[n-1].copies++
		} else {
			out = append(out, r)
		}
	}
	return out[:min(limit, len(out))]
}

func equalRows(a, b sampled) bool {
	return a.hash == b.hash && string(a.content) == string(b.content) && a.copies == b.copies
}

func equalSamples(a, b []sampled) bool { return slices.EqualFunc(a, b, equalRows) }

func TestSampleIsTheFirstDistinctRowsByHash(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, limit := range []int{1, 10, 1000} {
		tab := randomTable(r, 400, 12)
		s := collect(Options{Sample: limit}, tab)
		want := firstDistinct(func(row []float32) uint64 { return rowio.Hash(seed, row) }, tab, limit)
		if !equalSamples(s.sample.rows, want) {
			t.Fatalf("limit %d: %d rows, want %d", limit, len(s.sample.rows), len(want))
		}
		x, n, d := s.Sample()
		if n != len(want) || d != s.Result().Dim {
			t.Fatalf("limit %d: sample %d×%d", limit, n, d)
		}
		for i := range n {
			if h := rowio.Hash(seed, x[i*d:(i+1)*d]); h != want[i].hash {
				t.Fatalf("row %d has hash %x, want %x", i, h, want[i].hash)
			}
		}
	}
}

func TestEqualHashesAreOrderedByContent(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	collide := func(row []float32) uint64 { return rowio.Hash(seed, row) % 4 }
	tab := randomTable(r, 600, 6)
	want := firstDistinct(collide, tab, 20)
	if all := firstDistinct(collide, tab, 1000); len(all) < 21 || all[20].hash != all[19].hash {
		t.Fatal("the sample does not end between equal hashes")
	}
	for range 10 {
		r.Shuffle(len(tab.rows), func(i, j int) { tab.rows[i], tab.rows[j] = tab.rows[j], tab.rows[i] })
		parts := [2]*Sum{New(Options{Sample: 20}), New(Options{Sample: 20})}
		for i, row := range tab.rows {
			parts[i%2].AddBlock(block([][]float32{row}), []uint64{collide(row)})
		}
		parts[0].Merge(parts[1])
		if !equalSamples(parts[0].sample.rows, want) {
			t.Fatal("another order gives another sample")
		}
	}
}

// The sample shrinks when long rows come, early or late, to the same rows.
func TestSampleShrinksAsRowsGrowLonger(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	tab := randomTable(r, 900, 10)
	long := make([]float32, sampleValues/300)
	long[len(long)-1] = 1
	longer := make([]float32, sampleValues/200)
	longer[len(longer)-1] = 2
	endless := make([]float32, sampleValues/10)
	endless[0] = 3
	for _, c := range []struct {
		extra [][]float32
		limit int
	}{{nil, 1000}, {[][]float32{long}, 300}, {[][]float32{long, longer}, 200}, {[][]float32{longer, endless, long}, 50}} {
		all := table{rows: append(slices.Clone(tab.rows), c.extra...)}
		want := firstDistinct(func(row []float32) uint64 { return rowio.Hash(seed, row) }, all, c.limit)
		first := New(Options{})
		for _, row := range c.extra {
			add(first, [][]float32{row})
		}
		last := New(Options{})
		for b := range slices.Chunk(tab.rows, 90) {
			add(first, b)
			add(last, b)
		}
		merged := New(Options{})
		merged.Merge(last)
		for _, row := range c.extra {
			add(last, [][]float32{row})
			part := New(Options{})
			add(part, [][]float32{row})
			merged.Merge(part)
		}
		for name, s := range map[string]*Sum{"long rows first": first, "last": last, "merged": merged} {
			if !equalSamples(s.sample.rows, want) {
				t.Errorf("%d long rows, %s: %d rows, want %d", len(c.extra), name, len(s.sample.rows), len(want))
			}
		}
		if !bytes.Equal(encode(t, first), encode(t, last)) || !bytes.Equal(encode(t, merged), encode(t, last)) {
			t.Errorf("%d long rows: other order, other bytes", len(c.extra))
		}
	}
}

func TestSampleSizeFollowsRowLength(t *testing.T) {
	for _, c := range []struct{ sample, d, want int }{
		{0, 0, 1000}, {0, 784, 1000}, {0, 4194, 1000}, {0, 4195, 999}, {0, 1 << 16, 64}, {0, 1 << 20, 50},
		{7, 10, 7}, {7, 1 << 20, 7}, {100_000, 1000, 4194},
	} {
		s := New(Options{Sample: c.sample})
		s.grow(c.d)
		if got := s.sampleSize(); got != c.want {
			t.Errorf("Sample %d, rows of %d: %d, want %d", c.sample, c.d, got, c.want)
		}
	}
}

func TestContentRoundTripsWithoutZeros(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 300 {
		row := randomTable(r, 1, 300).rows[0]
		padded := append(slices.Clone(row), 0, negZero)
		content := appendContent(nil, row)
		if !bytes.Equal(appendContent(nil, padded), content) {
			t.Fatal("zeros behind a row change its content")
		}
		back := make([]float32, len(row)+5)
		if !readContent(back, content) {
			t.Fatal("refused")
		}
		for i, x := range row {
			if back[i] != x {
				t.Fatalf("column %d: %v, want %v", i, back[i], x)
			}
		}
		if !bytes.Equal(appendContent(nil, back), content) {
			t.Fatal("read and written again it differs")
		}
	}
}

func TestSampleHasFewerRowsIfTheyAreLong(t *testing.T) {
	for dim, want := range map[int]int{0: 1000, 1: 1000, 4194: 1000, 8192: 512, 1 << 20: 50} {
		s := New(Options{})
		s.columns = make([]column, dim)
		if got, of := SampleSize(dim), s.sampleSize(); got != want || of != want {
			t.Errorf("rows of %d numbers: %d rows in the sample of a Sum, SampleRows is %d; want %d", dim, of, got, want)
		}
	}
}
