package profile

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/wire"
)

func sumOf(weights ...float64) *WeightSum {
	s := new(WeightSum)
	for _, w := range weights {
		s.Add(w)
	}
	return s
}

func TestUnitDividesAllWeights(t *testing.T) {
	for _, c := range []struct {
		weights []float64
		unit    float64
	}{
		{[]float64{1, 2, 5}, 1}, {[]float64{6, 9, 15}, 3}, {[]float64{2.5, 7.5, 5}, 2.5}, {[]float64{0.375, 0.25}, 0.125},
		{[]float64{1 << 40, 1 << 50}, 1 << 40}, {[]float64{0.1}, float64(float32(0.1))},
	} {
		if w := sumOf(c.weights...).Result(); w.Unit != c.unit {
			t.Errorf("%v: unit %g, want %g", c.weights, w.Unit, c.unit)
		}
	}
}

// A sum does not depend on order and cut, and is the same after encoding and decoding.
func TestSumsMergeInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var weights []float64
	for range 500 {
		weights = append(weights, math.Exp(3*r.NormFloat64()))
	}
	want := wire.Marshal(sumOf(weights...))
	got := sumOf(weights[300:]...)
	got.Merge(sumOf())
	got.Merge(sumOf(weights[:300]...))
	data := wire.Marshal(got)
	if !bytes.Equal(data, want) {
		t.Error("another cut has another encoding")
	}
	var back WeightSum
	if err := wire.Unmarshal(&back, data); err != nil || *back.Result() != *got.Result() {
		t.Errorf("%v: %+v, want %+v", err, back.Result(), got.Result())
	}
	w := got.Result()
	var total, squares float64
	for _, v := range weights {
		total, squares = total+float64(float32(v)), squares+float64(float32(v))*float64(float32(v))
	}
	if math.Abs(w.Sum-total) > 1e-9*total || math.Abs(w.Effective-total*total/squares) > 1e-6*w.Effective ||
		w.Validate(500) != nil || w.Validate(499) == nil {
		t.Errorf("%+v, want sum %g of %g effective rows", w, total, total*total/squares)
	}
	for n := range data {
		if wire.Unmarshal(new(WeightSum), data[:n]) == nil {
			t.Fatalf("the first %d of %d bytes are accepted", n, len(data))
		}
	}
}

func FuzzSumDecode(f *testing.F) {
	data := wire.Marshal(sumOf(1, 2.5, 1e9))
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		var s WeightSum
		if wire.Unmarshal(&s, data) != nil {
			return
		}
		if again := wire.Marshal(&s); !bytes.Equal(again, data) {
			t.Errorf("%x comes back as %x", data, again)
		}
		if w := s.Result(); w != nil && (w.Mean() != w.Mean() || !(w.Unit > 0)) {
			t.Errorf("%+v", w)
		}
	})
}

func whole(g *WeightGrid, weights, classes []float64) []int64 {
	return g.AppendWeights(nil, &rowio.Block{N: len(weights), Weights: weights, Y: classes}, 0, len(weights))
}

func TestMultiplesOfAUnitAreExact(t *testing.T) {
	weights := []float64{2.5, 5, 12.5, 2.5e4}
	g := NewWeightGrid(sumOf(weights...).Result(), nil, nil)
	if got := whole(g, weights, nil); !g.Exact || got[0] != 1 || got[1] != 2 || got[2] != 5 || got[3] != 10000 {
		t.Errorf("%+v: %v", g, got)
	}
	if n := g.Rows(4, 10008); n != 10008 {
		t.Errorf("as many as %d rows", n)
	}
	if NewWeightGrid(sumOf(3, 3).Result(), nil, nil) != nil ||
		NewWeightGrid(UnitWeights(7), []float64{1, 1}, []float64{3, 4}) != nil {
		t.Error("equal weights have a grid")
	}
}

// Other weights have 8 significant bits, or 12 if there are few classes.
func TestOtherWeightsAreRoundedToSignificantBits(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var weights []float64
	for range 2000 {
		weights = append(weights, math.Exp(2*r.NormFloat64()))
	}
	w := sumOf(weights...).Result()
	g := NewWeightGrid(w, nil, nil)
	var total int64
	for i, n := range whole(g, weights, nil) {
		total += n
		off := math.Abs(float64(n)*g.Unit - weights[i])
		if most := max(weights[i], w.Mean()) / 256; g.Exact || off > most*1.0001 {
			t.Fatalf("%+v: %g is %d, off by %g, more than %g", g, weights[i], n, off, most)
		}
	}
	if total > g.Total || float64(total) < 0.9*float64(g.Total) {
		t.Errorf("sum %d, at most %d", total, g.Total)
	}

	classes, counts := []float64{0.5009, 289, 1}, []float64{1e6, 1700, 10}
	g = NewWeightGrid(UnitWeights(1_001_710), classes, counts)
	for c, v := range classes {
		if e := math.Abs(g.Class(c)/v - 1); !g.Exact || e > 1.0/4096 {
			t.Errorf("class %d weighs %g, want %g", c, g.Class(c), v)
		}
		if n := whole(g, []float64{1, 1}, []float64{float64(c), float64(c)}); float64(n[0])/g.One != g.Class(c) {
			t.Errorf("a row of class %d is %d of %g", c, n[0], g.One)
		}
	}
	// With weights of classes, a row of weight 3 is three rows.
	g = NewWeightGrid(sumOf(1, 2, 3).Result(), []float64{0.7, 3}, []float64{1, 5})
	if n := whole(g, []float64{1, 3}, []float64{1, 1}); n[1] != 3*n[0] {
		t.Errorf("%v", n)
	}
}

// Rows that fit into the sums of a training fit into sums by its recipe: the bound is not that of the largest class.
func TestTotalsOfOtherRowsFollowTheirClasses(t *testing.T) {
	for _, weights := range [][]float64{{1, 2, 3, 1, 5}, {0.1, 0.7, 1.3, 0.2, 1e9}} {
		y, byClass := []float64{0, 0, 1, 1, 1}, make([]float64, 2)
		for i, w := range weights {
			byClass[int(y[i])] += w
		}
		w := sumOf(weights...).Result()
		g := NewWeightGrid(w, []float64{300, 0.7}, byClass)
		var total int64
		for _, n := range whole(g, weights, y) {
			total += n
		}
		if again := g.For(w, byClass).Total; again < total || float64(again) > 1.02*float64(g.Total)+5 {
			t.Errorf("%v: at most %d, in training %d; the sum is %d", weights, again, g.Total, total)
		}
	}
}

// Weights of scores are used unchanged, except for bits that exact sums cannot hold: more than 24 significant
// bits, and more than 38 bits of the sum of a cluster of rows.
func TestScoresUseWeightsAsTheyAreUpToTheLastBitsOfTheirSum(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for _, spread := range []float64{0, 0.3, 2, 20} {
		weights := []float64{0.1, 0.25, 1, 4, 1000}
		for range 500 {
			if spread > 0 {
				weights = append(weights, math.Exp(spread*min(2, max(-2, r.NormFloat64()))))
			}
		}
		w := sumOf(weights...).Result()
		g := NewScoringGrid(w)
		var total int64
		for i, n := range whole(g, weights, nil) {
			total += n
			most := w.Sum * 0x1p-37
			if w.Sum <= 0x1p37*w.Unit {
				most = 0
			}
			if off := math.Abs(float64(n)*g.Unit - float64(float32(weights[i]))); off > most || int64(float32(n)) != n {
				t.Errorf("spread %g: %g is %d of %g, off by %g, more than %g", spread, weights[i], n, g.Unit, off, most)
			}
		}
		if total > g.Total || total >= 1<<38 || g.Validate() != nil {
			t.Errorf("%+v: sum %d", g, total)
		}
	}
	if NewScoringGrid(UnitWeights(5)) != nil || NewScoringGrid(sumOf(3, 3).Result()) != nil {
		t.Error("equal weights have a grid")
	}
}

func TestManyRowsKeepSumsExact(t *testing.T) {
	w := &Weights{Rows: 1 << 31, Sum: 1e9, Min: 0.1, Max: 7, Unit: 1e-9, Effective: 1}
	if g := NewWeightGrid(w, nil, nil); g.Total > 1<<33 || g.Validate() != nil {
		t.Errorf("%+v", g)
	}
	balanced := NewWeightGrid(UnitWeights(1<<33), []float64{0.5, 1 << 20}, []float64{1<<33 - 4096, 4096})
	if balanced.Total > 1<<39 || balanced.Validate() != nil {
		t.Errorf("%+v", balanced)
	}
}

// Class weights are accurate to 3% and fit into a blas.Weighted, or they are rejected.
func TestClassWeightsFitTheGridOrAreRejected(t *testing.T) {
	equal := UnitWeights(10_000_003)
	whole := &Weights{Rows: 3000, Sum: 1e8, Min: 1, Max: 1 << 16, Unit: 1, Effective: 1}
	fractions := &Weights{Rows: 33000, Sum: 16754.6, Min: 0.01, Max: 1.01, Unit: 0x1p-30, Effective: 1}
	for _, c := range []struct {
		w       *Weights
		rare    float64 // weight of a class of three rows
		refused bool
	}{{equal, 1e6, false}, {equal, 1e11, true}, {equal, 1e-9, true}, {whole, 1000, false}, {whole, 1e8, true},
		{fractions, 1e5, false}, {fractions, 1e8, true}} {
		classes, mean := []float64{1, c.rare}, c.w.Sum/float64(c.w.Rows)
		g := NewWeightGrid(c.w, classes, []float64{c.w.Sum - 3*mean, 3 * mean})
		if err := g.CheckClasses(c.w, []string{"common", "rare"}); (err != nil) != c.refused {
			t.Errorf("weight %g: %+v, %v", c.rare, g, err)
		}
		if c.refused || !g.Exact {
			continue
		}
		for i, want := range classes {
			if v := float64(g.class(i)) * max(c.w.Max, g.MaxWeight()) / c.w.Unit; v >= 1<<32 || math.Abs(g.Class(i)/want-1) > 0.04 {
				t.Errorf("weight %g: class %d has %g, on the grid at most %g", c.rare, i, g.Class(i), v)
			}
		}
	}
}
