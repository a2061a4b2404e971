package identity

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/testing/kerneltest"
)

func normals(n int) []float32 {
	s := stream.New(1, stream.PurposeOf("test/rows"), 0)
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(s.Normal())
	}
	return x
}

func gridded(t *testing.T, r features.Recipe) features.Gridded {
	t.Helper()
	m, err := r.New()
	if err != nil {
		t.Fatal(err)
	}
	return m.(features.Gridded)
}

func TestIdentityFeaturesAreTheRows(t *testing.T) {
	const n, d = 5, 7
	x := normals(n * d)
	m := gridded(t, Identity{In: d, Bound: 3})
	dst := make([]float32, n*d+1)
	m.Apply(dst, x, n)
	if !slices.Equal(dst[:n*d], x) || dst[n*d] != 0 {
		t.Error("the features are not the rows")
	}
	if in, out := m.Dims(); in != d || out != d {
		t.Errorf("dims %d, %d", in, out)
	}
}

func TestKernelIsTheInnerProductOfFeatures(t *testing.T) {
	x, z := []float32{1, -2, 0.5}, []float32{3, 1, 8}
	if k := kerneltest.Kernel(Identity{In: 3, Bound: 1})(x, z); k != 5 {
		t.Errorf("K = %v, want 5", k)
	}
}

func TestIdentityIsNotARandomRecipe(t *testing.T) {
	r := Identity{In: 3, Bound: 1}
	if err := (features.Chain{Steps: []features.Recipe{r, r}}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestGridIsWithinHalfAStepAndCountsFarValues(t *testing.T) {
	const n, d = 37, 19
	x := normals(n * d)
	x[5], x[60] = 1e9, float32(math.NaN())
	low, high := make([]float32, d), make([]float32, d)
	for j := range d {
		low[j], high[j] = -1, 1+float32(j)
	}
	for _, r := range []Identity{{In: d, Bound: 1.5}, {In: d, Low: low, High: high}} {
		for _, most := range []int{127, 27720} {
			m := gridded(t, r).(features.Ranged)
			grid := features.NewGrid(d, most)
			centre, half := m.Ranges()
			saturated := m.Quantize(grid, x, n, 2)
			var beyond int64
			for i, v := range x {
				j := i % d
				steps, b := (float64(v)-centre[j])/half[j]*float64(most), float64(grid.At(i/d, j))
				if !(math.Abs(steps) < blas.MaxSteps+0.5) {
					beyond++
				} else if math.Abs(steps-b) > 0.502 {
					t.Errorf("%v, %v steps, became %v", v, steps, b)
				}
			}
			if saturated != beyond || saturated < 2 {
				t.Errorf("%v, %d steps: %d cut, %d beyond", r, most, saturated, beyond)
			}
		}
	}
}

// Both ends of a range are points of the grid, and with 16 bits all whole numbers of a
// range of up to 12 are.
func TestEndsOfRangesAndSmallWholeNumbersAreExact(t *testing.T) {
	for _, c := range []struct{ low, high, parts float32 }{
		{0, 1, 1}, {-0.3, 17.25, 1}, {1e8, 1e8 + 64, 1}, {-1e-20, 3e30, 1}, {5, 5, 1},
		{0, 2, 2}, {1, 6, 5}, {-4, 7, 11}, {0, 12, 12}, {-0.123, 0.877, 1},
	} {
		m := gridded(t, Identity{In: 1, Low: []float32{c.low}, High: []float32{c.high}}).(features.Ranged)
		centre, half := m.Ranges()
		for _, most := range []int{127, 27720} {
			if most == 127 && c.parts > 2 {
				continue
			}
			grid := features.NewGrid(1, most)
			for k := float32(0); k <= c.parts; k++ {
				v := c.low + k*((c.high-c.low)/c.parts)
				if c.parts == 1 && k == 1 {
					v = c.high
				}
				saturated := m.Quantize(grid, []float32{v}, 1, 1)
				back := centre[0] + half[0]*float64(grid.At(0, 0))/float64(most)
				if c.parts == 2 && most == 127 && k == 1 {
					back = centre[0] // the middle
				}
				if saturated != 0 || math.Abs(back-float64(v)) > 1e-15*max(math.Abs(centre[0]), half[0]) {
					t.Errorf("%+v, %d steps: %v became %v, %d cut", c, most, v, back, saturated)
				}
			}
		}
	}
}

func TestIdentitySealsAndOpens(t *testing.T) {
	r := Identity{In: 4, Bound: 0.1}
	s, err := features.Seal(r)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(s)
	if want := `{"kind":"linear.identity","recipe":{"in":4,"bound":0.1}}`; err != nil || string(data) != want {
		t.Errorf("have %s (%v), want %s", data, err, want)
	}
	if back, err := s.Open(); err != nil || !reflect.DeepEqual(back, r) {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestErrorsNameTheField(t *testing.T) {
	for _, c := range []struct {
		r    Identity
		want string
	}{
		{Identity{In: 0, Bound: 1}, "linear: Identity: in must be 1 to 1048576 (have 0)"},
		{Identity{In: 1<<20 + 1, Bound: 1}, "in must be 1 to 1048576"},
		{Identity{In: 1}, "0 lows and 0 highs for 1 columns; give one of each per column"},
		{Identity{In: 1, Bound: 1, Low: []float32{0}, High: []float32{1}}, "bound cannot be used with ranges"},
		{Identity{In: 2, Low: []float32{0, 1}, High: []float32{1, 0.5}},
			"low and high of column 2 must be finite and in order (have 1, 0.5)"},
		{Identity{In: 1, Low: []float32{0}, High: []float32{float32(math.NaN())}}, "column 1"},
		{Identity{In: 1, Bound: -1}, "(have -1)"},
		{Identity{In: 1, Bound: math.NaN()}, "(have NaN)"},
		{Identity{In: 1, Bound: math.Inf(1)}, "(have +Inf)"},
		{Identity{In: 1, Bound: 1e-40}, "(have 1e-40)"},
	} {
		if _, err := c.r.New(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: have %v, want %q", c.r, err, c.want)
		}
	}
	for _, bound := range []float64{0x1p-118, 0x1p126} { // valid recipes can be used
		gridded(t, Identity{In: 1, Bound: bound}).Quantize(features.NewGrid(1, features.ByteSteps), []float32{1}, 1, 1)
	}
}

func TestShortSlicesPanic(t *testing.T) {
	m := gridded(t, Identity{In: 4, Bound: 1})
	for name, f := range map[string]func(){
		"Apply, x":    func() { m.Apply(make([]float32, 8), make([]float32, 7), 2) },
		"Apply, dst":  func() { m.Apply(make([]float32, 7), make([]float32, 8), 2) },
		"Apply, n":    func() { m.Apply(nil, nil, -1) },
		"Quantize, x": func() { m.Quantize(features.NewGrid(4, features.ByteSteps), make([]float32, 7), 2, 1) },
		"Quantize, n": func() {
			m.Quantize(features.NewGrid(4, features.ByteSteps), make([]float32, 8000),
				blas.MaxRows+1, 1)
		},
		"Kernel": func() { kerneltest.Kernel(Identity{})(make([]float32, 2), make([]float32, 3)) },
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
