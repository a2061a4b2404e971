package profile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/wire"
)

const seed = 42

var negZero = float32(math.Copysign(0, -1))

// table is a data set: rows of their own lengths, each with a label.
type table struct {
	rows   [][]float32
	labels []string
}

// randomTable returns n rows of up to d values with zeros of both signs,
// trailing zeros, repeated rows, and columns of widely different size.
func randomTable(r *rand.Rand, n, d int) table {
	var t table
	for range n {
		row := make([]float32, 1+r.IntN(d))
		if len(t.rows) > 0 && r.IntN(4) == 0 {
			row = slices.Clone(t.rows[r.IntN(len(t.rows))])
			for i, x := range row {
				if x == 0 && r.IntN(2) == 0 {
					row[i] = -x
				}
			}
		} else {
			for i := range row {
				switch r.IntN(4) {
				case 0, 1:
				case 2:
					row[i] = negZero
				default:
					row[i] = float32(math.Ldexp(r.NormFloat64(), i%40-20))
				}
			}
		}
		t.rows = append(t.rows, row)
		t.labels = append(t.labels, fmt.Sprint(r.IntN(5)))
	}
	return t
}

// block pads rows to the longest of them.
func block(rws [][]float32) *rowio.Block {
	b := &rowio.Block{N: len(rws)}
	for _, r := range rws {
		b.D = max(b.D, len(r))
	}
	for _, r := range rws {
		b.X = append(b.X, r...)
		b.X = append(b.X, make([]float32, b.D-len(r))...)
	}
	return b
}

func add(s *Sum, rws [][]float32) {
	b := block(rws)
	s.AddBlock(b, rowio.HashBlock(nil, seed, b))
}

func encode(t testing.TB, s *Sum) []byte {
	t.Helper()
	return wire.Marshal(s)
}

// collect adds the table in one order, in blocks of 100.
func collect(opts Options, tab table) *Sum {
	s := New(opts)
	for b := range slices.Chunk(tab.rows, 100) {
		add(s, b)
	}
	for _, l := range tab.labels {
		s.AddLabel([]byte(l))
	}
	return s
}

// cut shuffles the table, deals it out to parts in blocks of random size, and
// merges the parts along a random tree, some by way of their encoding.
func cut(t *testing.T, r *rand.Rand, opts Options, tab table) *Sum {
	t.Helper()
	tab = table{slices.Clone(tab.rows), slices.Clone(tab.labels)}
	r.Shuffle(len(tab.rows), func(i, j int) { tab.rows[i], tab.rows[j] = tab.rows[j], tab.rows[i] })
	r.Shuffle(len(tab.labels), func(i, j int) { tab.labels[i], tab.labels[j] = tab.labels[j], tab.labels[i] })
	parts := make([]*Sum, 1+r.IntN(9))
	for i := range parts {
		parts[i] = New(opts)
	}
	for left := tab.rows; len(left) > 0; {
		n := 1 + r.IntN(min(len(left), 30))
		add(parts[r.IntN(len(parts))], left[:n])
		left = left[n:]
	}
	for _, l := range tab.labels {
		parts[r.IntN(len(parts))].AddLabel([]byte(l))
	}
	for len(parts) > 1 {
		last := parts[len(parts)-1]
		parts = parts[:len(parts)-1]
		if r.IntN(2) == 0 {
			back := new(Sum)
			if err := wire.Unmarshal(back, encode(t, last)); err != nil {
				t.Fatal(err)
			}
			last = back
		}
		parts[r.IntN(len(parts))].Merge(last)
	}
	return parts[0]
}

func TestAnyOrderAndCutGivesTheSameBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct{ n, d, sample int }{{0, 1, 0}, {1, 1, 0}, {40, 3, 5}, {300, 20, 0}, {300, 90, 100}} {
		tab := randomTable(r, c.n, c.d)
		opts := Options{Sample: c.sample}
		whole := collect(opts, tab)
		want := encode(t, whole)
		for range 10 {
			got := cut(t, r, opts, tab)
			if !bytes.Equal(encode(t, got), want) {
				t.Fatalf("%+v: another cut gives other bytes", c)
			}
			if !reflect.DeepEqual(got.Result(), whole.Result()) {
				t.Fatalf("%+v: another cut gives another profile", c)
			}
		}
	}
}

// twin computes the profile from all rows at once, in rational arithmetic.
func twin(tab table) Profile {
	p := Profile{Rows: int64(len(tab.rows))}
	for _, r := range tab.rows {
		p.Dim = max(p.Dim, len(r))
	}
	moments := func(x []float32) (mean, variance float64) {
		m, v, n := new(big.Rat), new(big.Rat), big.NewRat(int64(len(x)), 1)
		for _, f := range x {
			m.Add(m, new(big.Rat).SetFloat64(float64(f)))
		}
		m.Quo(m, n)
		for _, f := range x {
			d := new(big.Rat).SetFloat64(float64(f))
			v.Add(v, d.Mul(d.Sub(d, m), d))
		}
		mean, _ = m.Float64()
		variance, _ = v.Quo(v, n).Float64()
		return mean, variance
	}
	var all []float32
	for j := range p.Dim {
		var x []float32
		c := Column{Min: math.MaxFloat32, Max: -math.MaxFloat32}
		for _, r := range tab.rows {
			v := float32(0)
			if j < len(r) {
				v = r[j] + 0 // −0 + 0 = +0
			}
			x = append(x, v)
			c.Min, c.Max = min(c.Min, v), max(c.Max, v)
			if v != 0 {
				c.Nonzero++
			}
		}
		var variance float64
		c.Mean, variance = moments(x)
		c.Dev = math.Sqrt(variance)
		p.Columns = append(p.Columns, c)
		all = append(all, x...)
	}
	_, p.VarAll = moments(all)
	for _, r := range tab.rows {
		n := 0.0
		for _, v := range r {
			n += float64(v) * float64(v)
		}
		p.MaxNorm = max(p.MaxNorm, math.Sqrt(n))
	}
	var l schema.LabelCounts
	for _, s := range tab.labels {
		l.Add([]byte(s))
	}
	s := l.Summary()
	p.Labels = &s
	return p
}

func TestProfileMatchesTheReference(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for i := range 20 {
		tab := randomTable(r, 1+r.IntN(60), 1+r.IntN(30))
		got, want := collect(Options{}, tab).Result(), twin(tab)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("table %d:\n got %+v\nwant %+v", i, got, want)
		}
	}
}

func TestOmittedZerosCount(t *testing.T) {
	s := New(Options{})
	add(s, [][]float32{{2}, {4}})
	add(s, [][]float32{{0, 0, -3}, {6, 0, 0}})
	got := s.Result()
	want := []Column{
		{Min: 0, Max: 6, Mean: 3, Dev: math.Sqrt(5), Nonzero: 3},
		{},
		{Min: -3, Max: 0, Mean: -0.75, Dev: math.Sqrt(27. / 16), Nonzero: 1},
	}
	if !reflect.DeepEqual(got.Columns, want) || got.Dim != 3 || got.Rows != 4 || got.MaxNorm != 6 {
		t.Errorf("%+v", got)
	}
	if got.Labels != nil {
		t.Error("labels out of nowhere")
	}
}

func TestEmptyProfileIsFinite(t *testing.T) {
	s := New(Options{})
	s.AddBlock(&rowio.Block{D: 7}, nil)
	p := s.Result()
	if p.Rows != 0 || p.Dim != 0 || p.VarAll != 0 || p.MaxNorm != 0 {
		t.Errorf("%+v", p)
	}
	if _, n, _ := s.Sample(); n != 0 {
		t.Errorf("%d rows in the sample", n)
	}
	if _, err := json.Marshal(p); err != nil {
		t.Error(err)
	}
}

func TestProfileJSONRoundTrips(t *testing.T) {
	want := collect(Options{}, randomTable(rand.New(rand.NewPCG(3, 3)), 50, 8)).Result()
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Profile
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf(" got %+v\nwant %+v", got, want)
	}
}

func TestMergeDoesNotChangeItsArgument(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 10 {
		a := collect(Options{Sample: 20}, randomTable(r, 100, 6))
		b := collect(Options{Sample: 20}, randomTable(r, 100, 9))
		before := encode(t, b)
		a.Merge(b)
		for range 5 {
			add(a, randomTable(r, 50, 12).rows)
		}
		if !bytes.Equal(encode(t, b), before) {
			t.Fatal("the merged part changed")
		}
	}
}

func TestProfilePanicsOnInvalidArguments(t *testing.T) {
	b := block([][]float32{{1, 2}})
	for name, f := range map[string]func(){
		"hashes missing":    func() { New(Options{}).AddBlock(b, nil) },
		"short block":       func() { New(Options{}).AddBlock(&rowio.Block{N: 2, D: 3, X: b.X}, make([]uint64, 2)) },
		"rows too long":     func() { New(Options{}).AddBlock(&rowio.Block{D: rowio.MaxDim + 1}, nil) },
		"not finite":        func() { add(New(Options{}), [][]float32{{float32(math.Inf(1))}}) },
		"value of no level": func() { add(NewTable(Options{}, []int{3}), [][]float32{{3}}) },
		"half a level":      func() { add(NewTable(Options{}, []int{3}), [][]float32{{0.5}}) },
		"other categories":  func() { NewTable(Options{}, []int{3}).Merge(NewTable(Options{}, []int{4})) },
		"row of no table":   func() { add(NewTable(Options{}, []int{3}), [][]float32{{1, 1}}) },
		"options differ":    func() { New(Options{}).Merge(New(Options{Sample: 7})) },
		"negative sample":   func() { New(Options{Sample: -1}) },
		"sample of a world": func() { New(Options{Sample: maxSample + 1}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func benchmarkBlock(r *rand.Rand, n, d int, share float64) *rowio.Block {
	b := &rowio.Block{N: n, D: d, X: make([]float32, n*d)}
	// Strokes of 6 values or so, as in the pictures of MNIST.
	for i := 0; i < len(b.X); i++ {
		if share < 1 && r.Float64() > share/6/(1-share) {
			continue
		}
		for run := 1 + r.IntN(11); run > 0 && i < len(b.X); run-- {
			b.X[i] = float32(1 + r.IntN(255))
			i++
		}
		if share == 1 {
			i--
		}
	}
	return b
}

func BenchmarkAddBlock(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		name  string
		d     int
		share float64
	}{{"pictures", 784, 0.19}, {"dense", 20, 1}, {"dense", 784, 1}} {
		blk := benchmarkBlock(r, 1000, c.d, c.share)
		hashes := make([]uint64, blk.N)
		b.Run(fmt.Sprintf("%s/d=%d", c.name, c.d), func(b *testing.B) {
			s := New(Options{})
			b.SetBytes(int64(4 * len(blk.X)))
			nonzero := 0
			for _, x := range blk.X {
				if x != 0 {
					nonzero++
				}
			}
			for b.Loop() {
				for i := range hashes { // new content each time, as far as the sample can tell
					hashes[i] = r.Uint64()
				}
				s.AddBlock(blk, hashes)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nonzero), "ns/nonzero")
			b.ReportMetric(float64(nonzero)/float64(len(blk.X)), "nonzero")
		})
		b.Run(fmt.Sprintf("%s/d=%d/with_hash", c.name, c.d), func(b *testing.B) {
			s := New(Options{})
			b.SetBytes(int64(4 * len(blk.X)))
			for b.Loop() {
				hashes = rowio.HashBlock(hashes, r.Uint64(), blk)
				s.AddBlock(blk, hashes)
			}
		})
	}
}

func BenchmarkResult(b *testing.B) {
	s := New(Options{})
	blk := benchmarkBlock(rand.New(rand.NewPCG(1, 1)), 1000, 784, 0.19)
	s.AddBlock(blk, rowio.HashBlock(nil, 1, blk))
	for b.Loop() {
		s.Result()
	}
}
