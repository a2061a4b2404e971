package preprocess

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
)

func numbers(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func encode(t testing.TB, m *MetricMatrix) []byte {
	t.Helper()
	data, err := EncodeMetric(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func someMetric(t testing.TB, d int) (FullMetric, []float32) {
	t.Helper()
	a := numbers(d*d, uint64(d))
	r, err := MetricOf(encode(t, &MetricMatrix{d, a}))
	if err != nil {
		t.Fatal(err)
	}
	return r, a
}

func TestFullMetricIsTheMatrixProduct(t *testing.T) {
	for _, d := range []int{1, 5, 16, 47, 130} {
		r, a := someMetric(t, d)
		m, err := r.New()
		if err != nil {
			t.Fatal(err)
		}
		const n = 37
		x, y := numbers(n*d, 3), make([]float32, n*d)
		m.Apply(y, x, n)
		for i := range n {
			for k := range d {
				var sum, size float64
				for j := range d {
					p := float64(a[k*d+j]) * float64(x[i*d+j])
					sum, size = sum+p, size+math.Abs(p)
				}
				if math.Abs(float64(y[i*d+k])-sum) > 1e-6*size {
					t.Fatalf("d = %d: row %d, number %d is %v, want %v", d, i, k, y[i*d+k], sum)
				}
			}
		}
	}
}

// The kernel of a chain is the kernel of its last step in the metric (x−z)ᵀAᵀA(x−z).
func TestKernelMeasuresInTheMetric(t *testing.T) {
	const d = 6
	r, a := someMetric(t, d)
	x, z := numbers(d, 5), numbers(d, 6)
	var square float64
	for k := range d {
		var y float64
		for j := range d {
			y += float64(a[k*d+j]) * (float64(x[j]) - float64(z[j]))
		}
		square += y * y
	}
	c := features.Chain{Steps: []features.Recipe{r, fourier.Gaussian{In: d, Out: 8, Width: 4}}}
	if have, want := c.Kernel(x, z), math.Exp(-square/32); math.Abs(have-want) > 1e-6 {
		t.Errorf("kernel %v, want %v", have, want)
	}
	diagonal := features.Chain{Steps: []features.Recipe{DiagonalMetric{A: features.Floats{1, 0, 2, 0, 0, 0}},
		fourier.Gaussian{In: d, Out: 8, Width: 1}}}
	p, q := float64(x[0])-float64(z[0]), 2*(float64(x[2])-float64(z[2]))
	if have, want := diagonal.Kernel(x, z), math.Exp(-(p*p+q*q)/2); math.Abs(have-want) > 1e-6 {
		t.Errorf("diagonal kernel %v, want %v", have, want)
	}
}

func TestDiagonalMetricMultipliesColumnwise(t *testing.T) {
	m, err := DiagonalMetric{A: features.Floats{1, 2, 3, 0}}.New()
	if err != nil {
		t.Fatal(err)
	}
	y := make([]float32, 8)
	m.Apply(y, []float32{1, 1, 1, 1, -2, 3, 4, 5}, 2)
	if want := []float32{1, 2, 3, 0, -2, 6, 12, 0}; !slices.Equal(y, want) {
		t.Errorf("rows %v, want %v", y, want)
	}
	m.(features.Columnwise).Part(1, 2).Apply(y, []float32{1, 1}, 1)
	if y[0] != 2 || y[1] != 3 {
		t.Errorf("part %v, want 2 and 3", y[:2])
	}
}

func TestMetricFilesRoundTrip(t *testing.T) {
	m := &MetricMatrix{2, []float32{1, -2, 0.5, 1e-30}}
	data := encode(t, m)
	if !bytes.Equal(data, encode(t, m)) {
		t.Error("equal matrices have other bytes")
	}
	r, err := MetricOf(data)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := features.Seal(r)
	if err != nil {
		t.Fatal(err)
	}
	without, err := sealed.WithFiles(nil).Open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := without.New(); err == nil || !strings.Contains(err.Error(),
		"is not available; provide metric.safetensors of the model") {
		t.Errorf("New without the file: %v", err)
	}
	files := new(features.Files)
	if sum, err := files.Add(MetricFile, data); err != nil || sum != r.SHA256 {
		t.Fatal(sum, err)
	}
	if opened, err := sealed.WithFiles(files).Open(); err != nil || opened.(FullMetric).Dim != 2 {
		t.Errorf("opened with the file: %v, %v", opened, err)
	} else if _, err := opened.New(); err != nil {
		t.Errorf("New with the file: %v", err)
	}
	r.Dim = 3
	if _, err := r.New(); err == nil || !strings.Contains(err.Error(),
		"the file has a matrix of 2×2, the recipe one of 3×3") {
		t.Errorf("other size: %v", err)
	}
	for want, m := range map[string]*MetricMatrix{
		"rows must have 1 to 8192 values (have 0)": {},
		"have 9000":                             {Dim: 9000},
		"3 values for a matrix of 2×2":          {2, make([]float32, 3)},
		"row 2, column 1 must be finite (have ": {2, []float32{0, 0, float32(math.Inf(1)), 0}},
	} {
		if _, err := EncodeMetric(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for want, r := range map[string]features.Recipe{
		"a of column 2 must be ≥ 0": DiagonalMetric{A: features.Floats{1, -1}},
		"a must have 1 to":          DiagonalMetric{},
		"dim must be 1 to":          FullMetric{},
		"sha256 must be 64 digits":  FullMetric{Dim: 1, SHA256: "00"},
	} {
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", r, err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(f, &MetricMatrix{1, []float32{2}}))
	f.Add(encode(f, &MetricMatrix{3, numbers(9, 1)}))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeMetric(data)
		if err != nil {
			return
		}
		again, err := decodeMetric(encode(t, m))
		if err != nil || again.Dim != m.Dim || !slices.Equal(again.A, m.A) {
			t.Fatalf("%v becomes %v, %v", m, again, err)
		}
	})
}
