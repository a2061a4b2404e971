package landmarks

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/stream"
)

func numbers(n int, index uint64) []float32 {
	s := stream.New(1, stream.PurposeOf("landmarks/test"), index)
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(s.Normal())
	}
	return out
}

// at returns the recipe of a kernel at all of those rows.
func at(t testing.TB, of features.Recipe, r *Set) Recipe {
	t.Helper()
	recipe, err := RecipeOf(of, r)
	if err != nil {
		t.Fatal(err)
	}
	return recipe
}

// Features are the kernels of the recipe, in float32 and on the grid of 16 bits.
func TestFeaturesAreKernelsAtLandmarks(t *testing.T) {
	const n, d, count = 9, 5, 20
	x, z := numbers(n*d, 1), &Set{Count: count, In: d, X: numbers(count*d, 2)}
	copy(x, z.X[:d]) // the first row is a landmark
	for name, of := range map[string]features.Recipe{
		"gaussian": fourier.Gaussian{In: d, Out: 2, Width: 1.3}, "laplace": fourier.Laplace{In: d, Out: 2, Width: 3},
		"exponential": fourier.Exponential{In: d, Out: 2, Width: 2, Exponent: 0.7},
		"matern ½":    fourier.Matern{In: d, Out: 2, Width: 2, Nu: 0.5},
		"matern 1½":   fourier.Matern{In: d, Out: 2, Width: 2, Nu: 1.5},
		"matern 2½":   fourier.Matern{In: d, Out: 2, Width: 2, Nu: 2.5},
	} {
		m, err := at(t, of, z).New()
		if err != nil {
			t.Fatal(err)
		}
		phi, steps := make([]float32, n*count), make([]int16, count)
		m.Apply(phi, x, n)
		grid := features.NewGrid(count, 27720)
		if saturated := m.(features.Gridded).Quantize(grid, x, n, 2); saturated > 0 {
			t.Errorf("%s: %d features are beyond the grid", name, saturated)
		}
		if phi[0] != 1 {
			t.Errorf("%s: a landmark has the feature %v at itself, want 1", name, phi[0])
		}
		for i := range n {
			grid.Row(steps, i)
			for j := range count {
				want := features.Kernel(of)(x[i*d:(i+1)*d], z.X[j*d:(j+1)*d])
				if got := phi[i*count+j]; math.Abs(float64(got)-want) > 1e-7 {
					t.Errorf("%s: feature %d of row %d is %v, want %v", name, j, i, got, want)
				}
				if got := 0.5 + 0.5/27720*float64(steps[j]); math.Abs(got-want) > 0.3/27720 {
					t.Errorf("%s: feature %d of row %d is %v on the grid, want %v", name, j, i, got, want)
				}
			}
		}
	}
}

// A row with an infinite number, as scaling may make it, has features 0.
func TestInfinitelyDistantRowsHaveZeroFeatures(t *testing.T) {
	z := &Set{Count: 3, In: 2, X: []float32{0, 0, 1, 2, -3, 4}}
	for _, of := range []features.Recipe{fourier.Gaussian{In: 2, Out: 2, Width: 1}, fourier.Laplace{In: 2, Out: 2, Width: 1},
		fourier.Exponential{In: 2, Out: 2, Width: 1, Exponent: 1.4}, fourier.Matern{In: 2, Out: 2, Width: 1, Nu: 0.5},
		fourier.Matern{In: 2, Out: 2, Width: 1, Nu: 1.5}, fourier.Matern{In: 2, Out: 2, Width: 1, Nu: 2.5}} {
		m, err := at(t, of, z).New()
		if err != nil {
			t.Fatal(err)
		}
		for _, far := range []float64{math.Inf(1), math.Inf(-1), math.MaxFloat32} {
			phi := make([]float32, 3)
			if m.Apply(phi, []float32{1, float32(far)}, 1); !slices.Equal(phi, []float32{0, 0, 0}) {
				t.Errorf("%#v: %g has the features %v, want 0", of, far, phi)
			}
		}
	}
}

func TestDistinctRowsKeepTheirOrder(t *testing.T) {
	x := []float32{1, 2, 3, 4, 1, 2, 5, 6, 7, 8}
	if r := Distinct(x, 5, 2, 3); r.Count != 3 || !slices.Equal(r.X, []float32{1, 2, 3, 4, 5, 6}) {
		t.Errorf("%+v", r)
	}
}

func TestInvalidRecipeErrorsNameTheFault(t *testing.T) {
	r := at(t, fourier.Gaussian{In: 2, Out: 2, Width: 1}, &Set{Count: 2, In: 2, X: []float32{1, 2, 3, 4}})
	for want, change := range map[string]func(r *Recipe){
		"kernel is missing":        func(r *Recipe) { r.Of = nil },
		"not a function of the di": func(r *Recipe) { r.Of = fourier.Matern{In: 2, Out: 2, Width: 1, Nu: 1} },
		"out must be 1 to":         func(r *Recipe) { r.Out = 0 },
		"needs 3 of 2":             func(r *Recipe) { r.Out = 3 },
		"needs 2 of 3":             func(r *Recipe) { r.Of = fourier.Gaussian{In: 3, Out: 2, Width: 1} },
		"sha256 must be":           func(r *Recipe) { r.SHA256 = "x" },
		"is available":             func(r *Recipe) { r.set = nil },
	} {
		changed := r
		change(&changed)
		if _, err := changed.New(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	data, err := Encode(&Set{Count: 2, In: 1, X: []float32{1, 2}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)-1])
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Decode(data)
		if err != nil {
			return
		}
		if again, err := Encode(r); err != nil || len(again) == 0 {
			t.Errorf("what was read cannot be written: %v", err)
		}
	})
}
