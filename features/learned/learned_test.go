package learned

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/testing/kerneltest"
	"github.com/bochner-ml/bochner/internal/testing/stattest"
)

func numbers(n int, sd float64, index uint64) []float32 {
	s := stream.New(1, stream.PurposeOf("learned/test"), index)
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(sd * s.Normal())
	}
	return out
}

// some returns frequencies for rows of 5 numbers, with weights if weighted is true.
func some(count int, weighted bool) *Frequencies {
	f := &Frequencies{Count: count, In: 5, W: numbers(count*5, 0.1, 1)}
	if weighted {
		var sum float64
		for j := range count {
			f.Weight = append(f.Weight, float64(j%7))
			sum += float64(j % 7)
		}
		for j := range f.Weight {
			f.Weight[j] /= sum
		}
	}
	return f
}

func encode(t testing.TB, f *Frequencies) []byte {
	t.Helper()
	data, err := Encode(f)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func dot(a, b []float32) (sum float64) {
	for i, v := range a {
		sum += float64(v) * float64(b[i])
	}
	return sum
}

// The inner product of features is exactly the kernel in the paired form, and on average over
// offsets in the offset form.
func TestInnerProductsAreTheKernel(t *testing.T) {
	x := numbers(10, 1, 2)
	for _, weighted := range []bool{false, true} {
		data := encode(t, some(33, weighted))
		product := func(r Recipe) float64 {
			m, err := r.New()
			if err != nil {
				t.Fatal(err)
			}
			_, out := m.Dims()
			phi := make([]float32, 2*out)
			m.Apply(phi, x, 2)
			return dot(phi[:out], phi[out:])
		}
		paired, err := RecipeOf(data, fourier.Paired, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := paired.Kernel(x[:5], x[5:])
		if got := product(paired); math.Abs(got-want) > 1e-6 {
			t.Errorf("weighted %v: paired φ·φ = %v, kernel %v", weighted, got, want)
		}
		if one := paired.Kernel(x[:5], x[:5]); math.Abs(one-1) > 1e-9 {
			t.Errorf("weighted %v: K(x, x) = %v", weighted, one)
		}
		stattest.Over(400, func(seed uint64) float64 {
			r, err := RecipeOf(data, fourier.Offset, seed)
			if err != nil {
				t.Fatal(err)
			}
			return product(r)
		}).Near(t, "offset φ·φ", want, 1e-6)
	}
}

func TestSealedRecipesFindTheirFrequencies(t *testing.T) {
	f := some(7, true)
	data := encode(t, f)
	r, err := RecipeOf(data, fourier.Offset, 3)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := features.Seal(r)
	if err != nil {
		t.Fatal(err)
	}
	back, err := sealed.WithFiles(nil).Open()
	if err != nil {
		t.Fatal(err)
	}
	if in, out, err := features.Dims(back); in != 5 || out != 7 || err != nil {
		t.Errorf("dims %d, %d, %v", in, out, err)
	}
	if _, err := back.New(); err == nil || !strings.Contains(err.Error(), "not available") {
		t.Errorf("New without the file: %v", err)
	}
	if !math.IsNaN(kerneltest.Kernel(back)(f.W[:5], f.W[5:10])) {
		t.Error("Kernel without the file is a number")
	}
	files := new(features.Files)
	if sum, err := files.Add(FileName, data); err != nil || sum != r.SHA256 {
		t.Fatal(sum, err)
	}
	for _, sealed := range []features.Sealed{sealed, sealed.WithFiles(files)} {
		if back, err = sealed.Open(); err != nil || !reflect.DeepEqual(back, features.Recipe(r)) {
			t.Errorf("opened %+v, sealed %+v, %v", back, r, err)
		}
		if _, err := back.New(); err != nil {
			t.Error(err)
		}
	}
	r.Count = 6
	if _, err := r.New(); err == nil || !strings.Contains(err.Error(), "7 frequencies of length 5") {
		t.Errorf("a recipe of different frequencies: %v", err)
	}
}

func TestGridHoldsEveryFeature(t *testing.T) {
	const n = 200
	x := numbers(n*5, 1, 3)
	for _, weighted := range []bool{false, true} {
		for _, form := range []fourier.Form{fourier.Paired, fourier.Offset} {
			r, err := RecipeOf(encode(t, some(40, weighted)), form, 1)
			if err != nil {
				t.Fatal(err)
			}
			made, err := r.New()
			if err != nil {
				t.Fatal(err)
			}
			m := made.(features.Gridded)
			_, out := m.Dims()
			phi := make([]float32, n*out)
			m.Apply(phi, x, n)
			grid := features.NewGrid(out, features.ByteSteps)
			if saturated := m.Quantize(grid, x, n, 2); saturated != 0 {
				t.Errorf("%d features are out of bounds", saturated)
			}
			for i := range n {
				for j := range out {
					if off := float64(phi[i*out+j]) - m.Step()*float64(grid.At(i, j)); math.Abs(off) > 0.501*m.Step() {
						t.Fatalf("weighted %v, %v: feature %d, %d = %v is %v steps from the grid", weighted, form, i, j, phi[i*out+j],
							off/m.Step())
					}
				}
			}
		}
	}
}

func TestEqualFrequenciesHaveEqualBytes(t *testing.T) {
	if !bytes.Equal(encode(t, some(9, true)), encode(t, some(9, true))) {
		t.Error("two files of the same frequencies differ")
	}
	f, err := decodeFile(encode(t, some(9, true)))
	if err != nil {
		t.Fatal(err)
	}
	if want := some(9, true); !slices.Equal(f.W, want.W) || !slices.Equal(f.Weight, want.Weight) {
		t.Errorf("read %+v", f)
	}
}

func TestInvalidFrequenciesAreRejected(t *testing.T) {
	for want, f := range map[string]*Frequencies{
		"frequency 1, column 2: NaN":   {Count: 2, In: 3, W: []float32{1, 2, 3, 4, 5, float32(math.NaN())}},
		"must have 1 to":               {Count: 0, In: 3},
		"5 values for 2 frequencies":   {Count: 2, In: 3, W: make([]float32, 5)},
		"weights must sum to 1":        {Count: 2, In: 1, W: make([]float32, 2), Weight: []float64{0.5, 0.25}},
		"weight 0 must be in [0, 1]":   {Count: 2, In: 1, W: make([]float32, 2), Weight: []float64{-0.5, 1.5}},
		"1 weights for 2 frequencies":  {Count: 2, In: 1, W: make([]float32, 2), Weight: []float64{1}},
		"rows must have 1 to 1048576":  {Count: 2, In: 0},
		"weight 1 must be in [0, 1] (": {Count: 2, In: 1, W: make([]float32, 2), Weight: []float64{0.5, math.NaN()}},
	} {
		if _, err := Encode(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", f, err, want)
		}
	}
	for want, r := range map[string]Recipe{
		"in must be":                 {Count: 1},
		"count must be":              {In: 1},
		"form must be":               {In: 1, Count: 1, Form: 7},
		"sha256 must be 64 digits":   {In: 1, Count: 1, SHA256: strings.Repeat("A", 64)},
		"sha256 must be 64 digits 0": {In: 1, Count: 1, SHA256: "00"},
	} {
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", r, err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(f, some(2, true)))
	f.Add(encode(f, some(3, false)))
	f.Fuzz(func(t *testing.T, data []byte) {
		q, err := decodeFile(data)
		if err != nil {
			return
		}
		again, err := decodeFile(encode(t, q))
		if err != nil || again.Count != q.Count || !slices.Equal(again.W, q.W) || !slices.Equal(again.Weight, q.Weight) {
			t.Fatalf("%+v becomes %+v, %v", q, again, err)
		}
	})
}
