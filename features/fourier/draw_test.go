package fourier

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
)

// kernels returns one recipe of each kernel, of Matérn and exponential ones for several ν and exponents.
func kernels(in, out int, width float64, form Form, seed uint64) map[string]features.Recipe {
	return map[string]features.Recipe{
		"gaussian":        Gaussian{in, out, width, form, Iid, seed},
		"laplace":         Laplace{in, out, width, form, seed},
		"cauchy":          Cauchy{in, out, width, form, seed},
		"matern 1/2":      Matern{in, out, width, 0.5, form, seed},
		"matern 1.2":      Matern{in, out, width, 1.2, form, seed},
		"matern 3/2":      Matern{in, out, width, 1.5, form, seed},
		"matern 5/2":      Matern{in, out, width, 2.5, form, seed},
		"exponential 1/2": Exponential{in, out, width, 0.5, form, seed},
		"exponential 1.4": Exponential{in, out, width, 1.4, form, seed},
	}
}

// Frequencies never change. The values were computed from the package comments of fourier and stream by an
// independent program.
func TestFrequenciesAreGolden(t *testing.T) {
	const seed = 0xdecafbad12345678
	indices := []int{0, 1, 1 << 20}
	for name, want := range map[string][3][3]float32{
		"gaussian": {
			{-0x1.751b6cp-4, 0x1.093902p-7, 0x1.78e438p-7},
			{0x1.e86226p-4, -0x1.374a3p-4, 0x1.550336p-4},
			{0x1.c9bab8p-8, -0x1.e48e3ep-4, 0x1.1ae06p-7},
		},
		"laplace": {
			{-0x1.0af604p-2, 0x1.4e554ep-7, 0x1.dde9dcp-7},
			{0x1.52b178p-1, -0x1.54e1ep-3, 0x1.a58f8ep-3},
			{0x1.201354p-7, -0x1.479902p-1, 0x1.64defep-7},
		},
		"cauchy": {
			{-0x1.ea6d34p-4, 0x1.bd01ecp-8, 0x1.42d3b4p-7},
			{0x1.6c7d2ep-3, -0x1.7c5776p-4, 0x1.afbf5cp-4},
			{0x1.7d65b6p-8, -0x1.682c7ap-3, 0x1.dc325ap-8},
		},
		"matern 3/2": {
			{-0x1.3054aep-3, 0x1.b0aa8ep-7, 0x1.336ae4p-6},
			{0x1.3f52fcp-3, -0x1.97111ep-4, 0x1.bdef46p-4},
			{0x1.16be5p-7, -0x1.27146ep-3, 0x1.5886cap-7},
		},
		"matern 1/2": {
			{-0x1.1e3268p-1, 0x1.96e2a6p-5, 0x1.211988p-4},
			{0x1.3f23eap-2, -0x1.96d51cp-3, 0x1.bdad8ap-3},
			{0x1.e2cacp-7, -0x1.ff164ep-3, 0x1.2a5d7cp-6},
		},
	} {
		for _, form := range []Form{Paired, Offset} {
			r := kernels(3, 1<<22, 2.5, form, seed)[name]
			for i, j := range indices {
				w, b, err := Turns(r, j, 1)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(w, want[i][:]) {
					t.Errorf("%s %v, frequency %d: have %x, want %x", name, form, j, w, want[i])
				}
				offset := []float32{0x1.842eb4p-1, 0x1.58fe2ap-1, 0x1.0ff22ap-4}[i]
				if form == Paired && b != nil || form == Offset && (len(b) != 1 || b[0] != offset) {
					t.Errorf("%s %v, offset %d: have %x, want %x", name, form, j, b, offset)
				}
			}
		}
	}
}

func TestSingleFrequencyEqualsThatOfTheWholeDraw(t *testing.T) {
	for name, r := range kernels(300, 512, 3, Offset, 7) { // 153,600 numbers: drawn in parallel
		all, allB, err := Turns(r, 0, 512)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range []int{0, 1, 53, 54, 55, 300, 511} {
			w, b, err := Turns(r, j, 1)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(w, all[j*300:(j+1)*300]) || b[0] != allB[j] {
				t.Errorf("%s: frequency %d differs when drawn alone", name, j)
			}
		}
	}
}

// A map with more features, or for rows with more columns, starts with the same numbers.
func TestFrequenciesDoNotDependOnSizes(t *testing.T) {
	small, large := kernels(5, 32, 1, Paired, 3), kernels(9, 64, 1, Paired, 3)
	for name := range small {
		a, _, err := Turns(small[name], 0, 16)
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := Turns(large[name], 0, 32)
		if err != nil {
			t.Fatal(err)
		}
		for j := range 16 {
			if !slices.Equal(a[j*5:(j+1)*5], b[j*9:j*9+5]) {
				t.Errorf("%s: frequency %d depends on the sizes", name, j)
			}
		}
	}
}

func TestHeavyTailsStayFinite(t *testing.T) {
	w, _, err := Turns(Laplace{In: 1000, Out: 8000, Width: 1e-3}, 0, 4000)
	if err != nil {
		t.Fatal(err)
	}
	var most float64
	for _, v := range w {
		most = max(most, math.Abs(float64(v)))
	}
	// The largest of 4 million Cauchy numbers is of order 4e6·2/π.
	if most = most * 2 * math.Pi * 1e-3; !(most > 1e5 && most < 1e9) {
		t.Errorf("the largest of 4 million Cauchy numbers is %g", most)
	}
}

func TestRecipeErrorsNameTheField(t *testing.T) {
	ok := Gaussian{In: 4, Out: 8, Width: 1}
	for _, c := range []struct {
		r    features.Recipe
		want string
	}{
		{Gaussian{In: 0, Out: 8, Width: 1}, "fourier: Gaussian: in must be 1 to 1048576 (have 0)"},
		{Gaussian{In: 1<<20 + 1, Out: 8, Width: 1}, "in must be 1 to 1048576 (have 1048577)"},
		{Laplace{In: 4, Out: 0, Width: 1}, "fourier: Laplace: out must be 1 to 16777216 (have 0)"},
		{Laplace{In: 4, Out: 1<<24 + 2, Width: 1}, "out must be 1 to 16777216 (have 16777218)"},
		{Cauchy{In: 4, Out: 7, Width: 1}, "fourier: Cauchy: out must be even in the paired form (have 7)"},
		{Cauchy{In: 4, Out: 8, Width: 1, Form: 2}, "form must be paired or offset (have Form(2))"},
		{Gaussian{In: 4, Out: 8, Width: -1}, "fourier: Gaussian: width must be > 0 and finite (have -1)"},
		{Gaussian{In: 4, Out: 8}, "width must be > 0 and finite (have 0)"},
		{Gaussian{In: 4, Out: 8, Width: math.NaN()}, "width must be > 0 and finite (have NaN)"},
		{Gaussian{In: 4, Out: 8, Width: math.Inf(1)}, "width must be > 0 and finite (have +Inf)"},
		{Gaussian{In: 1 << 20, Out: 4096, Width: 1},
			"2048 frequencies of 1048576 values take 8.0 GiB; the limit is 1: use fewer features or a structured draw"},
		{Gaussian{In: 4, Out: 8, Width: 1e-300}, "width 1e-300 makes frequency 0 too large for float32"},
		{Matern{In: 4, Out: 8, Width: 1, Nu: 0.4}, "fourier: Matern: nu must be 0.5 to 100 (have 0.4)"},
		{Matern{In: 4, Out: 8, Width: 1, Nu: math.NaN()}, "nu must be 0.5 to 100 (have NaN)"},
		{Matern{In: 4, Out: 8, Width: 0, Nu: 1}, "fourier: Matern: width must be > 0"},
		{Exponential{In: 4, Out: 8, Width: 1, Exponent: 2}, "fourier: Exponential: exponent must be 0.5 to below 2 (have 2)"},
		{Exponential{In: 4, Out: 8, Width: 1, Exponent: math.NaN()}, "exponent must be 0.5 to below 2 (have NaN)"},
	} {
		if _, err := c.r.New(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: have %v, want %q", c.r, err, c.want)
		}
	}
	for _, c := range []struct{ first, n int }{{-1, 1}, {0, 5}, {4, 1}, {0, -1}, {math.MaxInt, 1}} {
		if _, _, err := Turns(ok, c.first, c.n); err == nil {
			t.Errorf("Turns accepted %d frequencies from %d", c.n, c.first)
		}
	}
	if _, _, err := Turns(nil, 0, 1); err == nil {
		t.Error("Turns accepted nil")
	}
}
