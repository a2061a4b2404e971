package preprocess_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/features/preprocess"
)

// wide is a recipe of numbers and of categories with that many levels.
func wide(levels int) preprocess.Columns {
	return preprocess.Columns{Slots: []preprocess.Slot{
		{OneHot: &preprocess.OneHot{Values: levels, Weight: 0.7, Missing: true}},
		{Number: &preprocess.Number{Fill: 0.5, Missing: 1}},
		{OneHot: &preprocess.OneHot{Values: 2 * levels, Weight: 1}},
		{Number: &preprocess.Number{}},
		{Lookup: &preprocess.Lookup{Values: 2, Out: 1, Numbers: features.Floats{1, 2, 3}}},
	}}
}

func wideRows(r *rand.Rand, n, levels int) (x []float32) {
	for range n {
		row := []float32{float32(r.IntN(levels + 1)), float32(r.NormFloat64()), float32(r.IntN(2*levels + 1)),
			float32(r.NormFloat64()), float32(r.IntN(2))}
		if i := r.IntN(8); i < len(row) {
			row[i] = float32(math.NaN())
		}
		x = append(x, row...)
	}
	return x
}

// scalings keeps the numbers of levels, divides them, and mixes them.
func scalings(d int) map[string]features.Recipe {
	mean, dev := make([]float32, d), slices.Repeat([]float32{1}, d)
	mean[0], dev[0], mean[2], dev[2] = 0.3, 2, -1, 0.7
	return map[string]features.Recipe{
		"none": nil, "standard": preprocess.Standard{Mean: mean, Dev: dev}, "divide": preprocess.Divide{In: d,
			By: 3}, "unit": preprocess.Unit{In: d},
		"shifted": preprocess.Standard{Mean: slices.Repeat([]float32{0.1}, d), Dev: dev},
	}
}

// kernels has a recipe of each family whose maps take rows in the short form, and one that does not.
func kernels(t *testing.T, d int) map[string]features.Recipe {
	f := &learned.Frequencies{Count: 20, In: d, W: make([]float32, 20*d)}
	r := rand.New(rand.NewPCG(3, 3))
	for i := range f.W {
		f.W[i] = float32(r.NormFloat64() / 9)
	}
	data, err := learned.Encode(f)
	if err != nil {
		t.Fatal(err)
	}
	found, err := learned.RecipeOf(data, fourier.Offset, 5)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]features.Recipe{
		"gaussian":    fourier.Gaussian{In: d, Out: 100, Width: 2, Seed: 1},
		"orthogonal":  fourier.Gaussian{In: d, Out: 70, Width: 2, Seed: 1, Draw: fourier.Orthogonal},
		"structured":  fourier.Gaussian{In: d, Out: 100, Width: 2, Seed: 1, Draw: fourier.Structured},
		"laplace":     fourier.Laplace{In: d, Out: 33, Width: 9, Form: fourier.Offset, Seed: 2},
		"cauchy":      fourier.Cauchy{In: d, Out: 40, Width: 2, Seed: 3},
		"matern":      fourier.Matern{In: d, Out: 800, Width: 2, Nu: 1.5, Seed: 4},
		"exponential": fourier.Exponential{In: d, Out: 800, Width: 2, Exponent: 1, Seed: 4},
		"learned":     found,
	}
}

// Rows in the short form have the features of the whole rows, bit for bit.
func TestShortFormFeaturesMatchWholeRows(t *testing.T) {
	const n = 150
	for _, levels := range []int{3, 40} {
		x := wideRows(rand.New(rand.NewPCG(1, uint64(levels))), n, levels)
		encode := wide(levels)
		_, d := encode.Dims()
		for scaling, s := range scalings(d) {
			for kernel, last := range kernels(t, d) {
				name := fmt.Sprintf("%d levels, %s, %s", levels, scaling, kernel)
				steps := []features.Recipe{encode, s, last}
				if s == nil {
					steps = []features.Recipe{encode, last}
				}
				whole := x
				for _, r := range steps[:len(steps)-1] {
					whole = applyColumns(t, r, whole, n)
				}
				m, err := last.New()
				if err != nil {
					t.Fatal(err)
				}
				chain, err := (features.Chain{Steps: steps}).New()
				if err != nil {
					t.Fatal(name, err)
				}
				_, out := chain.Dims()
				want, have := make([]float32, n*out), make([]float32, n*out)
				m.Apply(want, whole, n)
				chain.Apply(have, x, n)
				if !slices.Equal(have, want) {
					t.Fatalf("%s: other features", name)
				}
				for _, steps := range []int{features.ByteSteps, 20_000} {
					want, have := features.NewGrid(out, steps), features.NewGrid(out, steps)
					a := m.(features.Gridded).Quantize(want, whole, n, 2)
					b := chain.(features.Gridded).Quantize(have, x, n, 2)
					if a != b {
						t.Errorf("%s: %d saturated, want %d", name, b, a)
					}
					for i := range n {
						for j := range out {
							if have.At(i, j) != want.At(i, j) {
								t.Fatalf("%s: grid of %d: row %d, feature %d: %d, want %d", name, steps, i, j, have.At(i, j), want.At(i, j))
							}
						}
					}
				}
			}
		}
	}
}

func applyColumns(t *testing.T, r features.Recipe, x []float32, n int) []float32 {
	t.Helper()
	m, err := r.New()
	if err != nil {
		t.Fatal(err)
	}
	_, out := m.Dims()
	dst := make([]float32, n*out)
	m.Apply(dst, x, n)
	return dst
}

// Every row can be rebuilt from its short form.
func TestShortFormExpandsToTheRow(t *testing.T) {
	const n, levels = 60, 7
	encode := wide(levels)
	x := wideRows(rand.New(rand.NewPCG(2, 2)), n, levels)
	whole := applyColumns(t, encode, x, n)
	m, err := encode.New()
	if err != nil {
		t.Fatal(err)
	}
	short, c := m.(features.ShortFormMap).ShortForm()
	if c.Dense != 4 || c.Groups != 2 || len(c.Hot) != 3*levels+1 {
		t.Fatalf("%d numbers, %d groups, %d hot", c.Dense, c.Groups, len(c.Hot))
	}
	width, d := c.Row()
	rows := make([]float32, n*width)
	short.Apply(rows, x, n)
	for i := range n {
		row, want := rows[i*width:(i+1)*width], make([]float32, d)
		copy(want, row[:c.Dense])
		last := float32(-1)
		for _, v := range row[c.Dense:] {
			if v < 0 {
				continue
			}
			if v <= last {
				t.Fatalf("row %d: indices %v do not ascend", i, row[c.Dense:])
			}
			want[c.Dense+int(v)], last = c.Hot[int(v)], v
		}
		if !slices.Equal(want, whole[i*d:(i+1)*d]) {
			t.Fatalf("row %d: %v stands for %v, want %v", i, row, want, whole[i*d:(i+1)*d])
		}
	}
}

// Rows with a number that overflows an angle are counted with and without the short form.
func TestOverflowsAreCountedInTheShortForm(t *testing.T) {
	encode := wide(40)
	_, d := encode.Dims()
	chain, err := (features.Chain{Steps: []features.Recipe{encode,
		fourier.Gaussian{In: d, Out: 16, Width: 1e-3, Seed: 1}}}).New()
	if err != nil {
		t.Fatal(err)
	}
	x := []float32{1, 3e38, 1, -3e38, 0, 1, 1, 1, 1, 1}
	if n := chain.(features.Gridded).Quantize(features.NewGrid(16, features.ByteSteps), x, 2, 1); n != 16 {
		t.Errorf("%d features counted, want 16", n)
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, levels := range []int{10, 1000, 10_000} {
		encode := wide(levels)
		_, d := encode.Dims()
		chain, err := (features.Chain{Steps: []features.Recipe{encode,
			fourier.Gaussian{In: d, Out: 2048, Width: 2, Seed: 1}}}).New()
		if err != nil {
			b.Fatal(err)
		}
		const n = 1024
		x := wideRows(rand.New(rand.NewPCG(1, 1)), n, levels)
		grid := features.NewGrid(2048, features.ByteSteps)
		b.Run(fmt.Sprintf("levels=%d", levels), func(b *testing.B) {
			for b.Loop() {
				chain.(features.Gridded).Quantize(grid, x, n, 1)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
	}
}
