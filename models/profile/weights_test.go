package profile

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/wire"
)

// weighedBlocks returns rows with missing values, labels and weights up to 5, some of them 0, and the same
// rows as often as their weights say.
func weighedBlocks(n int) (weighted, repeated rowio.Block, labels []string) {
	r := rand.New(rand.NewPCG(3, uint64(n)))
	weighted.D, repeated.D = 4, 4
	for range n {
		w := r.IntN(6)
		row := []float32{float32(r.NormFloat64() + 3), float32(r.IntN(3)), 1e6 + float32(r.IntN(5)), float32(r.NormFloat64())}
		if r.IntN(3) == 0 {
			row[3] = float32(math.NaN())
		}
		weighted.X = append(weighted.X, row...)
		weighted.Weights = append(weighted.Weights, float64(w))
		weighted.N++
		labels = append(labels, string(rune('a'+r.IntN(3))))
		for range w {
			repeated.X = append(repeated.X, row...)
			repeated.N++
		}
	}
	return weighted, repeated, labels
}

// Weighted rows have the means and deviations of repeated rows, to the last bit, and the same encoding for
// every cut.
func TestMomentsOfWholeWeightsMatchRepeatedRows(t *testing.T) {
	weighted, repeated, labels := weighedBlocks(700)
	add := func(s *Sum, lo, hi int) {
		b := rowio.Block{N: hi - lo, D: 4, X: weighted.X[4*lo : 4*hi], Weights: weighted.Weights[lo:hi]}
		for i := lo; i < hi; i++ {
			y := -1
			if weighted.Weights[i] > 0 {
				y = s.AddLabel([]byte(labels[i]))
			}
			b.Y = append(b.Y, float64(y))
		}
		s.AddBlock(&b, rowio.HashBlock(nil, 1, &b))
	}
	whole := New(Options{})
	add(whole, 0, 700)
	again := New(Options{})
	again.AddBlock(&repeated, rowio.HashBlock(nil, 1, &repeated))
	got, want := whole.Result(), again.Result()
	for j := range got.Columns {
		g, w := got.Columns[j], want.Columns[j]
		if g.Mean != w.Mean || g.Dev != w.Dev || g.Min != w.Min || g.Max != w.Max {
			t.Errorf("column %d: %+v, want %+v", j, g, w)
		}
	}
	if got.VarAll != want.VarAll || got.MaxNorm != want.MaxNorm || got.Weights.Sum != float64(repeated.N) ||
		got.Weights.Unit != 1 || got.Weights.Max != 5 {
		t.Errorf("%g, %g, %+v; want %g, %g, sum %d", got.VarAll, got.MaxNorm, got.Weights, want.VarAll, want.MaxNorm,
			repeated.N)
	}
	x, _, _ := whole.Sample()
	y, _, _ := again.Sample()
	if len(x) == 0 || !bytes.Equal(bitsOf(x), bitsOf(y)) {
		t.Error("another sample")
	}
	byClass := make([]float64, 3)
	for i, l := range labels {
		byClass[l[0]-'a'] += weighted.Weights[i]
	}
	if !reflect.DeepEqual(got.Labels.Weights, byClass) {
		t.Errorf("weights of the classes %v, want %v", got.Labels.Weights, byClass)
	}

	parts := New(Options{})
	add(parts, 500, 700)
	other := New(Options{})
	add(other, 0, 333)
	add(other, 333, 500)
	parts.Merge(other)
	data := encode(t, whole)
	cut := encode(t, parts)
	if !bytes.Equal(data, cut) {
		t.Error("another cut has another encoding")
	}
	var back Sum
	if err := wire.Unmarshal(&back, data); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back.Result(), got) {
		t.Error("the encoding does not give the profile back")
	}
	for n := range data {
		if wire.Unmarshal(new(Sum), data[:n]) == nil {
			t.Fatalf("the first %d of %d bytes are accepted", n, len(data))
		}
	}
}

func bitsOf(x []float32) (b []byte) {
	for _, v := range x {
		u := math.Float32bits(v)
		b = append(b, byte(u), byte(u>>8), byte(u>>16), byte(u>>24))
	}
	return b
}
