package preprocess

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/testing/kerneltest"
	"github.com/bochner-ml/bochner/io/schema"
)

var (
	nan = float32(math.NaN())
	inf = float32(math.Inf(1))
)

func applyColumns(t *testing.T, r features.Recipe, x []float32, n int) []float32 {
	t.Helper()
	m, err := r.New()
	if err != nil {
		t.Fatal(err)
	}
	_, out := m.Dims()
	dst := slices.Repeat([]float32{-99}, n*out) // what was there must not shine through
	m.Apply(dst, x, n)
	return dst
}

// recipe holds a slot of each kind.
var recipe = Columns{Slots: []Slot{
	{Number: &Number{Fill: 5, Missing: 2}},
	{OneHot: &OneHot{Values: 3, Weight: 0.5, Missing: true}},
	{OneHot: &OneHot{Values: 2, Weight: 1}},
	{Lookup: &Lookup{Values: 2, Out: 2, Numbers: features.Floats{1, 2, 3, 4, 5, 6}}},
	{Number: &Number{Fill: -1}},
}}

func TestSlotsBecomeNumbers(t *testing.T) {
	for _, c := range []struct{ x, want []float32 }{
		{[]float32{7, 0, 1, 0, 8}, []float32{7, 0, 1, 2, 8, 0.5, 0, 0, 0, 0, 1}},
		{[]float32{0, 2, 0, 1, 0}, []float32{0, 0, 3, 4, 0, 0, 0, 0.5, 0, 1, 0}},
		{[]float32{nan, nan, nan, nan, nan}, []float32{5, 2, 5, 6, -1, 0, 0, 0, 0.5, 0, 0}},
		{[]float32{1, 3, 2, 2, 1}, []float32{1, 0, 5, 6, 1, 0, 0, 0, 0, 0, 0}}, // no such level
		{[]float32{1, 0.5, -1, 1e20, 1}, []float32{1, 0, 5, 6, 1, 0, 0, 0, 0, 0, 0}},
		{[]float32{1, inf, -inf, -inf, 1}, []float32{1, 0, 5, 6, 1, 0, 0, 0, 0, 0, 0}},
	} {
		if have := applyColumns(t, recipe, c.x, 1); !slices.Equal(have, c.want) {
			t.Errorf("%v: have %v, want %v", c.x, have, c.want)
		}
	}
}

func TestColumnsNeverEmitNaN(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const n = 300
	x := make([]float32, n*len(recipe.Slots))
	for i := range x {
		x[i] = float32(r.IntN(5) - 1)
		if r.IntN(3) == 0 {
			x[i] = nan
		}
	}
	y := applyColumns(t, recipe, x, n)
	for i, v := range y {
		if v != v {
			t.Fatalf("number %d is NaN", i)
		}
	}
	// Rows do not depend on the block that they are in.
	one := applyColumns(t, recipe, x[len(recipe.Slots)*7:], 1)
	if !slices.Equal(one, y[len(one)*7:len(one)*8]) {
		t.Error("a row alone has other numbers")
	}
}

// Squared distances between category values and missing values are those that the documentation of OneHot
// states.
func TestCategoryDistancesMatchTheDocumentation(t *testing.T) {
	const w = 0.75
	r := Columns{Slots: []Slot{{OneHot: &OneHot{Values: 4, Weight: w, Missing: true}},
		{OneHot: &OneHot{Values: 2, Weight: w}}}}
	square := func(x, z []float32) (sum float64) {
		a, b := applyColumns(t, r, x, 1), applyColumns(t, r, z, 1)
		for i := range a {
			d := float64(a[i] - b[i])
			sum += d * d
		}
		return sum
	}
	for _, c := range []struct {
		x, z []float32
		want float64
	}{
		{[]float32{0, 1}, []float32{0, 1}, 0},
		{[]float32{0, 1}, []float32{3, 1}, 2 * w * w},
		{[]float32{0, 1}, []float32{3, 0}, 4 * w * w},
		{[]float32{nan, 1}, []float32{3, 1}, 2 * w * w},
		{[]float32{0, nan}, []float32{0, 1}, w * w},
		{[]float32{0, 9}, []float32{0, 1}, w * w},
	} {
		if d := square(c.x, c.z); d != c.want {
			t.Errorf("%v to %v: %v, want %v", c.x, c.z, d, c.want)
		}
	}
	if k := kerneltest.Kernel(r)([]float32{2, 0}, []float32{2, 1}); k != w*w {
		t.Errorf("kernel %v", k)
	}
}

func TestRecipeErrorsNameSlotAndField(t *testing.T) {
	slot := func(s Slot) Columns { return Columns{Slots: []Slot{{Number: &Number{}}, s}} }
	for _, c := range []struct {
		r    Columns
		want string
	}{
		{Columns{}, "columns: the number of slots must be 1 to 1048576 (have 0)"},
		{slot(Slot{}), "columns: slot 2: want one of number, onehot and table (have 0)"},
		{slot(Slot{Number: &Number{}, OneHot: &OneHot{}}), "(have 2)"},
		{slot(Slot{Number: &Number{Fill: nan}}), "slot 2: number: fill and missing must be finite"},
		{slot(Slot{Number: &Number{Missing: inf}}), "fill and missing must be finite"},
		{slot(Slot{OneHot: &OneHot{Values: 0, Weight: 1}}), "onehot: values must be 1 to 1048577 (have 0)"},
		{slot(Slot{OneHot: &OneHot{Values: 2}}), "onehot: weight must be > 0"},
		{slot(Slot{OneHot: &OneHot{Values: 2, Weight: nan}}), "onehot: weight must be > 0"},
		{slot(Slot{OneHot: &OneHot{Values: 1 << 20, Weight: 1}}), "slot 2: more than 1048576 numbers of a row"},
		{slot(Slot{Lookup: &Lookup{Values: 1 << 40, Out: 1}}), "table: values must be 1 to 1048577"},
		{slot(Slot{Lookup: &Lookup{Values: 1, Out: 1 << 40}}), "out 1 to 1048576"},
		{slot(Slot{Lookup: &Lookup{Values: 2, Out: 2, Numbers: features.Floats{1}}}),
			"table: 1 numbers; 2 of each of 2 values and of a missing one, 1 times, take 6"},
		{slot(Slot{Lookup: &Lookup{Values: 1, Out: 1, Numbers: features.Floats{1, nan}}}), "table: number 2 must be finite"},
	} {
		if _, err := c.r.New(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: have %v, want %q", c.r, err, c.want)
		}
		if _, err := features.Seal(c.r); err == nil {
			t.Errorf("%+v seals", c.r)
		}
	}
}

func TestColumnsPanicOnShortSlices(t *testing.T) {
	m, err := recipe.New()
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(){
		"x":      func() { m.Apply(make([]float32, 22), make([]float32, 9), 2) },
		"dst":    func() { m.Apply(make([]float32, 21), make([]float32, 10), 2) },
		"n":      func() { m.Apply(nil, nil, -1) },
		"Kernel": func() { kerneltest.Kernel(recipe)(make([]float32, 5), make([]float32, 4)) },
		"Names":  func() { recipe.Names(&schema.Table{Columns: []schema.Column{{Type: schema.Number}}}) },
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

func TestTablesSealInSixBytesANumber(t *testing.T) {
	const levels = 100_000
	numbers := make(features.Floats, levels+1)
	for i := range numbers {
		numbers[i] = float32(i) / 7
	}
	r := Columns{Slots: []Slot{{Lookup: &Lookup{Values: levels, Out: 1, Numbers: numbers}}}}
	s, err := features.Seal(r)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.JSON); n > 6*levels {
		t.Errorf("%d bytes", n)
	}
	back, err := s.Open()
	if err != nil || !reflect.DeepEqual(back, r) {
		t.Errorf("opens as another recipe: %v", err)
	}
}

func TestDecodeRejectsHugeSizesInLittleMemory(t *testing.T) {
	for _, text := range []string{
		`{"slots":[{"table":{"values":1048577,"out":1048576,"numbers":""}}]}`,
		`{"slots":[{"onehot":{"values":1048577,"weight":1}}]}`,
		`{"slots":[{"onehot":{"values":-1,"weight":1}}]}`,
		`{"slots":[{"table":{"values":1,"out":1,"numbers":"AAAA"}}]}`,
		`{"slots":[{"table":{"values":1,"out":1,"numbers":[1,2]}}]}`,
		`{"slots":[{"table":{"values":1,"out":1,"numbers":"????"}}]}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := features.Decode[Columns]([]byte(text), nil); err == nil {
			t.Errorf("%s is accepted", text)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%s takes %d bytes", text, n)
		}
	}
}

func TestNamesCombineColumnAndCategory(t *testing.T) {
	table := &schema.Table{Columns: []schema.Column{
		{Name: "age", Type: schema.Number},
		{Name: "work", Type: schema.Category, Levels: []string{"a", "b"}},
		{Name: "zip", Type: schema.Category, Buckets: 2},
		{Name: "street", Type: schema.Category, Levels: []string{"x"}},
		{Name: "size", Type: schema.Number},
	}}
	want := []string{"age", "age=(missing)", "street.1", "street.2", "size", "work=a", "work=b", "work=(other)",
		"work=(missing)", "zip=#0", "zip=#1"}
	if have := recipe.Names(table); !slices.Equal(have, want) {
		t.Errorf("have %q\nwant %q", have, want)
	}
}

func FuzzRecipe(f *testing.F) {
	data, err := json.Marshal(recipe)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, float32(1))
	f.Add([]byte(`{"slots":[{"onehot":{"values":7,"weight":1,"missing":true}}]}`), nan)
	f.Add([]byte(`{"slots":[{"table":{"values":1,"out":1,"numbers":"AACAPwAAAEA="}}]}`), inf)
	f.Fuzz(func(t *testing.T, data []byte, v float32) {
		r, err := features.Decode[Columns](data, nil)
		if err != nil {
			return
		}
		in, out := r.Dims()
		if out > 1<<14 {
			return
		}
		m, err := r.New()
		if err != nil {
			t.Fatal(err)
		}
		y := make([]float32, out)
		m.Apply(y, slices.Repeat([]float32{v}, in), 1)
		for i, number := range y {
			if number != number {
				t.Fatalf("number %d is NaN", i)
			}
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := features.Decode[Columns](again, nil); err != nil || !reflect.DeepEqual(back, r) {
			t.Fatalf("%s reads as %+v, want %+v: %v", again, back, r, err)
		}
	})
}
