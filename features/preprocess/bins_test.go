package preprocess

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
)

func applyBins(t *testing.T, r features.Recipe, x ...float32) []float32 {
	t.Helper()
	m, err := r.New()
	if err != nil {
		t.Fatal(err)
	}
	in, out := m.Dims()
	dst := make([]float32, len(x)/in*out)
	m.Apply(dst, x, len(x)/in)
	return dst
}

func TestBinsEncodeKnownValues(t *testing.T) {
	columns := []BinColumn{{1, features.Floats{0, 1, 3}}}
	for _, c := range []struct {
		hats bool
		v    float32
		want []float32
	}{
		{false, -1, []float32{2, 0, 0, 0}}, {false, 0, []float32{0, 2, 0, 0}}, {false, 0.99, []float32{0, 2, 0, 0}},
		{false, 1, []float32{0, 0, 2, 0}}, {false, 3, []float32{0, 0, 0, 2}}, {false, 1e30, []float32{0, 0, 0, 2}},
		{true, -5, []float32{2, 0, 0}}, {true, 0, []float32{2, 0, 0}}, {true, 0.25, []float32{1.5, 0.5, 0}},
		{true, 1, []float32{0, 2, 0}}, {true, 2.5, []float32{0, 0.5, 1.5}}, {true, 3, []float32{0, 0, 2}}, {true, 9,
			[]float32{0, 0, 2}},
	} {
		if have := applyBins(t, Bins{In: 2, Columns: columns, Weight: 2, PiecewiseLinear: c.hats}, 7, c.v); !slices.Equal(have, c.want) {
			t.Errorf("hats %v: %v becomes %v, want %v", c.hats, c.v, have, c.want)
		}
	}
	if have := applyBins(t, Bins{In: 1, Columns: []BinColumn{{0, features.Floats{1}}}, Weight: 3}, 0.5,
		1); !slices.Equal(have, []float32{0, 3}) {
		t.Errorf("one cut: %v", have)
	}
	for _, hats := range []bool{false, true} {
		if have := applyBins(t, Bins{In: 2, Columns: columns, Weight: 2, PiecewiseLinear: hats}, 0, nan); slices.ContainsFunc(have,
			func(v float32) bool { return v == v }) {
			t.Errorf("NaN becomes %v", have)
		}
	}
}

// Bins are points of every grid; piecewise-linear columns are within half a step of one.
func TestBinsAreExactOnTheGrid(t *testing.T) {
	for _, hats := range []bool{false, true} {
		r := Bins{In: 1, Columns: []BinColumn{{0, features.Floats{0, 1, 3}}, {0, features.Floats{-1, 0.5}}}, Weight: 0.3,
			PiecewiseLinear: hats}
		made, err := r.New()
		if err != nil {
			t.Fatal(err)
		}
		m := made.(features.Ranged)
		_, out := m.Dims()
		for _, steps := range []int{features.ByteSteps, 27720} {
			x := []float32{-2, 0.3, 0.7, 2, 4, nan}
			z := make([]float32, len(x)*out)
			m.Apply(z, x, len(x))
			g := features.NewGrid(out, steps)
			if saturated := m.Quantize(g, x, len(x), 2); saturated != int64(out) {
				t.Errorf("%d features set aside, want the %d of NaN", saturated, out)
			}
			_, half := m.Ranges()
			for i := range x[:5] {
				for j := range out {
					off := math.Abs(float64(z[i*out+j])/half[j]*float64(steps) - float64(g.At(i, j)))
					if !hats && off > 1e-3 || off > 0.501 {
						t.Errorf("hats %v, %d steps: feature %d of row %d is off by %v", hats, steps, j, i, off)
					}
				}
			}
		}
		if m.Wide() || (m.Step() == 0) == hats {
			t.Errorf("hats %v: wide %v, step %v", hats, m.Wide(), m.Step())
		}
	}
}

func TestInvalidBinsAreRejected(t *testing.T) {
	one := []BinColumn{{0, features.Floats{1}}}
	for want, r := range map[string]Bins{
		"in must be":                      {Columns: one, Weight: 1},
		"weight must be":                  {In: 1, Columns: one},
		"weight must be a":                {In: 1, Columns: one, Weight: nan},
		"features must be 1 to":           {In: 1, Weight: 1},
		"item 1: 1 cuts, want at least 2": {In: 1, Columns: one, Weight: 1, PiecewiseLinear: true},
		"item 1: 0 cuts":                  {In: 1, Columns: make([]BinColumn, 1), Weight: 1},
		"item 1: index must be 0 to 0":    {In: 1, Columns: []BinColumn{{1, features.Floats{1}}}, Weight: 1},
		"item 1: cut 2 must be finite":    {In: 1, Columns: []BinColumn{{0, features.Floats{1, 1}}}, Weight: 1},
	} {
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", r, err, want)
		}
	}
}
