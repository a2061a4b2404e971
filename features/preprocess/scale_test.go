package preprocess

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/stream"
)

func applyScale(t *testing.T, r features.Recipe, x []float32, n int) []float32 {
	t.Helper()
	m, err := r.New()
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float32, len(x))
	m.Apply(dst, x, n)
	return dst
}

// Scalings equal naive references: the formulas in float64 with each operation rounded to float32.
func TestScalingsEqualTheirFormulas(t *testing.T) {
	const n, d = 20, 7
	s := stream.New(1, stream.PurposeOf("test/scale"), 0)
	x := make([]float32, n*d)
	for i := range x {
		x[i] = float32(100 * s.Cauchy())
	}
	mean, variance := make([]float64, d), make([]float64, d)
	low, high := make([]float32, d), make([]float32, d)
	for j := range d {
		mean[j], variance[j] = 50*s.Normal(), 1000*s.Uniform()
		low[j], high[j] = float32(s.Normal()), float32(1+10*s.Uniform())
	}
	variance[3], high[4] = 0, low[4] // constant columns

	for _, c := range []struct {
		name string
		r    features.Recipe
		twin func(row []float32, j int) float32
	}{
		{"divide", Divide{In: d, By: 255}, func(row []float32, j int) float32 {
			return float32(float64(row[j]) / 255) // one division: rounding twice to 53 and 24 bits is innocuous
		}},
		{"standard", NewStandard(mean, variance), func(row []float32, j int) float32 {
			dev := float32(math.Sqrt(variance[j]))
			if variance[j] == 0 {
				dev = 1
			}
			return float32(float64(float32(float64(row[j])-float64(float32(mean[j])))) / float64(dev))
		}},
		{"minmax", MinMax{Low: low, High: high}, func(row []float32, j int) float32 {
			span := float32(float64(high[j]) - float64(low[j]))
			if j == 4 {
				span = 1
			}
			return float32(float64(float32(float64(row[j])-float64(low[j]))) / float64(span))
		}},
		{"unit", Unit{In: d}, func(row []float32, j int) float32 {
			var sum float64
			for _, v := range row {
				sum += float64(v) * float64(v)
			}
			return float32(float64(row[j]) / math.Sqrt(sum))
		}},
	} {
		want := make([]float32, len(x))
		for i := range n {
			for j := range d {
				want[i*d+j] = c.twin(x[i*d:(i+1)*d], j)
			}
		}
		have := applyScale(t, c.r, x, n)
		if !slices.Equal(have, want) {
			t.Errorf("%s: have %v, want %v", c.name, have[:d], want[:d])
		}
		inPlace := slices.Clone(x)
		m, err := c.r.New()
		if err != nil {
			t.Fatal(err)
		}
		m.Apply(inPlace, inPlace, n)
		if !slices.Equal(inPlace, want) {
			t.Errorf("%s: values differ when scaled in place", c.name)
		}
		if in, out := m.Dims(); in != d || out != d {
			t.Errorf("%s: dims %d, %d", c.name, in, out)
		}
		var product float64
		for j := range d {
			product += float64(want[j]) * float64(want[d+j])
		}
		if k := features.Kernel(c.r)(x[:d], x[d:2*d]); k != product {
			t.Errorf("%s: kernel %v, inner product %v", c.name, k, product)
		}
	}
}

func TestStandardMakesMeanZeroAndVarianceOne(t *testing.T) {
	x := []float32{1, 10, 3, 30, 8, 20} // 3 rows of 2
	y := applyScale(t, NewStandard([]float64{4, 20}, []float64{26.0 / 3, 200.0 / 3}), x, 3)
	for j := range 2 {
		var sum, squares float64
		for i := range 3 {
			sum += float64(y[2*i+j])
			squares += float64(y[2*i+j]) * float64(y[2*i+j])
		}
		if math.Abs(sum) > 1e-6 || math.Abs(squares/3-1) > 1e-6 {
			t.Errorf("column %d: sum %v, mean square %v", j, sum, squares/3)
		}
	}
}

func TestUnitKeepsZeroAndLongRowsFinite(t *testing.T) {
	y := applyScale(t, Unit{In: 2}, []float32{0, 0, 3e38, 3e38, 1e-45, 0}, 3)
	want := float32(1 / math.Sqrt2)
	if !slices.Equal(y, []float32{0, 0, want, want, 1, 0}) {
		t.Errorf("%v", y)
	}
	if k := features.Kernel(Unit{In: 2})([]float32{0, 0}, []float32{1, 1}); k != 0 {
		t.Errorf("kernel with a zero row %v", k)
	}
}

// A map has its own copy of the recipe's slices.
func TestMapsDoNotShareTheRecipesMemory(t *testing.T) {
	r := Standard{Mean: []float32{1}, Dev: []float32{2}}
	m, err := r.New()
	if err != nil {
		t.Fatal(err)
	}
	r.Mean[0], r.Dev[0] = 9, 9
	y := make([]float32, 1)
	if m.Apply(y, []float32{5}, 1); y[0] != 2 {
		t.Errorf("(5−1)/2 = %v", y[0])
	}
}

func TestScaleErrorsNameTheField(t *testing.T) {
	one := []float32{1}
	for _, c := range []struct {
		r    features.Recipe
		want string
	}{
		{Divide{In: 0, By: 1}, "scale: Divide: in: row length must be 1 to 1048576 (have 0)"},
		{Divide{In: 1, By: 0}, "by must be a number > 0 within float32 (have 0)"},
		{Divide{In: 1, By: -1}, "(have -1)"},
		{Divide{In: 1, By: 1e39}, "(have 1e+39)"},
		{Divide{In: 1, By: 1e-39}, "(have 1e-39)"},
		{Divide{In: 1, By: math.NaN()}, "(have NaN)"},
		{Standard{}, "scale: Standard: mean: row length must be 1"},
		{Standard{Mean: one}, "1 means and 0 deviations"},
		{Standard{Mean: []float32{0, inf}, Dev: []float32{1, 1}}, "mean of column 2 must be finite"},
		{Standard{Mean: one, Dev: []float32{-1}},
			"dev of column 1 must be 0, or at least 1.1754944e-38 and finite in float32 (have -1)"},
		{Standard{Mean: one, Dev: []float32{1e-39}}, "dev of column 1 must be 0, or at least"},
		{NewStandard([]float64{0}, []float64{-1}), "dev of column 1"},
		{MinMax{}, "scale: MinMax: low: row length"},
		{MinMax{Low: one}, "1 lows and 0 highs"},
		{MinMax{Low: one, High: []float32{0}}, "low and high of column 1 must be in order"},
		{MinMax{Low: []float32{-3e38}, High: []float32{3e38}}, "their difference finite"},
		{MinMax{Low: []float32{-inf}, High: one}, "column 1"},
		{Unit{}, "scale: Unit: in: row length must be 1"},
		{Unit{In: 1<<20 + 1}, "(have 1048577)"},
	} {
		if _, err := c.r.New(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: have %v, want %q", c.r, err, c.want)
		}
		if _, err := features.Seal(c.r); err == nil {
			t.Errorf("%+v seals", c.r)
		}
	}
}

func TestScalesPanicOnShortSlices(t *testing.T) {
	m, err := Unit{In: 3}.New()
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(){
		"x":      func() { m.Apply(make([]float32, 6), make([]float32, 5), 2) },
		"dst":    func() { m.Apply(make([]float32, 5), make([]float32, 6), 2) },
		"n":      func() { m.Apply(nil, nil, -1) },
		"Kernel": func() { features.Kernel(Unit{In: 3})(make([]float32, 3), make([]float32, 2)) },
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

func TestColumnOfTinyDeviationIsConstant(t *testing.T) {
	r := NewStandard([]float64{1e-40, 0}, []float64{1e-80, 1e-70})
	if err := r.Validate(); err != nil || r.Dev[0] != 0 || r.Dev[1] == 0 {
		t.Errorf("%v: %v", r.Dev, err)
	}
}
