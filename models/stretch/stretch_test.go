package stretch

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
)

// withRecipe is a manifest with that recipe and input.
func withRecipe(t *testing.T, r features.Recipe, input models.Input) *models.Manifest {
	t.Helper()
	m := &models.Manifest{}
	sealed, err := features.Seal(r)
	if err != nil {
		t.Fatal(err)
	}
	m.Recipe, m.Input = sealed, input
	return m
}

func of(t *testing.T, m *models.Manifest) *Distances {
	t.Helper()
	i, err := Describe(m)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestSharesOfNumberColumnsFollowTheMetric(t *testing.T) {
	standard := preprocess.Standard{Mean: make([]float32, 3), Dev: []float32{1, 1, 1}}
	gaussian := fourier.Gaussian{In: 3, Out: 8, Width: 1}
	named := models.Input{Format: "csv", Dim: 3, Columns: []string{"a", "b", "c"}}
	diagonal := preprocess.DiagonalMetric{A: features.Floats{1, 3, 0}}
	for name, r := range map[string]features.Recipe{
		"chain": features.Chain{Steps: []features.Recipe{standard, diagonal, gaussian}},
		"join": features.Chain{Steps: []features.Recipe{standard, preprocess.Join{Parts: []features.Recipe{
			identity.Identity{In: 3, Bound: 1}, features.Chain{Steps: []features.Recipe{diagonal, gaussian}},
		}}}},
	} {
		i := of(t, withRecipe(t, r, named))
		if i == nil || len(i.Columns) != 3 || i.Columns[0] != (Share{"b", 0.9}) || i.Columns[1] != (Share{"a", 0.1}) ||
			i.Columns[2] != (Share{"c", 0}) {
			t.Errorf("%s: %+v", name, i)
		}
	}
	for name, r := range map[string]features.Recipe{
		"chain": features.Chain{Steps: []features.Recipe{standard, gaussian}},
		"two columns beside": features.Chain{Steps: []features.Recipe{standard, preprocess.Join{Parts: []features.Recipe{
			gaussian, features.Chain{Steps: []features.Recipe{diagonal, gaussian}},
		}}}},
	} {
		if i := of(t, withRecipe(t, r, named)); i != nil {
			t.Errorf("%s, without a metric: %+v", name, i)
		}
	}
	named.Columns = nil
	if i := of(t, withRecipe(t, features.Chain{Steps: []features.Recipe{standard, diagonal, gaussian}},
		named)); i.Columns[0].Name != "column 2" {
		t.Errorf("columns without names: %+v", i)
	}
}

// A full metric after a diagonal one has the directions of their product.
func TestFullMetricHasDirectionsOfTheProduct(t *testing.T) {
	data, err := preprocess.EncodeMetric(&preprocess.MetricMatrix{Dim: 2, A: []float32{1, -1, 0.1, 0.1}})
	if err != nil {
		t.Fatal(err)
	}
	full, err := preprocess.MetricOf(data)
	if err != nil {
		t.Fatal(err)
	}
	r := features.Chain{Steps: []features.Recipe{
		preprocess.Divide{In: 2, By: 1}, preprocess.DiagonalMetric{A: features.Floats{1,
			2}}, full, preprocess.DiagonalMetric{A: features.Floats{2, 1}}, fourier.Gaussian{In: 2, Out: 8, Width: 1}}}
	i := of(t, withRecipe(t, r, models.Input{Format: "csv", Dim: 2, Columns: []string{"x", "y"}}))
	// A = diag(2, 1)·(1 −1; 0.1 0.1)·diag(1, 2): rows (2, −4) and (0.1, 0.2).
	if s := i.Columns[0]; s.Name != "y" || math.Abs(s.Share-16.04/20.05) > 1e-6 {
		t.Errorf("columns %+v", i.Columns)
	}
	first := i.Directions[0]
	if len(i.Directions) != 2 || first.Share < 0.99 || first.Parts[0].Name != "y" ||
		math.Abs(first.Parts[0].Weight-2/math.Sqrt(5)) > 1e-2 || math.Abs(first.Parts[1].Weight+1/math.Sqrt(5)) > 1e-2 {
		t.Errorf("directions %+v", i.Directions)
	}
}

// The category values that a search made of a column of numbers count for that column, and its numbers do not.
func TestLevelsTakeTheShareOfTheirNumber(t *testing.T) {
	levels := preprocess.BinLevels{In: 2, Columns: []preprocess.BinColumn{{Index: 0, Cuts: features.Floats{1, 2}}},
		Weight: 2}
	r := features.Chain{Steps: []features.Recipe{
		preprocess.Standard{Mean: make([]float32, 2),
			Dev: []float32{1, 1}}, levels, preprocess.DiagonalMetric{A: features.Floats{9, 2, 1, 1, 3}},
		fourier.Gaussian{In: 5, Out: 8, Width: 1}}}
	i := of(t, withRecipe(t, r, models.Input{Format: "csv", Dim: 2, Columns: []string{"place", "time"}}))
	place := 4 * (2. / 9) * (1 + 1 + 9)
	if c := i.Columns; len(c) != 2 || c[0].Name != "place" || math.Abs(c[0].Share-place/(place+4)) > 1e-6 ||
		c[1].Name != "time" {
		t.Errorf("columns %+v", c)
	}
}

// A difference of two columns has its own share, for normally distributed numbers.
func TestDifferencesHaveTheirOwnShare(t *testing.T) {
	r := features.Chain{Steps: []features.Recipe{
		preprocess.Differences{In: 2, Pairs: []preprocess.Difference{{First: 1, A: 1, B: 1}}},
		preprocess.BinLevels{In: 3, Columns: []preprocess.BinColumn{{Index: 0, Cuts: features.Floats{1, 2}}}, Weight: 2},
		preprocess.DiagonalMetric{A: features.Floats{9, 1, 2, 0, 0, 0}}, fourier.Gaussian{In: 6, Out: 8, Width: 1}}}
	c := of(t, withRecipe(t, r, models.Input{Format: "csv", Dim: 2, Columns: []string{"place", "time"}})).Columns
	of := 4 * (2 - 4/math.Pi)
	if len(c) != 3 || c[0].Name != "|time − place|" || math.Abs(c[0].Share-of/(of+1)) > 1e-6 || c[1].Name != "time" {
		t.Errorf("columns %+v", c)
	}
}

// The values of a category add up to their column, and so do the numbers of a time.
func TestSharesOfOneColumnAddUp(t *testing.T) {
	table := &schema.Table{Columns: []schema.Column{
		{Name: "n", Type: schema.Number}, {Name: "c", Type: schema.Category, Levels: []string{"x", "y"}}, {Name: "b",
			Type: schema.Boolean},
	}}
	encode := preprocess.Columns{Slots: []preprocess.Slot{
		{Number: &preprocess.Number{Missing: 1}}, {OneHot: &preprocess.OneHot{Values: 3, Weight: 2,
			Missing: true}}, {Lookup: &preprocess.Lookup{Values: 2, Out: 1, Numbers: features.Floats{0, 2, 1}}},
	}}
	// n, n=(missing), b, c=x, c=y, c=(other), c=(missing)
	r := features.Chain{Steps: []features.Recipe{encode,
		preprocess.DiagonalMetric{A: features.Floats{2, 2, 1, 1, 1, 1, 3}}, fourier.Gaussian{In: 7, Out: 8, Width: 1}}}
	options, err := json.Marshal(map[string]any{"table": table})
	if err != nil {
		t.Fatal(err)
	}
	i := of(t, withRecipe(t, r, models.Input{Format: "csv", Dim: 3, Options: options}))
	want := map[string]float64{"n": 4 + 4*0.25, "c": 4 * (3. / 16) * (1 + 1 + 1 + 9), "b": 4 * 0.25}
	total := 0.0
	for _, v := range want {
		total += v
	}
	if len(i.Columns) != 3 || i.Columns[0].Name != "c" {
		t.Fatalf("columns %+v", i.Columns)
	}
	for _, c := range i.Columns {
		if math.Abs(c.Share-want[c.Name]/total) > 1e-9 {
			t.Errorf("%s has %v, want %v", c.Name, c.Share, want[c.Name]/total)
		}
	}
}
