package profile

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/bochner-ml/bochner/io/rowio"
)

// discrete returns rows of few distinct values, with labels 0 and 1.
func discrete(n int, weights bool) *rowio.Block {
	r := rand.New(rand.NewPCG(3, 4))
	b := new(rowio.Block)
	b.Reset(2)
	for range n {
		b.X = append(b.X, float32(r.IntN(3)), float32(r.IntN(10)))
		b.Y = append(b.Y, float64(r.IntN(2)))
		if weights {
			b.Weights = append(b.Weights, float64(1+r.IntN(2)))
		}
		b.N++
	}
	return b
}

// frequencyOf counts the copies in a block.
func frequencyOf(t *testing.T, b *rowio.Block, l FoldLabels) *Copies {
	t.Helper()
	different, tally := new(DistinctRows), new(ContentCounts)
	different.AddBlock(1, b)
	tally.AddBlock(ShardStart{}, b, 1, l)
	return NewCopies(different.Few(int64(b.N)), tally)
}

// The rows of the folds are the same if copies are numbered in the order of the rows, and if they are counted
// separately in parts that are added.
func TestSeparatelyCountedCopiesKeepTheirFolds(t *testing.T) {
	for _, weights := range []bool{false, true} {
		const folds = 5
		b, labels := discrete(700, weights), FoldLabelsOf([]string{"a", "b"})
		copies := frequencyOf(t, b, labels)
		if len(copies.Rows) == 0 || len(copies.Contents) == 0 {
			t.Fatal("no row is frequent")
		}
		type key struct {
			fold int
			x, y float32
			c, w float64
		}
		want, got := map[key]int64{}, map[key]int64{}
		at := func(m map[key]int64, h uint64, x []float32, y, w float64, n int64) {
			m[key{int(h % folds), x[0], x[1], y, w}] += n
		}
		weight := func(i int) float64 {
			if weights {
				return b.Weights[i]
			}
			return 0
		}
		hashes, err := NewAssigner(1, nil, copies, labels).Hashes(nil, ShardStart{}, b)
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range hashes {
			at(want, h, b.Row(i), b.Y[i], weight(i), 1)
		}
		var all []FrequentRow
		for _, cut := range [][2]int{{400, 700}, {0, 90}, {90, 400}} {
			part := &rowio.Block{N: cut[1] - cut[0], D: 2, X: b.X[2*cut[0] : 2*cut[1]], Y: b.Y[cut[0]:cut[1]]}
			if weights {
				part.Weights = b.Weights[cut[0]:cut[1]]
			}
			a := NewCopyCounter(copies.Frequent(), 1, labels)
			h, rest := a.Hashes(nil, nil, part)
			for k, i := range rest {
				at(got, h[k], part.Row(i), part.Y[i], weight(cut[0]+i), 1)
			}
			again, err := DecodeFrequentRows(AppendFrequentRows(nil, a.Rows()))
			if err != nil || !reflect.DeepEqual(again, a.Rows()) {
				t.Fatalf("read back %v, %v", again, err)
			}
			if all, err = AddFrequentRows(all, again, 1); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range all {
			for k := range c.Copies {
				at(got, CopyHash(c.Hash, k), c.X, c.Y[0], c.Weight, 1)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("weights %v: %v\nwant %v", weights, got, want)
		}
	}
}

func TestNegativeCopiesAreRejected(t *testing.T) {
	a := []FrequentRow{{Hash: 1, Copies: 2}, {Hash: 7, Copies: 1}}
	got, err := AddFrequentRows(a, []FrequentRow{{Hash: 1, Copies: 1}, {Hash: 7, Copies: 1}}, -1)
	if err != nil || len(got) != 1 || got[0].Copies != 1 {
		t.Errorf("%v, %v", got, err)
	}
	for _, b := range [][]FrequentRow{{{Hash: 1, Copies: 3}}, {{Hash: 5, Copies: 1}}} {
		if got, err := AddFrequentRows(a, b, -1); err == nil {
			t.Errorf("%v less %v is %v", a, b, got)
		}
	}
}

func FuzzFrequentRows(f *testing.F) {
	f.Add(AppendFrequentRows(nil, nil))
	f.Add(AppendFrequentRows(nil, []FrequentRow{{Hash: 1, X: []float32{1, float32(math.NaN())}, Y: []float64{1}, Copies: 3},
		{Hash: 2, X: []float32{1, 2}, Y: []float64{0}, Weight: 2, Copies: 300}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := DecodeFrequentRows(data); err == nil {
			again, err := DecodeFrequentRows(AppendFrequentRows(nil, c))
			if err != nil || len(again) != len(c) {
				t.Errorf("%v, %v", again, err)
			}
		}
	})
}
