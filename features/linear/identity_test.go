package linear

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
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

func TestFeaturesAreTheRows(t *testing.T) {
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
	if k := (Identity{In: 3, Bound: 1}).Kernel(x, z); k != 5 {
		t.Errorf("K = %v, want 5", k)
	}
}

func TestGridIsWithinHalfAStepAndCountsTheRest(t *testing.T) {
	const n, d = 37, 19
	x := normals(n * d)
	var largest float64
	for _, v := range x {
		largest = max(largest, math.Abs(float64(v)))
	}
	for _, bound := range []float64{largest, 1.5} {
		m, grid := gridded(t, Identity{In: d, Bound: bound}), blas.NewBytes(d)
		cut := m.Quantize(grid, x, n, 2)
		if want := float64(float32(bound)) / 127; m.Step() != want {
			t.Errorf("step %v, want %v", m.Step(), want)
		}
		var beyond int64
		for i, v := range x {
			steps, b := float64(v)/m.Step(), float64(grid.At(i/d, i%d))
			if math.Abs(steps) >= 127.5 {
				beyond++
				if b != math.Copysign(127, steps) {
					t.Errorf("%v became %v", v, b)
				}
			} else if math.Abs(steps-b) > 0.50001 {
				t.Errorf("%v, %v steps, became %v", v, steps, b)
			}
		}
		if cut != beyond || (bound == 1.5) != (cut > 0) {
			t.Errorf("bound %v: %d cut, %d beyond", bound, cut, beyond)
		}
	}
	m, grid := gridded(t, Identity{In: 2, Bound: 1}), blas.NewBytes(2)
	if cut := m.Quantize(grid, []float32{float32(math.NaN()), 1}, 1, 1); cut != 1 || grid.At(0, 0) != 0 || grid.At(0, 1) != 127 {
		t.Errorf("NaN: %d cut, bytes %d, %d", cut, grid.At(0, 0), grid.At(0, 1))
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
	if back, err := s.Open(); err != nil || back != r {
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
		{Identity{In: 1}, "bound must be a number > 0 within float32 (have 0)"},
		{Identity{In: 1, Bound: -1}, "(have -1)"},
		{Identity{In: 1, Bound: math.NaN()}, "(have NaN)"},
		{Identity{In: 1, Bound: math.Inf(1)}, "(have +Inf)"},
		{Identity{In: 1, Bound: 1e-40}, "(have 1e-40)"},
	} {
		if _, err := c.r.New(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: have %v, want %q", c.r, err, c.want)
		}
	}
	for _, bound := range []float64{0x1p-118, 0x1p126} { // what validates can be used
		gridded(t, Identity{In: 1, Bound: bound}).Quantize(blas.NewBytes(1), []float32{1}, 1, 1)
	}
}

func TestShortSlicesPanic(t *testing.T) {
	m := gridded(t, Identity{In: 4, Bound: 1})
	for name, f := range map[string]func(){
		"Apply, x":    func() { m.Apply(make([]float32, 8), make([]float32, 7), 2) },
		"Apply, dst":  func() { m.Apply(make([]float32, 7), make([]float32, 8), 2) },
		"Apply, n":    func() { m.Apply(nil, nil, -1) },
		"Quantize, x": func() { m.Quantize(blas.NewBytes(4), make([]float32, 7), 2, 1) },
		"Quantize, n": func() { m.Quantize(blas.NewBytes(4), make([]float32, 8000), blas.MaxRows+1, 1) },
		"Kernel":      func() { Identity{}.Kernel(make([]float32, 2), make([]float32, 3)) },
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
