package evaluate

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/features/skeleton"
)

func sampleOf(n, d int) []float32 {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, n*d)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// Four times the features halve the RMSE of a mean over independent draws, which falls as 1/√D.
func TestErrorHalvesWithFourTimesTheFeatures(t *testing.T) {
	const n, d, seeds = 40, 5, 12
	x := sampleOf(n, d)
	rmse := func(dim int) float64 {
		var sum float64
		for seed := range uint64(seeds) {
			r := fourier.Gaussian{In: d, Out: dim, Width: 2, Seed: seed}
			e, err := measureErrors(r, kernelOfPairs(r, x, n, d, 2), x, n, 2)
			if err != nil {
				t.Fatal(err)
			}
			sum += e.RMSE
		}
		return sum / seeds
	}
	if ratio := rmse(256) / rmse(1024); ratio < 1.8 || ratio > 2.2 {
		t.Errorf("the error falls by %.3f, want 2", ratio)
	}
}

func TestPairsAreAllPairsInOrder(t *testing.T) {
	const n, d = 7, 3
	x := sampleOf(n, d)
	r := fourier.Gaussian{In: d, Out: 8, Width: 1}
	for threads := 1; threads <= 3; threads++ {
		got := kernelOfPairs(r, x, n, d, threads)
		at := 0
		for i := range n {
			for j := i + 1; j < n; j++ {
				if want := features.Kernel(r)(x[i*d:i*d+d], x[j*d:j*d+d]); got[at] != want {
					t.Errorf("%d threads: pair %d, %d is %g, want %g", threads, i, j, got[at], want)
				}
				at++
			}
		}
		if at != len(got) {
			t.Errorf("%d pairs, want %d", len(got), at)
		}
	}
}

// counting is a recipe that counts how often it is prepared.
type counting struct {
	preprocess.Unit
	prepared *atomic.Int32
}

func (c counting) PrepareKernel() func(x, z []float32) float64 {
	c.prepared.Add(1)
	return features.Kernel(c.Unit)
}

// Preparing and scaling the rows once gives the bits of the kernel of each pair.
func TestKernelsArePreparedOnce(t *testing.T) {
	const n, d = 9, 4
	x := sampleOf(n, d)
	var prepared atomic.Int32
	// The step changes the row length: 2×2 pixels, cropped to one.
	crop := preprocess.Crop{Shape: preprocess.ImageShape{Height: 2, Width: 2, Channels: 1}, Size: 1}
	net := skeleton.Compositional{Out: 1, Skeleton: skeleton.Skeleton{Columns: d, Space: skeleton.Space{Gaussian: 1},
		Layers: []skeleton.Layer{{Full: true, Activation: skeleton.Activation{Exponential: 1}}}}}
	for name, r := range map[string]features.Recipe{
		"counting": counting{preprocess.Unit{In: d}, &prepared},
		"skeleton": net,
		"chain": features.Chain{Steps: []features.Recipe{preprocess.Divide{In: d, By: 2},
			preprocess.Unit{In: d}, net}},
		"crop":            features.Chain{Steps: []features.Recipe{crop, fourier.Gaussian{In: 1, Out: 2, Width: 1}}},
		"chain of one":    features.Chain{Steps: []features.Recipe{preprocess.Unit{In: d}}},
		"invalid chain":   features.Chain{Steps: []features.Recipe{preprocess.Divide{In: d}, net}},
		"invalid network": skeleton.Compositional{Out: 1},
	} {
		got, at := kernelOfPairs(r, x, n, d, 2), 0
		for i := range n {
			for j := i + 1; j < n; j++ {
				want := features.Kernel(r)(x[i*d:i*d+d], x[j*d:j*d+d])
				if math.Float64bits(got[at]) != math.Float64bits(want) {
					t.Errorf("%s: pair %d, %d is %g, want %g", name, i, j, got[at], want)
				}
				if math.IsNaN(want) != strings.HasPrefix(name, "invalid") {
					t.Errorf("%s: pair %d, %d is %g", name, i, j, want)
				}
				at++
			}
		}
	}
	if p := prepared.Load(); p != 1+n*(n-1)/2 {
		t.Errorf("prepared %d times, want once for all pairs and once for each", p)
	}
}

func TestCompareMatchesAHandComputedExample(t *testing.T) {
	e := compareErrors([]float64{1, 2, 3}, []float64{1, 3, 1})
	if e.MAE != 1 || math.Abs(e.RMSE-math.Sqrt(5./3)) > 1e-15 || e.Max != 2 || math.Abs(e.Correlation) > 1e-15 {
		t.Errorf("%+v", e)
	}
}

// A single pair has no correlation, which JSON could not state as NaN.
func TestUndefinedCorrelationIsLeftOut(t *testing.T) {
	s := summariseErrors(2, []approximationErrors{compareErrors([]float64{1}, []float64{0.5})})
	data, err := json.Marshal(s)
	if err != nil || strings.Contains(string(data), "correlation") || s.Correlation.String() != "-" ||
		s.MAE.String() != "0.50000" { // nor has a single seed an interval
		t.Errorf("%s, %v, %v, %v", data, s.Correlation, s.MAE, err)
	}
}

// With 5 seeds intervals use 2.776, the 97.5% quantile of Student's t.
func TestIntervalsUseStudentsT(t *testing.T) {
	var runs []approximationErrors
	for _, v := range []float64{1, 2, 3, 4, 5} {
		runs = append(runs, approximationErrors{MAE: v})
	}
	s := summariseErrors(10, runs)
	if s.MAE.Mean != 3 || math.Abs(s.MAE.Half-2.7764451*math.Sqrt(2.5/5)) > 1e-6 {
		t.Errorf("%+v", s.MAE)
	}
}
