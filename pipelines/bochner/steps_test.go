package main

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/preprocess"
)

// A reader that knows only docs/formats.md computes the features of views, metrics, bins and joins.
func TestStepsAreDocumented(t *testing.T) {
	a := []float32{1, 0.5, 0, -2, 0.25, 1, 0.125, 0, 3}
	data, err := preprocess.EncodeMetric(&preprocess.MetricMatrix{Dim: 3, A: a})
	if err != nil {
		t.Fatal(err)
	}
	full, err := preprocess.MetricOf(data)
	if err != nil {
		t.Fatal(err)
	}
	columns := []preprocess.BinColumn{{Index: 2, Cuts: features.Floats{-1, 0.5, 2}},
		{Index: 0, Cuts: features.Floats{0, 1}}}
	gaussian := fourier.Gaussian{In: 3, Out: 10, Width: 2, Seed: 4}
	recipe := features.Chain{Steps: []features.Recipe{
		preprocess.NormalScores{Columns: []preprocess.Knots{{At: features.Floats{-2, 0, 1},
			Scores: features.Floats{-1.5, 0, 2}}, {}, {At: features.Floats{1}, Scores: features.Floats{0.5}}}},
		preprocess.Clip{At: []float32{1.25, 0, 3}},
		preprocess.Join{Parts: []features.Recipe{
			features.Chain{Steps: []features.Recipe{full, preprocess.DiagonalMetric{A: features.Floats{1, 2, 0.5}}, gaussian}},
			preprocess.Bins{In: 3, Weight: 0.3, Columns: append(columns,
				preprocess.BinColumn{Index: 1, Cuts: features.Floats{1}})},
			preprocess.Bins{In: 3, Weight: 0.5, PiecewiseLinear: true, Columns: columns},
		}},
	}}
	sealed, err := features.Seal(recipe)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(sealed)
	if err != nil {
		t.Fatal(err)
	}
	var reader kindOf
	if err := json.Unmarshal(text, &reader); err != nil {
		t.Fatal(err)
	}
	for _, v := range a {
		reader.Recipe.metric = append(reader.Recipe.metric, float64(v))
	}
	m, err := recipe.New()
	if err != nil {
		t.Fatal(err)
	}
	_, out := m.Dims()
	have := make([]float32, out)
	for _, row := range [][]float32{{-3, 0.5, 7}, {-1, 1, 0}, {0, -2, 1}, {0.4, 30, -2}, {9, 1.5, 3}} {
		m.Apply(have, row, 1)
		want := reader.features([]float64{float64(row[0]), float64(row[1]), float64(row[2])})
		if len(want) != out {
			t.Fatalf("%d features, the reader has %d", out, len(want))
		}
		for j, v := range have {
			if math.Abs(float64(v)-want[j]) > 2e-6 {
				t.Errorf("row %v: feature %d is %v, by the document %v", row, j, v, want[j])
			}
		}
	}
}
