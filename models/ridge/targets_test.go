package ridge_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
)

// severalTargets returns rows of three values with k targets, of very different units.
func severalTargets(t *testing.T, dim, n, k int) *linear.Data {
	t.Helper()
	m, err := fourier.Gaussian{In: 3, Out: dim, Width: 1.5, Seed: 4}.New()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(uint64(dim), 5))
	d := &linear.Data{Map: m, Targets: k}
	for range n {
		row := []float32{float32(rng.NormFloat64()), float32(rng.NormFloat64()), float32(rng.NormFloat64())}
		d.X = append(d.X, row...)
		for c := range k {
			y := math.Sin(float64(row[0])+float64(c)*float64(row[1])) + 0.2*rng.NormFloat64()
			d.Target = append(d.Target, 1e6*float64(c)+math.Pow(1000, float64(c))*y)
		}
	}
	return d
}

// alone returns the data with one of its targets.
func alone(d *linear.Data, target int) *linear.Data {
	one := *d
	one.Target, one.Targets = nil, 1
	for i := target; i < len(d.Target); i += d.Targets {
		one.Target = append(one.Target, d.Target[i])
	}
	return &one
}

func TestSeveralTargetsMatchSeparateFits(t *testing.T) {
	for _, c := range []struct {
		dim, n, k int
		weights   bool
	}{{64, 300, 2, false}, {300, 700, 3, false}, {130, 400, 5, true}, {1030, 600, 9, false}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			d := severalTargets(t, c.dim, c.n, c.k)
			if c.weights {
				for i := range c.n {
					d.Weights = append(d.Weights, float64(i%4))
				}
			}
			lambda := []float64{1e-4}
			all, err := ridge.Fit(d, lambda, nil)
			if err != nil {
				t.Fatal(err)
			}
			predicted := make([]float64, c.n*c.k)
			all.Targets(predicted, d.X, c.n)
			for target := range c.k {
				one, err := ridge.Fit(alone(d, target), lambda, nil)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(all.Linear.W[target*c.dim:(target+1)*c.dim], one.Linear.W) ||
					all.Linear.B[target] != one.Linear.B[0] || all.Grid[target] != one.Grid[0] {
					t.Errorf("target %d has other weights than alone", target)
				}
				want := make([]float64, c.n)
				one.Targets(want, d.X, c.n)
				for i, v := range want {
					if predicted[i*c.k+target] != v {
						t.Fatalf("target %d of row %d is %g, alone %g", target, i, predicted[i*c.k+target], v)
					}
				}
			}
		})
	}
}

func TestLambdaOfSeveralTargetsMatchesTheMeanR2(t *testing.T) {
	const k = 3
	d := severalTargets(t, 100, 500, k)
	all, err := ridge.Fit(d, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	tables := make([][]ridge.CVResult, k)
	for c := range k {
		one, err := ridge.Fit(alone(d, c), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		tables[c] = one.Table
	}
	best, most := 0.0, math.Inf(-1)
	for _, row := range all.Table {
		mean, n := 0.0, 0
		for c := range k {
			for _, one := range tables[c] {
				if one.Lambda == row.Lambda {
					mean, n = mean+one.R2/k, n+1
				}
			}
		}
		if n < k {
			continue // a smaller λ that not all have tried
		}
		if math.Abs(mean-row.R2) > 1e-9 || math.Abs(1-mean-row.MSE) > 1e-9 {
			t.Errorf("lambda %g: R² %g, MSE %g; the mean R² is %g", row.Lambda, row.R2, row.MSE, mean)
		}
		if mean > most {
			best, most = row.Lambda, mean
		}
	}
	if all.Lambda != best {
		t.Errorf("lambda %g, but %g has the largest mean R²", all.Lambda, best)
	}
}
