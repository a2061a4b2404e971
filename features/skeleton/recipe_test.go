package skeleton

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/features/stream"
)

func TestRecipesSealAndOpen(t *testing.T) {
	for _, r := range []Compositional{
		{Skeleton: goldenConv, Out: 40, Seed: math.MaxUint64},
		{Skeleton: goldenConv, Out: 40, Sampler: Hybrid},
		{Skeleton: mixed, Out: 40, Seed: 7},
	} {
		s, err := features.Seal(r)
		if err != nil || s.Kind != "skeleton" {
			t.Fatalf("%+v, %v", s, err)
		}
		back, err := s.Open()
		if err != nil || !reflect.DeepEqual(back, features.Recipe(r)) {
			t.Fatalf("%s opens as %+v, %v", s.JSON, back, err)
		}
		in, out, err := features.Dims(back)
		m := mustNew(t, back.(Compositional))
		if mi, mo := m.Dims(); err != nil || mi != in || mo != out || out != 40 {
			t.Errorf("dims %d, %d of the recipe, %d, %d of the map (%v)", in, out, mi, mo, err)
		}
		x, z := numbers(in, 1), numbers(in, 2)
		if features.Kernel(back)(x, z) != r.Kernel(x, z) {
			t.Error("another kernel")
		}
		a, b := make([]float32, out), make([]float32, out)
		m.Apply(a, x, 1)
		mustNew(t, r).Apply(b, x, 1)
		if !reflect.DeepEqual(a, b) {
			t.Error("another map")
		}
	}
	s, err := features.Seal(Compositional{Skeleton: goldenConv, Out: 40, Seed: 5})
	const want = `{"skeleton":{"image":{"height":4,"width":4,"channels":1},"space":{"circle":2},` +
		`"layers":[{"conv":2,"stride":2,"activation":{"exponential":1}},{"full":true,"activation":{"relu":true}}]},"out":40,"seed":5}`
	if err != nil || string(s.JSON) != want {
		t.Errorf("%s, %v", s.JSON, err)
	}
}

// A chain of scalings and a skeleton is on the grid, as with every map.
func TestChainsOfScalingsAreGridded(t *testing.T) {
	c := features.Chain{Steps: []features.Recipe{preprocess.Divide{In: 16, By: 255},
		Compositional{Skeleton: goldenConv, Out: 40}}}
	m, err := c.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := m.(features.Gridded); !ok {
		t.Error("not on the grid")
	}
}

func TestRecipeErrorsNameTheField(t *testing.T) {
	circles := Space{Circle: 2}
	double := Activation{Polynomial: []float64{0, 0, 1}}
	branching := connected(3, circles, double, double, double, double, double, double, double, double, double, double,
		double,
		double, double, double, double, double, double, double, double, double, double)
	for _, c := range []struct {
		r    Compositional
		want string
	}{
		{Compositional{Skeleton: goldenConv}, "skeleton: Compositional: out must be 1 to 16777216 (have 0)"},
		{Compositional{Skeleton: goldenConv, Out: 1<<24 + 1}, "(have 16777217)"},
		{Compositional{Skeleton: goldenConv, Out: 1, Sampler: "RFS"}, `unknown sampler "RFS"; have hybrid, or none`},
		{Compositional{Out: 1}, "skeleton: columns must be 1"},
		{Compositional{Skeleton: branching, Out: 1},
			"a draw visits 4.19e+06 nodes in the mean, and 1 features are to be drawn"},
		{Compositional{Skeleton: connected(1<<20, Space{Gaussian: 1}, exp1), Out: 1000},
			"the frequencies of 1000 features take 1.05e+09 numbers, more than 268435456"},
		{Compositional{Skeleton: connected(5, circles, relu, exp1), Out: 1, Sampler: Hybrid},
			`hybrid: node "1.1": is not a Gaussian kernel, because its activation is not exponential`},
		{Compositional{Skeleton: connected(5, Space{Categorical: 3}, exp1), Out: 1, Sampler: Hybrid},
			`hybrid: node "1.1": takes "x0", which is not a circle, binary or sphere node`},
		{Compositional{Skeleton: Skeleton{Columns: 1, Nodes: []Node{{Name: "x", Space: circles, Columns: []int{0}}}}, Out: 1,
			Sampler: Hybrid}, "no inner node takes input nodes alone"},
		{Compositional{Skeleton: connected(1000, Space{Categorical: 1 << 16}, relu), Out: 1},
			"more than 16777216 categories, angles and coordinates"},
	} {
		if err := c.r.Validate(); err == nil || !strings.HasPrefix(err.Error(), "skeleton: ") ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("have %v, want %q", err, c.want)
		}
	}
	for _, c := range []struct{ json, want string }{
		{`{"skeleton":{"columns":3,"space":{"circle":2},"layers":[{"full":true,"activation":{"relu":true,"x":1}}]},"out":4}`,
			`features: skeleton: unknown field "x"`},
		{`{"skeleton":{"columns":3,"space":{"circle":2},"layers":[{"full":true,"activation":{"relu":true}}]},"out":-4}`,
			`features: skeleton: skeleton: Compositional: out`},
	} {
		_, err := features.Sealed{Kind: "skeleton", JSON: json.RawMessage(c.json)}.Open()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: have %v, want %q", c.json, err, c.want)
		}
	}
}

// A skeleton whose products of many coordinates of a sphere have a bound beyond float32 is an error.
func TestBoundsBeyondFloat32AreAnError(t *testing.T) {
	high := make([]float64, 200)
	high[199] = 1
	_, err := Compositional{Skeleton: connected(5000, Space{Sphere: Pairs}, Activation{Polynomial: high}), Out: 3}.New()
	if err == nil || !strings.Contains(err.Error(), "bound beyond 10³⁰") {
		t.Error(err)
	}
}

// The grid of a skeleton with ReLUs on the sphere, whose features have no useful bound, follows from the
// features of rows.
func TestBoundsOnSpheresAreFoundOnRows(t *testing.T) {
	const n, d = 40, 10
	s := stream.New(1, stream.PurposeOf("test/sphere"), 0)
	x := make([]float32, n*d)
	for row := range slices.Chunk(x, d) {
		var squares float64
		for j := range row {
			row[j] = float32(s.Normal())
			squares += float64(row[j] * row[j])
		}
		for j := range row {
			row[j] /= float32(math.Sqrt(squares))
		}
	}
	data := &kernel.Data{In: d, Rows: n, Seed: 3, Sample: func() ([]float32, int, error) { return x, n, nil }}
	relu := Activation{ReLU: true}
	for _, space := range []Space{{Sphere: Pairs}, {Circle: 2}} {
		skeleton := connected(d, space, relu, relu)
		c, err := (&Options{Skeleton: &skeleton, Features: 3000}).Choose(data)
		if err != nil {
			t.Fatalf("%+v: %v", space, err)
		}
		r := c.Recipe.(Compositional)
		if (r.Bound > 0) != (space.Sphere != "") || (c.Reach > 1) != (r.Bound > 0) {
			t.Errorf("%+v: bound %v, reach %v", space, r.Bound, c.Reach)
		}
		if r.Bound == 0 {
			continue
		}
		if again := c.Draw(3000, 3); !reflect.DeepEqual(again, c.Recipe) {
			t.Errorf("drawn again: %+v", again)
		}
		if _, err := (Compositional{Skeleton: skeleton, Out: 3000, Seed: 3}).New(); err == nil {
			t.Error("the bound for all rows is small, so this test shows nothing")
		}
		m, err := r.New()
		if err != nil {
			t.Fatal(err)
		}
		grid, phi := features.NewGrid(3000, features.MaxSteps/kernel.RangeSlack), make([]float32, n*3000)
		m.Apply(phi, x, n)
		if saturated := m.(features.Gridded).Quantize(grid, x, n, 1); saturated > 0 || m.(*Map).bound != float32(r.Bound) {
			t.Errorf("%d features beyond the grid of bound %v", saturated, m.(*Map).bound)
		}
		for i, v := range phi {
			if j := i % 3000; !m.(*Map).constant(j) && math.Abs(float64(v)) > r.Bound {
				t.Fatalf("feature %d is %v, beyond %v", j, v, r.Bound)
			}
		}
	}
	if _, err := (Compositional{Skeleton: connected(d, Space{Circle: 2}, relu), Out: 3, Bound: -1}).New(); err == nil ||
		!strings.Contains(err.Error(), "bound must be a number > 0 within float32 (have -1)") {
		t.Errorf("negative bound: %v", err)
	}
}
