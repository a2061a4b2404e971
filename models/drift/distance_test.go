package drift

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/models/ridge"
)

// The distance is between the means of the rows' features, and is compared with their covariance.
func TestDistanceComparesMeansOfFeatures(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const d = 300 // more than a tile
	draw := func(n int, shift float32) (*ridge.Sum, *features.Grid) {
		x := make([]float32, n*d)
		for i := range x {
			x[i] = 0.2*float32(r.NormFloat64()) + shift*float32(i%d%3)
		}
		z := features.NewGrid(d, features.ByteSteps)
		z.Quantize(x, n, 1, 1)
		s := ridge.NewSum(ridge.Shape{Dim: d, Outputs: 2})
		s.AddLabels(z, make([]int32, n), nil, 1)
		return s, z
	}
	a, za := draw(40, 0)
	b, zb := draw(25, 0.1)
	mean := func(z *features.Grid) []float64 {
		m := make([]float64, d)
		for i := range z.N() {
			for j := range m {
				m[j] += float64(z.At(i, j)) / float64(z.N())
			}
		}
		return m
	}
	ma, mb := mean(za), mean(zb)
	covariance, norm, squared := make([]float64, d*d), 0.0, 0.0
	for _, p := range []struct {
		z *features.Grid
		m []float64
	}{{za, ma}, {zb, mb}} {
		for i := range p.z.N() {
			for j := range d {
				v := float64(p.z.At(i, j))
				norm += v * v / 65
				for k := range d {
					covariance[j*d+k] += (v - p.m[j]) * (float64(p.z.At(i, k)) - p.m[k]) / 63
				}
			}
		}
	}
	for j := range d {
		squared += (ma[j] - mb[j]) * (ma[j] - mb[j])
	}
	var trace, frobenius float64
	for j := range d {
		trace += covariance[j*d+j]
		for k := range d {
			frobenius += covariance[j*d+k] * covariance[j*d+k]
		}
	}
	trace, frobenius, squared = trace/norm, frobenius/(norm*norm), squared/norm
	frobenius = (frobenius - trace*trace/63) * 63 / 64
	got := distanceOf(featureSumOf(a), featureSumOf(b), 1, 3)
	for name, c := range map[string][2]float64{"squared": {got.squared, squared}, "trace": {got.trace, trace},
		"frobenius": {got.frobenius, frobenius}} {
		if math.Abs(c[0]-c[1]) > 1e-9*(1+math.Abs(c[1])) {
			t.Errorf("%s: %g, want %g", name, c[0], c[1])
		}
	}
	if one := distanceOf(featureSumOf(a), featureSumOf(b), 1, 1); one != got {
		t.Errorf("with one thread %+v, with three %+v", one, got)
	}
	all := ridge.NewSum(a.Shape())
	all.Merge(a)
	all.Merge(b)
	some := FeatureSum{a.Rows(), a.Weight(), a.Columns(), nil}
	if part := distanceOf(some, featureSumOf(all).Without(some), 1, 2); part != got {
		t.Errorf("of a part and the others %+v, of two sums %+v", part, got)
	}
}

// The unit of the weights does not change the distance.
func TestDistanceCountsEffectiveRows(t *testing.T) {
	w := newDrawing(t, 3, 64, 2)
	rows := func(n int, shift float32, weight int64) FeatureSum {
		x, weights := make([]float32, n*w.d), make([]int64, n)
		for i := range x {
			x[i] = float32(w.r.NormFloat64()) + shift
		}
		for i := range weights {
			weights[i] = weight
		}
		z := features.NewGrid(w.features, features.ByteSteps)
		w.m.Quantize(z, x, n, 1)
		s := ridge.NewSum(ridge.Shape{Dim: w.features, Outputs: 2, Weighted: true})
		s.Add(z, make([]float64, n), nil, weights, 1)
		return featureSumOf(s)
	}
	scaled := func(weight int64) distance {
		w.r = rand.New(rand.NewPCG(1, 2))
		return distanceOf(rows(40, 0, weight), rows(35, 0.5, weight), 1/float64(weight), 1)
	}
	one, many := scaled(1), scaled(1000)
	for name, c := range map[string][2]float64{"squared": {one.squared, many.squared}, "trace": {one.trace, many.trace},
		"frobenius": {one.frobenius, many.frobenius}} {
		if math.Abs(c[0]-c[1]) > 1e-9*c[0] {
			t.Errorf("%s: %g for weights 1, %g for weights 1000", name, c[0], c[1])
		}
	}
}
