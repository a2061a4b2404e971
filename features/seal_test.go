package features_test

import (
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/features/landmarks"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/features/maxout"
	"github.com/bochner-ml/bochner/features/patches"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/features/skeleton"
	"github.com/bochner-ml/bochner/internal/testing/kerneltest"
)

var picture = preprocess.ImageShape{Height: 2, Width: 2, Channels: 3, Planar: true}

// every holds a recipe of each kind.
var every = map[string]features.Recipe{
	"fourier.gaussian":    fourier.Gaussian{In: 4, Out: 8, Width: 0.1, Seed: math.MaxUint64},
	"fourier.laplace":     fourier.Laplace{In: 4, Out: 7, Width: 1e-9, Form: fourier.Offset, Seed: 1},
	"fourier.cauchy":      fourier.Cauchy{In: 4, Out: 8, Width: 1e9, Seed: 2},
	"fourier.matern":      fourier.Matern{In: 4, Out: 8, Width: 1.0 / 3, Nu: 1.1, Form: fourier.Offset, Seed: 3},
	"fourier.exponential": fourier.Exponential{In: 4, Out: 8, Width: 1.0 / 3, Exponent: 1.4, Seed: 3},
	"scale.divide":        preprocess.Divide{In: 4, By: 255},
	"scale.standard":      preprocess.Standard{Mean: []float32{0.1, -2, 3e38, 1e-45}, Dev: []float32{1. / 3, 0, 7, 1.2e-38}},
	"scale.minmax":        preprocess.MinMax{Low: []float32{0, -1, -0.1, 5}, High: []float32{1, 1, 0.7, 5}},
	"scale.unit":          preprocess.Unit{In: 4},
	"scale.clip":          preprocess.Clip{At: []float32{3, 0, 1. / 3, 1e-45}},
	"scale.normalscores": preprocess.NormalScores{Columns: []preprocess.Knots{
		{At: features.Floats{-1. / 3, 0.5, 3e38}, Scores: features.Floats{-2.1, 0, 0.7}}, {}, {At: features.Floats{1},
			Scores: features.Floats{0}}, {}}},
	"metric.diagonal": preprocess.DiagonalMetric{A: features.Floats{1. / 3, 0, 1e-45, 7}},
	"metric.full":     fullMetric(),
	"bins.levels": preprocess.BinLevels{In: 4, Weight: 0.7, Keep: true,
		Columns: []preprocess.BinColumn{{Index: 2, Cuts: features.Floats{0.5, 3}}}},
	"differences": preprocess.Differences{In: 4, Pairs: []preprocess.Difference{{First: 2, Second: 0, A: 1. / 3, B: 3e38, C: -1e-45}}},
	"bins": preprocess.Bins{In: 4, Weight: 1. / 3, PiecewiseLinear: true, Columns: []preprocess.BinColumn{
		{Index: 3, Cuts: features.Floats{0.1, 1. / 3}}, {Index: 0, Cuts: features.Floats{-3e38, 1e-45, 2}}}},
	"join": preprocess.Join{Parts: []features.Recipe{
		features.Chain{Steps: []features.Recipe{preprocess.DiagonalMetric{A: features.Floats{1, 2, 3, 4}},
			fourier.Gaussian{In: 4, Out: 8, Width: 0.1, Seed: 5}}},
		preprocess.Bins{In: 4, Weight: 2, Columns: []preprocess.BinColumn{{Index: 1, Cuts: features.Floats{0.5}}}},
	}},
	"harmonic": learned.Harmonics{In: 4,
		Terms: []learned.Harmonic{{Degree: 3, Index: 15, Count: 7}, {Degree: 0, Index: 0, Count: 1}}},
	"learned":          frequencies(),
	"image.crop":       preprocess.Crop{Shape: picture, Size: 1},
	"image.gray":       preprocess.Gray{Shape: picture},
	"image.whiten":     preprocess.Whiten{Shape: picture},
	"image.unitpixels": preprocess.UnitPixels{Shape: picture},
	"image.hog":        preprocess.HoG{Shape: picture, Cell: 2, Orientations: 9},
	"image.patchpca": preprocess.PatchPCA{Shape: picture, Patch: 1, Stride: 1, Out: 1, Mean: []float32{0.1, 3e38, 1e-45},
		Basis: []float32{1. / 3, -2, 0}},
	"landmarks":       atRows(),
	"linear.identity": identity.Identity{In: 4, Bound: 0.1},
	"maxout":          maxout.Maxout{In: 4, Out: 8, Q: 3, Pool: 5, Bound: 1.0 / 3, Seed: 4},
	"patches": patches.Recipe{Shape: picture, Patch: 2, Cells: 1, Floor: 1e-3, Threshold: 0.25, Bound: 1. / 3,
		Filters: slices.Repeat(features.Floats{1. / 3, -2, 0, 3e38}, 3), Bias: features.Floats{1e-45}},
	"skeleton": skeleton.Compositional{Out: 8, Sampler: skeleton.Hybrid, Seed: 6,
		Skeleton: skeleton.Skeleton{Columns: 4, Space: skeleton.Space{Circle: 2},
			Layers: []skeleton.Layer{{Full: true, Activation: skeleton.Activation{Exponential: 1.0 / 3}}}}},
	"columns": preprocess.Columns{Slots: []preprocess.Slot{
		{Number: &preprocess.Number{Fill: 0.1, Missing: 1. / 3}}, {Number: &preprocess.Number{Fill: 3e38}},
		{OneHot: &preprocess.OneHot{Values: 3, Weight: 0.7, Missing: true}},
		{Lookup: &preprocess.Lookup{Values: 1, Out: 2, Numbers: features.Floats{0.1, -3e38, 1e-45, 1. / 3}}},
	}},
	"test.plain": plain{4},
	"chain": features.Chain{Steps: []features.Recipe{
		preprocess.Divide{In: 4, By: 2}, preprocess.Unit{In: 4}, fourier.Gaussian{In: 4, Out: 8, Width: 0.1, Seed: 5},
	}},
}

// files holds the files that recipes of every refer to.
var files features.Files

func addFile(name string, data []byte) {
	if _, err := files.Add(name, data); err != nil {
		panic(err)
	}
}

// frequencies returns the recipe of a file of frequencies, and adds the file to files.
func frequencies() learned.Recipe {
	data, err := learned.Encode(&learned.Frequencies{Count: 2, In: 4, W: []float32{0.1, -2, 3, 1e-45, 1, 0, 0, 1. / 3},
		Weight: []float64{0.25, 0.75}})
	if err != nil {
		panic(err)
	}
	addFile(learned.FileName, data)
	r, err := learned.RecipeOf(data, fourier.Offset, math.MaxUint64)
	if err != nil {
		panic(err)
	}
	return r
}

// atRows returns the recipe of landmarks, and adds their file to files.
func atRows() landmarks.Recipe {
	set := &landmarks.Set{Count: 2, In: 4, X: []float32{0.1, -2, 3, 1e-45, 1, 0, 0, 1. / 3}}
	data, err := landmarks.Encode(set)
	if err != nil {
		panic(err)
	}
	addFile(landmarks.FileName, data)
	r, err := landmarks.RecipeOf(fourier.Exponential{In: 4, Out: 8, Width: 1. / 3, Exponent: 1.4}, set)
	if err != nil {
		panic(err)
	}
	return r
}

// fullMetric returns the recipe of a metric, and adds its file to files.
func fullMetric() preprocess.FullMetric {
	data, err := preprocess.EncodeMetric(&preprocess.MetricMatrix{Dim: 4,
		A: []float32{1, 1. / 3, 0, 0, -2, 3e30, 0, 0, 1e-45, 0, 1, 0, 0, 0, 0.5, 7}})
	if err != nil {
		panic(err)
	}
	addFile(preprocess.MetricFile, data)
	r, err := preprocess.MetricOf(data)
	if err != nil {
		panic(err)
	}
	return r
}

// registration matches the call that registers a kind.
var registration = regexp.MustCompile(`\bRegister\("([^"]+)"`)

// Every kind in the source is tested here. A kind whose package is not imported here is not in the registry, so
// the test searches the source.
func TestEveryKindHasASealTest(t *testing.T) {
	known := features.Kinds()
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range registration.FindAllSubmatch(source, -1) {
			if kind := string(m[1]); !slices.Contains(known, kind) {
				t.Errorf("%s: the package of kind %s is not imported by this test", path, kind)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range known {
		if every[kind] == nil {
			t.Errorf("kind %s has no recipe in this test", kind)
		}
	}
}

func TestEveryKindSealsAndOpens(t *testing.T) {
	for kind, r := range every {
		s, err := features.Seal(r)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if s.Kind != kind {
			t.Errorf("%T seals as %q, want %q", r, s.Kind, kind)
		}
		// A seal is itself plain data, as a model file holds it.
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var read features.Sealed
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatal(err)
		}
		back, err := read.WithFiles(&files).Open()
		if err != nil {
			t.Errorf("%s: %v", data, err)
			continue
		}
		if !reflect.DeepEqual(back, r) {
			t.Errorf("%s opens as %+v, want %+v", data, back, r)
		}
		in, out, err := features.Dims(back)
		m, errNew := back.New()
		if err != nil || errNew != nil {
			t.Errorf("%s: %v, %v", kind, err, errNew)
			continue
		}
		if mi, mo := m.Dims(); mi != in || mo != out {
			t.Errorf("%s: dims %d, %d of the recipe, %d, %d of the map", kind, in, out, mi, mo)
		}
		x := []float32{1, -2, 3, 0.5, 7, 0.1, -0.3, 2, 4, 6, -5, 8}[:in]
		z := []float32{0.9, -2.2, 3.1, 0.4, 6, 0.2, -0.1, 2.5, 3, 7, -6, 9}[:in]
		if have, want := kerneltest.Kernel(back)(x, z), kerneltest.Kernel(r)(x, z); have != want {
			t.Errorf("%s: kernel %v, want %v", kind, have, want)
		}
		first, err := r.New()
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		have, want := make([]float32, out), make([]float32, out)
		m.Apply(have, x, 1)
		first.Apply(want, x, 1)
		if !slices.Equal(have, want) {
			t.Errorf("%s: features %v, want %v", kind, have, want)
		}
	}
}

// The form in files, on which other programs rely, does not change.
func TestSealedFormNeverChanges(t *testing.T) {
	for kind, want := range map[string]string{
		"fourier.gaussian":    `{"kind":"fourier.gaussian","recipe":{"in":4,"out":8,"width":0.1,"form":"paired","seed":18446744073709551615}}`,
		"fourier.exponential": `{"kind":"fourier.exponential","recipe":{"in":4,"out":8,"width":0.3333333333333333,"exponent":1.4,"form":"paired","seed":3}}`,
		"fourier.matern":      `{"kind":"fourier.matern","recipe":{"in":4,"out":8,"width":0.3333333333333333,"nu":1.1,"form":"offset","seed":3}}`,
		"maxout":              `{"kind":"maxout","recipe":{"in":4,"out":8,"q":3,"pool":5,"bound":0.3333333333333333,"seed":4}}`,
		"linear.identity":     `{"kind":"linear.identity","recipe":{"in":4,"bound":0.1}}`,
		"image.hog":           `{"kind":"image.hog","recipe":{"shape":{"height":2,"width":2,"channels":3,"planar":true},"cell":2,"orientations":9}}`,
		"scale.clip":          `{"kind":"scale.clip","recipe":{"at":[3,0,0.33333334,1e-45]}}`,
		"metric.full":         `{"kind":"metric.full","recipe":{"dim":4,"sha256":"` + fullMetric().SHA256 + `"}}`,
		"scale.divide":        `{"kind":"scale.divide","recipe":{"in":4,"by":255}}`,
		"scale.minmax":        `{"kind":"scale.minmax","recipe":{"low":[0,-1,-0.1,5],"high":[1,1,0.7,5]}}`,
		"chain": `{"kind":"chain","recipe":{"steps":[{"kind":"scale.divide","recipe":{"in":4,"by":2}},` +
			`{"kind":"scale.unit","recipe":{"in":4}},` +
			`{"kind":"fourier.gaussian","recipe":{"in":4,"out":8,"width":0.1,"form":"paired","seed":5}}]}}`,
	} {
		s, err := features.Seal(every[kind])
		if err != nil {
			t.Fatal(err)
		}
		if have, err := json.Marshal(s); err != nil || string(have) != want {
			t.Errorf("have %s (%v)\nwant %s", have, err, want)
		}
	}
}

func TestOpenNamesKindAndField(t *testing.T) {
	for _, c := range []struct{ kind, json, want string }{
		{"fourier.guassian", `{}`,
			`features: unknown kind of recipe "fourier.guassian"; have bins, bins.levels, chain, columns, differences, fourier.cauchy, fourier.exponential, fourier.gaussian,`},
		{"", ``, `unknown kind of recipe ""`},
		{"fourier.gaussian", `{"in":4,"out":8,"widht":1}`, `features: fourier.gaussian: unknown field "widht"`},
		{"fourier.gaussian", `{"in":4,"out":8,"width":1,"nu":1}`, `fourier.gaussian: unknown field "nu"`},
		{"fourier.gaussian", `{"in":4,"out":8,"width":"1"}`,
			`features: fourier.gaussian: field "width": have a string, want float64`},
		{"fourier.gaussian", `{"in":4.5}`, `field "in": have a number 4.5, want int`},
		{"fourier.gaussian", `{"in":4,"out":8,"width":1,"form":"pared"}`, `unknown form "pared"; have paired, offset`},
		{"fourier.gaussian", `{"in":4,"out":8,"width":-1}`,
			`features: fourier.gaussian: fourier: Gaussian: width must be > 0`},
		{"fourier.gaussian", `{"in":4,"out":8,"width":1,"seed":-1}`, `field "seed"`},
		{"fourier.gaussian", `{"in":4,"out":8,"width":1}{}`, `unexpected data after the JSON object`},
		{"fourier.gaussian", `{"in":4,"out":8,"width":1}]`, `unexpected data after the JSON object`},
		{"fourier.gaussian", `null`, `not a JSON object`},
		{"fourier.gaussian", ``, `not a JSON object`},
		{"fourier.gaussian", `[1]`, `not a JSON object`},
		{"fourier.gaussian", `{"in":`, `unexpected EOF`},
		{"scale.standard", `{"mean":[1e39],"dev":[1]}`, `field "mean`},
		{"chain", `{"steps":[]}`, `features: chain: chain: no steps`},
		{"chain", `{"steps":[{"kind":"scale.unit","recipe":{"im":4}}]}`,
			`features: chain: step 1: scale.unit: unknown field "im"`},
		{"chain", `{"steps":[{"kind":"scale.unit","recipe":{"in":4},"x":1}]}`, `unknown field "x"`},
		{"chain", `{"steps":[{"kind":"scale.unit"}]}`, `step 1: scale.unit: not a JSON object`},
		{"chain", `{"steps":[{"kind":"chain","recipe":{"steps":[]}}]}`, `step 1: a chain inside a chain`},
		{"chain", `{"stops":[]}`, `unknown field "stops"`},
	} {
		_, err := features.Sealed{Kind: c.kind, JSON: json.RawMessage(c.json)}.Open()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: have %v, want %q", c.kind, c.json, err, c.want)
		}
	}
}

// plain is a recipe of another package.
type plain struct{ D int }

func (r plain) Validate() error            { return preprocess.Divide{In: r.D, By: 1}.Validate() }
func (r plain) Dims() (in, out int)        { return r.D, r.D }
func (r plain) New() (features.Map, error) { return preprocess.Divide{In: r.D, By: 1}.New() }

func init() { features.Register("test.plain", features.Decode[plain]) }

type unregistered struct{ plain }

func TestRecipesOfOtherPackagesSeal(t *testing.T) {
	if _, err := features.Seal(unregistered{plain{2}}); err == nil ||
		!strings.Contains(err.Error(), "no kind is registered for features_test.unregistered") {
		t.Error(err)
	}
	if _, err := features.Seal(nil); err == nil {
		t.Error("nil seals")
	}
	if _, err := features.Seal(&preprocess.Unit{In: 2}); err == nil {
		t.Error("a pointer seals, and would open as a value")
	}
	s, err := features.Seal(plain{4})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Open(); err != nil || r != (plain{4}) {
		t.Errorf("%v, %v", r, err)
	}
	if in, out, err := features.Dims(plain{4}); in != 4 || out != 4 || err != nil {
		t.Errorf("%d, %d, %v", in, out, err)
	}
	if _, err := (features.Sealed{Kind: "test.plain", JSON: json.RawMessage(`{"D":0}`)}).Open(); err == nil {
		t.Error("an invalid recipe opens")
	}
	for name, f := range map[string]func(){
		"a kind twice": func() { features.Register("test.plain", features.Decode[unregistered]) },
		"a type twice": func() { features.Register("test.other", features.Decode[plain]) },
		"no kind":      func() { features.Register("", features.Decode[unregistered]) },
		"an interface": func() {
			features.Register("test.any", func([]byte, *features.Files) (features.Recipe, error) { return nil, nil })
		},
		"a pointer": func() { features.Register("test.pointer", features.Decode[*unregistered]) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("registering %s: no panic", name)
				}
			}()
			f()
		}()
	}
}
