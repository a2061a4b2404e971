package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/features/maxout"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/features/skeleton"
	"github.com/bochner-ml/bochner/internal/testing/stattest"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/score"
)

// stored returns the directory of a model.
func stored(t testing.TB, m *Model) fstest.MapFS {
	t.Helper()
	files, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	dir := fstest.MapFS{}
	for _, f := range files {
		dir[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return dir
}

// loaded returns a model as Load does.
func loaded(t testing.TB, m *Model) *Model {
	t.Helper()
	m, err := Load(stored(t, m))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// random returns n numbers from N(0, 1).
func random(n int) []float64 {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

// on returns a classifier of three classes on the features of a recipe.
func on(t testing.TB, r features.Recipe) *Model {
	t.Helper()
	in, out, err := features.Dims(r)
	if err != nil {
		t.Fatal(err)
	}
	m := classifier(t)
	if m.Manifest.Recipe, err = features.Seal(r); err != nil {
		t.Fatal(err)
	}
	m.Manifest.Input = Input{Format: "csv", Dim: in}
	m.Linear = &linear.Model{K: 3, D: out, B: []float32{0.1, 0, -0.1}}
	for _, v := range random(3 * out) {
		m.Linear.W = append(m.Linear.W, float32(v))
	}
	m.Manifest.Probabilities = &Probabilities{Kind: Softmax}
	return m
}

// recipes has one of every family.
func recipes(t testing.TB) map[string]features.Recipe {
	t.Helper()
	const in, out = 6, 64
	w := make([]float32, in*out/2)
	for i, v := range random(len(w)) {
		w[i] = float32(v)
	}
	frequencies, err := learned.Encode(&learned.Frequencies{Count: out / 2, In: in, W: w})
	if err != nil {
		t.Fatal(err)
	}
	found, err := learned.RecipeOf(frequencies, fourier.Paired, 1)
	if err != nil {
		t.Fatal(err)
	}
	ones := slices.Repeat([]float32{1}, in)
	return map[string]features.Recipe{
		"gaussian":   fourier.Gaussian{In: in, Out: out, Width: 1},
		"orthogonal": fourier.Gaussian{In: in, Out: out, Width: 1, Draw: fourier.Orthogonal},
		"structured": fourier.Gaussian{In: in, Out: out, Width: 1, Form: fourier.Offset, Draw: fourier.Structured},
		"laplace":    fourier.Laplace{In: in, Out: out, Width: 1, Form: fourier.Offset},
		"matern":     fourier.Matern{In: in, Out: out, Width: 1, Nu: 1.5},
		"cauchy":     fourier.Cauchy{In: in, Out: out, Width: 1},
		"learned":    found,
		"maxout":     maxout.Recipe{In: in, Out: out, Q: 4, Bound: 4},
		"harmonic": learned.Harmonics{In: in,
			Terms: []learned.Harmonic{{Degree: 1, Index: 0, Count: 1}, {Degree: 2, Index: 1, Count: 2}}},
		"linear": identity.Recipe{In: in, Bound: 8},
		"skeleton": skeleton.Compositional{Out: out, Skeleton: skeleton.Skeleton{
			Columns: in, Space: skeleton.Space{Circle: 2}, Layers: []skeleton.Layer{{Full: true,
				Activation: skeleton.Activation{Exponential: 1}}},
		}},
		"joined": features.Chain{Steps: []features.Recipe{
			preprocess.NormalScores{Columns: make([]preprocess.Knots, in)}, preprocess.Clip{At: ones},
			preprocess.Join{Parts: []features.Recipe{
				features.Chain{Steps: []features.Recipe{preprocess.DiagonalMetric{A: ones},
					fourier.Gaussian{In: in, Out: out, Width: 1}}},
				preprocess.Bins{In: in, Weight: 0.5, Columns: []preprocess.BinColumn{{Index: 1, Cuts: features.Floats{-1, 0, 1}}}},
			}},
		}},
		"scaled": features.Chain{Steps: []features.Recipe{preprocess.Standard{Mean: ones, Dev: ones}, preprocess.Unit{In: in},
			fourier.Gaussian{In: in, Out: out, Width: 1}}},
	}
}

func TestPredictReturnsTheUnitsOfTheData(t *testing.T) {
	m := regressor(t)
	m.Manifest.Input.Options = json.RawMessage(`{"format":"csv","dim":2,"centre":[1700000000,0]}`)
	r := loaded(t, m)
	x := []float64{1700000000.25, 1, 1700000001.5, 2}
	got := make([]float64, 2)
	if err := r.Predict(got, x); err != nil {
		t.Fatal(err)
	}
	for i, v := range []float32{0.25, 1.5} {
		phi, s, want := make([]float32, 5), make([]float32, 1), make([]float64, 1)
		r.Map.Apply(phi, []float32{v, 0}, 1)
		r.Linear.Scores(s, phi, 1)
		if r.Targets(want, s); got[i] != want[0] || got[i] < 1e6-8 {
			t.Errorf("row %d: %v, want %v", i, got[i], want[0])
		}
		if err := r.Scores(want, x[2*i:2*i+2]); err != nil || want[0] != float64(s[0]) {
			t.Errorf("row %d: score %v, %v, want %v", i, want[0], err, s[0])
		}
	}
	if m.Manifest.Input.Options = json.RawMessage(`{"centre":[1]}`); true {
		if _, err := Load(stored(t, m)); !errors.Is(err, ErrBadModel) ||
			!strings.Contains(err.Error(), "1 centres for rows of 2 numbers") {
			t.Errorf("wrong number of centres: %v", err)
		}
	}
}

// Every family of maps is available in a program that imports models, gives each row of a block the same scores
// as without the others, in float32 too, and does not allocate.
func TestEveryRecipePredictsEachRowSeparately(t *testing.T) {
	for name, r := range recipes(t) {
		model := on(t, r)
		if _, ok := r.(learned.Recipe); ok {
			continue // models/learned_test.go
		}
		m := loaded(t, model)
		in, _ := m.Map.Dims()
		const n = 9
		x := random(n * in)
		x32 := make([]float32, len(x))
		for i := range x {
			x32[i] = float32(x[i])
		}
		class, again, p, s := make([]float64, n), make([]float64, n), make([]float64, 3*n), make([]float64, 3*n)
		if err := errors.Join(m.Predict(class, x), m.Probabilities(p, x), m.Scores(s, x),
			m.Predict32(again, x32)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(class, again) {
			t.Errorf("%s: %v of float64, %v of float32", name, class, again)
		}
		for i := range n {
			one, row := make([]float64, 3), x[i*in:(i+1)*in]
			if err := m.Probabilities(one, row); err != nil || !slices.Equal(one, p[3*i:3*i+3]) {
				t.Errorf("%s: row %d alone has %v, %v, among others %v", name, i, one, err, p[3*i:3*i+3])
			}
			best := slices.Index(one, slices.Max(one))
			if total := one[0] + one[1] + one[2]; math.Abs(total-1) > 1e-6 || float64(best) != class[i] {
				t.Errorf("%s: row %d is of class %g, with probabilities %v", name, i, class[i], one)
			}
		}
		if m.Class(0) != "ant" || m.Width() != 1 {
			t.Errorf("%s: class 0 is %s", name, m.Class(0))
		}
		if stattest.Racing {
			continue
		}
		row, dst := x[:in], make([]float64, 3)
		if got := testing.AllocsPerRun(200, func() {
			err := errors.Join(m.Predict(dst, row), m.Predict32(dst, x32[:in]), m.Probabilities(dst, row))
			if err != nil {
				t.Error(err)
			}
		}); got != 0 {
			t.Errorf("%s: %g allocations", name, got)
		}
	}
}

func TestProbabilitiesAllocateNothing(t *testing.T) {
	if stattest.Racing {
		t.Skip("the race detector has pools forget")
	}
	curve := score.CalibrationCurve{Score: []float64{-1, 1}, Probability: []float64{0.1, 0.9}}
	for _, p := range []*Probabilities{
		{Kind: Softmax}, {Kind: Logistic}, {Kind: score.Platt, Rows: 10, Folds: 5,
			Curves: slices.Repeat([]score.CalibrationCurve{{Slope: 2, Offset: 1}}, 3)},
		{Kind: score.Isotonic, Rows: 10, Folds: 5, Curves: slices.Repeat([]score.CalibrationCurve{curve}, 3)},
	} {
		m := on(t, waves{In: 2, Out: 5})
		m.Manifest.Probabilities = p
		m = loaded(t, m)
		dst, row := make([]float64, 3), []float64{1, 2}
		if got := testing.AllocsPerRun(200, func() {
			if err := m.Probabilities(dst, row); err != nil {
				t.Error(err)
			}
		}); got != 0 {
			t.Errorf("%s: %g allocations", p.Kind, got)
		}
	}
}

func TestInvalidRowsAreRowErrors(t *testing.T) {
	m := loaded(t, classifier(t))
	dst := make([]float64, 100)
	for _, c := range []struct {
		x    []float64
		want RowError
		says string
	}{
		{[]float64{1, 2, 3, math.NaN()}, RowError{Row: 1, Column: 1, Name: "höhe"},
			"models: row 1, column 1 (höhe): NaN is not a finite float32 number"},
		{[]float64{math.Inf(-1), 2}, RowError{Name: "width <cm>", Value: math.Inf(-1)}, "-Inf is not"},
		{[]float64{1, 1e300}, RowError{Column: 1, Name: "höhe", Value: 1e300}, "1e+300 is not"},
	} {
		err := m.Predict(dst, c.x)
		var e *RowError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v", c.x, err)
			continue
		}
		if math.IsNaN(e.Value) {
			e.Value = 0
		}
		if *e != c.want {
			t.Errorf("%v: %+v, want %+v", c.x, *e, c.want)
		}
	}
	for _, err := range []error{m.Predict(dst, []float64{1}), m.Predict(dst[:1], []float64{1, 2, 3, 4}),
		m.Scores(dst[:2], []float64{1, 2})} {
		if err == nil {
			t.Error("accepted a wrong length")
		}
	}
	if err := m.Probabilities(dst, []float64{1, 2}); !errors.Is(err, ErrNoProbabilities) {
		t.Errorf("probabilities: %v", err)
	}
	// The row is found in any block.
	many := make([]float64, 2*(rowio.MaxRows+7))
	many[2*(rowio.MaxRows+5)] = math.NaN()
	var e *RowError
	if err := m.Predict(make([]float64, len(many)), many); !errors.As(err, &e) || e.Row != rowio.MaxRows+5 ||
		e.Column != 0 {
		t.Errorf("in the second block: %v", err)
	}
	big := on(t, identity.Recipe{In: 2, Bound: 1})
	if err := loaded(t, big).Predict(dst, []float64{3e38, -3e38}); !errors.As(err, &e) || e.Row != 0 || e.Column != -1 {
		t.Errorf("scores beyond float32: %v", err)
	}
}

func TestColumnsAreFoundByName(t *testing.T) {
	c := classifier(t)
	m := loaded(t, c)
	width, height := Column{Name: "width <cm>", Values: []float64{1, 2, 3}}, Column{Name: "höhe",
		Values: []float64{4, 5, 6}}
	x, err := m.AppendRows(nil, height, width)
	if err != nil || !slices.Equal(x, []float64{1, 4, 2, 5, 3, 6}) {
		t.Errorf("rows %v, %v", x, err)
	}
	got, want := make([]float64, 3), make([]float64, 3)
	if err := errors.Join(m.PredictNamed(got, height, width), m.Predict(want, x)); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	for _, test := range []struct {
		columns []Column
		name    string
		kind    error
		says    string
	}{
		{[]Column{width}, "höhe", ErrMissingColumn, `models: column "höhe": is missing`},
		{nil, "width <cm>", ErrMissingColumn, ""},
		{[]Column{width, height, {Name: "höhen"}}, "höhen", ErrUnknownColumn,
			`the model has no such column (did you mean "höhe"?)`},
		{[]Column{width, height, width}, "width <cm>", ErrRepeatedColumn, ""},
		{[]Column{width, {Name: "höhe", Values: []float64{1}}}, "höhe", ErrColumnLength, ""},
	} {
		err := m.PredictNamed(got, test.columns...)
		var e *ColumnError
		if !errors.As(err, &e) || e.Name != test.name || !errors.Is(err, test.kind) ||
			!strings.Contains(err.Error(), test.says) {
			t.Errorf("%v, want %v of %s", err, test.kind, test.name)
		}
	}
	columns := []Column{height, width}
	if got := testing.AllocsPerRun(200, func() {
		if err := m.PredictNamed(want, columns...); err != nil {
			t.Error(err)
		}
	}); got != 0 && !stattest.Racing {
		t.Errorf("%g allocations", got)
	}
	c.Manifest.Input.Columns = nil
	if err := loaded(t, c).PredictNamed(got, width); !errors.Is(err, ErrNoColumns) {
		t.Errorf("without names: %v", err)
	}
}

// A text gives the same features as the same number: the centre is subtracted before it is rounded to float32.
func TestTextsOfCentredColumnsAreExact(t *testing.T) {
	m := regressor(t)
	m.Manifest.Input.Options = json.RawMessage(`{"centre":[1700000000,0],"table":{"missing":["na"],
		"columns":[{"name":"when","type":"number"},{"name":"x","type":"number"}]}}`)
	x, err := loaded(t, m).AppendRows(nil, Column{Name: "when", Texts: []string{"1700000001.25", "NA", "1700000003"}},
		Column{Name: "x", Texts: []string{"2.5", "1", ""}})
	if want := "[1.70000000125e+09 2.5 NaN 1 1.700000003e+09 NaN]"; err != nil || fmt.Sprint(x) != want {
		t.Errorf("rows %v, %v, want %v", x, err, want)
	}
}

func TestConcurrentProbabilitiesMatchSequentialOnes(t *testing.T) {
	m := loaded(t, on(t, fourier.Gaussian{In: 6, Out: 64, Width: 1}))
	const n = 50
	x := random(6 * n)
	want := make([]float64, 3*n)
	if err := m.Probabilities(want, x); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got := make([]float64, 3*n)
			for i := range n {
				if err := m.Probabilities(got[3*i:], x[6*i:6*i+6]); err != nil {
					t.Error(err)
				}
			}
			if !slices.Equal(got, want) {
				t.Error("other probabilities")
			}
		})
	}
	wg.Wait()
}

func TestMissingModelIsErrNotExist(t *testing.T) {
	dir := t.TempDir()
	at := func(path string) error { _, err := LoadURI(t.Context(), path); return err }
	in := func(fsys fs.FS) error { _, err := Load(fsys); return err }
	whole := stored(t, classifier(t))
	if err := in(whole); err != nil {
		t.Fatal(err)
	}
	delete(whole, WeightsFile)
	for _, c := range []struct {
		err    error
		path   string
		absent bool
	}{
		{at(filepath.Join(dir, "none")), filepath.Join(dir, "none"), true},
		{at(dir), dir, true},
		{in(os.DirFS(filepath.Join(dir, "none"))), filepath.Join(dir, "none"), true},
		{in(os.DirFS(dir)), dir, true},
		{in(fstest.MapFS{}), "", true},
		{in(whole), "", false},
		{in(fstest.MapFS{ManifestFile: {Data: []byte("{}")}}), "", false},
		{in(fstest.MapFS{ManifestFile: {Mode: fs.ModeDir}}), "", false},
		{in(fstest.MapFS{ManifestFile: {Data: make([]byte, MaxManifest+1)}}), "", false},
	} {
		var e *Error
		if !errors.As(c.err, &e) || !errors.Is(c.err, ErrBadModel) || errors.Is(c.err, fs.ErrNotExist) != c.absent ||
			e.Path != c.path {
			t.Errorf("%v: absent %t, want %t at %q", c.err, errors.Is(c.err, fs.ErrNotExist), c.absent, c.path)
		}
	}
}

// BenchmarkPredict scores one row at a time, as a service does.
//
//	go test -bench Predict ./models
func BenchmarkPredict(b *testing.B) {
	for _, d := range []int{14, 784} {
		m := on(b, fourier.Gaussian{In: d, Out: 4096, Width: math.Sqrt(float64(d))})
		m.Manifest.Task, m.Manifest.Outputs = Regression, 1
		m.Manifest.Vocabulary, m.Manifest.Probabilities, m.Manifest.Profile = nil, nil, Profile{}
		m.Manifest.TargetGrid = linear.Grids{{Low: -1, High: 1}}
		m.Linear.K, m.Linear.W, m.Linear.B = 1, m.Linear.W[:4096], m.Linear.B[:1]
		m = loaded(b, m)
		x, dst := random(d), make([]float64, 1)
		b.Run(fmt.Sprintf("d=%d", d), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := m.Predict(dst, x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
