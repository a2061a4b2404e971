package onnx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/features/landmarks"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/features/maxout"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/score"
)

// modelOf returns a classifier with that recipe, read from its files.
func modelOf(t *testing.T, r features.Recipe, columns []string, table *schema.Table) *models.Model {
	t.Helper()
	sealed, err := features.Seal(r)
	if err != nil {
		t.Fatal(err)
	}
	in, out, err := features.Dims(r)
	if err != nil {
		t.Fatal(err)
	}
	options, err := json.Marshal(map[string]any{"table": table})
	if err != nil {
		t.Fatal(err)
	}
	m := &models.Model{
		Manifest: &models.Manifest{
			Task: models.Classification, Recipe: sealed, Learner: models.Learner{Kind: "ridge", Folds: 1},
			Targets: models.Targets{Vocabulary: schema.NewVocabulary([]string{"a", "b"})},
			Input:   models.Input{Format: "csv", Dim: in, Columns: columns, Options: options},
		},
		Linear: &linear.Model{K: 2, D: out, W: make([]float32, 2*out), B: []float32{0.5, -0.5}},
	}
	files, err := models.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	dir := fstest.MapFS{}
	for _, f := range files {
		dir[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	read, err := models.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

var gaussian = fourier.Gaussian{In: 5, Out: 40, Width: 2, Seed: 1}

// fields calls use with each field of a message.
func fields(t *testing.T, m []byte, use func(field protowire.Number, kind protowire.Type, value []byte)) {
	t.Helper()
	for len(m) > 0 {
		field, kind, n := protowire.ConsumeTag(m)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		m = m[n:]
		size := protowire.ConsumeFieldValue(field, kind, m)
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		value := m[:size]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(m)
		}
		use(field, kind, value)
		m = m[size:]
	}
}

// checkGraph tests that nodes take what comes before them, and all initializers, and that numbers have the size of
// their shape.
func checkGraph(t *testing.T, graph []byte) (nodes int) {
	t.Helper()
	known, unused := map[string]bool{}, map[string]bool{}
	define := func(name string) {
		if known[name] || name == "" {
			t.Errorf("the value %q is empty or defined twice", name)
		}
		known[name] = true
	}
	fields(t, graph, func(field protowire.Number, _ protowire.Type, value []byte) {
		name, size, bytesOf, data := "", int64(1), int64(4), int64(-1)
		if field == 5 { // an initializer
			fields(t, value, func(field protowire.Number, _ protowire.Type, value []byte) {
				number, _ := protowire.ConsumeVarint(value)
				switch field {
				case 1:
					size *= int64(number)
				case 2:
					if number != uint64(Float) {
						bytesOf = 8
					}
				case 8:
					name = string(value)
				case 9:
					data = int64(len(value))
				}
			})
			if data >= 0 && data != size*bytesOf {
				t.Errorf("%s has %d bytes for %d numbers", name, data, size)
			}
			define(name)
			unused[name] = true
		}
		if field == 11 {
			first := true
			fields(t, value, func(field protowire.Number, _ protowire.Type, value []byte) {
				if first {
					define(string(value))
				}
				first = false
			})
		}
	})
	fields(t, graph, func(field protowire.Number, _ protowire.Type, node []byte) {
		if field != 1 {
			return
		}
		nodes++
		fields(t, node, func(field protowire.Number, _ protowire.Type, value []byte) {
			if field == 1 {
				delete(unused, string(value))
			}
			switch {
			case field == 1 && !known[string(value)]:
				t.Errorf("node %d takes %q, which is not defined before it", nodes, value)
			case field == 2:
				define(string(value))
			}
		})
	})
	fields(t, graph, func(field protowire.Number, _ protowire.Type, value []byte) {
		if field == 12 {
			fields(t, value, func(field protowire.Number, _ protowire.Type, value []byte) {
				if field == 1 && !known[string(value)] {
					t.Errorf("the output %q is not defined", value)
				}
			})
		}
	})
	if len(unused) > 0 {
		t.Errorf("no node takes the initializers %v", slices.Sorted(maps.Keys(unused)))
	}
	return nodes
}

func TestGraphsAreWellFormed(t *testing.T) {
	five := []string{"/1", "label", "c", "scores", "e"} // names that a graph has itself
	bins := preprocess.Bins{In: 5, Weight: 1, Columns: []preprocess.BinColumn{{Index: 2, Cuts: features.Floats{1, 2}}}}
	hats := bins
	hats.PiecewiseLinear = true
	low, high := make([]float32, 5), []float32{1, 1, 1, 1, 1}
	typed := &schema.Table{Columns: []schema.Column{
		{Name: "a", Type: schema.Number},
		{Name: "b", Type: schema.Category, Levels: []string{"1", "x"}}, {Name: "c", Type: schema.Boolean},
		{Name: "when", Type: schema.Time, Layout: "iso"},
	}, Rules: schema.Rules{Missing: []string{"na", "-1"}}}
	slots := preprocess.Columns{Slots: []preprocess.Slot{
		{Number: &preprocess.Number{Fill: 1, Missing: 1}},
		{OneHot: &preprocess.OneHot{Values: 3, Weight: 1, Missing: true}},
		{Lookup: &preprocess.Lookup{Values: 2, Out: 1, Numbers: features.Floats{0, 1, 0.5}}},
		{Number: &preprocess.Number{}}, {Number: &preprocess.Number{}}, {Number: &preprocess.Number{}},
		{Number: &preprocess.Number{}},
	}}
	for i, c := range []struct {
		recipe  features.Recipe
		columns []string
		table   *schema.Table
	}{
		{gaussian, nil, nil},
		{fourier.Gaussian{In: 5, Out: 40, Width: 2, Form: fourier.Offset, Draw: fourier.Orthogonal}, five, nil},
		{fourier.Gaussian{In: 5, Out: 40, Width: 2, Draw: fourier.Structured}, five, nil},
		{maxout.Recipe{In: 5, Out: 7, Q: 3, Pool: 9, Bound: 4}, five, nil},
		{preprocess.Join{Parts: []features.Recipe{gaussian, bins}}, five, nil},
		{preprocess.Join{Parts: []features.Recipe{gaussian, hats}}, five, nil},
		{features.Chain{Steps: []features.Recipe{preprocess.Differences{In: 5, Pairs: []preprocess.Difference{
			{First: 3, Second: 1, A: 1, B: 2, C: 3}}}, fourier.Laplace{In: 6, Out: 10, Width: 1}}}, five, nil},
		{features.Chain{Steps: []features.Recipe{preprocess.Standard{Mean: low, Dev: high},
			identity.Recipe{In: 5, Low: low, High: high}}}, five, nil},
		{features.Chain{Steps: []features.Recipe{slots, fourier.Laplace{In: 11, Out: 10, Width: 1}}}, nil, typed},
	} {
		for _, by := range []bool{false, true} {
			m := modelOf(t, c.recipe, c.columns, c.table)
			g, err := New(m, Options{ByColumn: by})
			if err != nil {
				t.Fatal(err)
			}
			var file, again bytes.Buffer
			n, err := g.WriteTo(&file)
			if err != nil || n != g.Size() || int(n) != file.Len() {
				t.Fatalf("graph %d: wrote %d of %d bytes: %v", i, n, g.Size(), err)
			}
			graphs := 0
			fields(t, file.Bytes(), func(field protowire.Number, _ protowire.Type, value []byte) {
				if field == 7 {
					graphs++
					if nodes := checkGraph(t, value); nodes < 5 {
						t.Errorf("graph %d has %d nodes", i, nodes)
					}
				}
			})
			if _, err := g.WriteTo(&again); err != nil || graphs != 1 || !bytes.Equal(file.Bytes(), again.Bytes()) {
				t.Errorf("graph %d: %d graphs, or another file the second time: %v", i, graphs, err)
			}
			named := func(v Value, name string) bool { return v.Name == name }
			if by && c.columns != nil && !slices.EqualFunc(g.Inputs, five, named) {
				t.Errorf("graph %d: inputs %v", i, g.Inputs)
			}
		}
	}
}

// Probabilities of a loss with class weights are divided by the weights. Probabilities of curves are not, since
// curves are fitted to rows that count equally.
func TestOnlyProbabilitiesOfLossesAreDividedByClassWeights(t *testing.T) {
	divisions := func(kind score.Method, weights []float64) int {
		m := modelOf(t, gaussian, nil, nil)
		curve := score.CalibrationCurve{Slope: 1, Score: []float64{-1, 1}, Probability: []float64{0, 1}}
		m.Manifest.Probabilities = &models.Probabilities{Kind: kind, Weights: weights,
			Curves: []score.CalibrationCurve{curve, curve}}
		g, err := New(m, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if _, err := g.WriteTo(&file); err != nil {
			t.Fatal(err)
		}
		return bytes.Count(file.Bytes(), []byte("Div"))
	}
	for kind, more := range map[score.Method]int{models.Softmax: 1, models.Logistic: 1, score.Platt: 0, score.Isotonic: 0} {
		if got := divisions(kind, []float64{4, 1}) - divisions(kind, nil); got != more {
			t.Errorf("%s: %d more divisions with class weights, want %d", kind, got, more)
		}
	}
}

// The graph clips infinite numbers before it takes squared distances, in which ∞ − ∞ would be NaN.
func TestLandmarkDistancesUseFiniteNumbers(t *testing.T) {
	r, err := landmarks.RecipeOf(gaussian, &landmarks.Set{Count: 2, In: 5, X: make([]float32, 10)})
	if err != nil {
		t.Fatal(err)
	}
	g := new(Graph)
	if _, err := g.landmarks(r, "x"); err != nil {
		t.Fatal(err)
	}
	var operators []string
	for _, m := range g.nodes {
		fields(t, m, func(field protowire.Number, _ protowire.Type, value []byte) {
			if field == 4 {
				operators = append(operators, string(value))
			}
		})
	}
	if want := []string{"Cast", "Min", "Max", "Gemm"}; !slices.Equal(operators[:4], want) {
		t.Errorf("%v, want first %v", operators, want)
	}
}

func TestUnsupportedModelsAreNamed(t *testing.T) {
	hashed := &schema.Table{Columns: []schema.Column{{Name: "shop", Type: schema.Category, Buckets: 8}}}
	hot := preprocess.Columns{Slots: []preprocess.Slot{{OneHot: &preprocess.OneHot{Values: 8, Weight: 1}}}}
	large := fourier.Gaussian{In: 4096, Out: 1 << 19, Width: 1, Draw: fourier.Structured}
	for _, c := range []struct {
		recipe  features.Recipe
		columns []string
		table   *schema.Table
		by      bool
		says    string
	}{
		{learned.Harmonics{In: 3, Terms: learned.FirstHarmonics(3, 4)}, nil, nil, false, "harmonic"},
		{preprocess.Gray{Shape: preprocess.ImageShape{Height: 2, Width: 2, Channels: 3}}, nil, nil, false, "image.gray"},
		{hot, nil, hashed, false, `column "shop", whose texts are hashed to 8 buckets`},
		{gaussian, []string{"a", "b", "a", "c", "d"}, nil, true, `occurs twice ("a")`},
		{large, nil, nil, false, "take 4.30 GB, more than the 2 GiB"},
	} {
		_, err := New(modelOf(t, c.recipe, c.columns, c.table), Options{ByColumn: c.by})
		if !errors.Is(err, ErrUnsupported) || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%T: %v, want %q", c.recipe, err, c.says)
		}
	}
}

func TestWordsAreListedInAllCases(t *testing.T) {
	for word, want := range map[string][]string{
		"na": {"na", "nA", "Na", "NA"}, "": {""}, "1": {"1"}, "é": {"é", "É"},
		"not there": {"not there", "not there", "NOT THERE", "Not there"},
	} {
		if got := cases(word); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if got := whole([]string{"x", "-7", "1.5"}, 0); !slices.Equal(got, []string{"x", "-7", "1.5", "-7.0", "-7.00"}) {
		t.Errorf("whole numbers with a fraction: %q", got)
	}
}
