package learned

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/testing/stattest"
)

// all returns the harmonics of degrees 0 to degree, each with Count 1.
func all(d, degree int) Harmonics {
	return Harmonics{In: d, Terms: FirstHarmonics(d, number(d+1, degree))}
}

// direction returns a point of the sphere, uniform over seeds.
func direction(d int, index uint64) []float32 {
	s := stream.New(1, stream.PurposeOf("harmonic/test"), index)
	x := make([]float32, d)
	for i := range x {
		x[i] = float32(s.Normal())
	}
	return x
}

// values returns Y_j(x) in float64 for terms with Count 1.
func values(m *harmonicMap, x []float32) []float64 {
	y := make([]float64, len(m.terms))
	m.row(y, x, m.newScratch())
	return y
}

func TestNumberOfHarmonicsMatchesItsFormula(t *testing.T) {
	for d := 2; d < 14; d++ {
		sum := 0
		for l := range 12 {
			want := new(big.Int).Binomial(int64(d-1+l), int64(l))
			if l >= 2 {
				want.Sub(want, new(big.Int).Binomial(int64(d-3+l), int64(l-2)))
			}
			if got := number(d, l); int64(got) != want.Int64() {
				t.Errorf("N(%d, %d) = %d, want %v", d, l, got, want)
			}
			sum += number(d, l)
			// The harmonics of degrees 0 to ℓ are as many as the harmonics of degree ℓ in d+1 coordinates.
			if got := number(d+1, l); got != sum {
				t.Errorf("N(%d, %d) = %d, want %d", d+1, l, got, sum)
			}
		}
	}
	if number(784, 1024) != math.MaxInt {
		t.Error("an overflow is not reported as math.MaxInt")
	}
}

// On S² (three coordinates), Gauss-Legendre quadrature in x_3 and equal weights in the angle
// integrate products of harmonics of degree ≤ J exactly.
func TestHarmonicsAreOrthonormalByQuadrature(t *testing.T) {
	const degree, steps = 12, 4 * 12
	m := newMap(3, all(3, degree).Terms)
	x, w := make([]float64, degree+2), make([]float64, degree+2)
	quad.Legendre{}.FixedLocations(x, w, -1, 1)
	n := len(m.terms)
	gram := make([]float64, n*n)
	s := m.newScratch()
	y := make([]float64, n)
	for i, z := range x {
		for j := range steps {
			phi := 2 * math.Pi * float64(j) / steps
			r := math.Sqrt(1 - z*z)
			m.row(y, []float32{float32(r * math.Cos(phi)), float32(r * math.Sin(phi)), float32(z)}, s)
			for a, u := range y {
				for b, v := range y {
					gram[a*n+b] += w[i] / 2 / steps * u * v
				}
			}
		}
	}
	for a := range n {
		for b := range n {
			want := 0.0
			if a == b {
				want = 1
			}
			if got := gram[a*n+b]; math.Abs(got-want) > 3e-6 { // rows are float32
				t.Fatalf("mean of Y_%d·Y_%d is %v, want %v", a, b, got, want)
			}
		}
	}
}

func TestHarmonicsAreOrthonormalByMonteCarlo(t *testing.T) {
	const points = 4000
	for _, c := range []struct{ d, terms int }{{2, 9}, {4, 30}, {5, 40}, {10, 40}} {
		m := newMap(c.d, FirstHarmonics(c.d, c.terms))
		y := make([][]float64, points)
		for i := range y {
			y[i] = values(m, direction(c.d, uint64(i)))
		}
		product := make([]float64, points)
		for a := range c.terms {
			for b := range a + 1 {
				for i := range y {
					product[i] = y[i][a] * y[i][b]
				}
				want := 0.0
				if a == b {
					want = 1
				}
				stattest.MeanOf(product).Near(t, fmt.Sprintf("d=%d: Y_%d·Y_%d", c.d, a, b), want, 1e-6)
			}
		}
	}
}

// gegenbauer returns C_ℓ(t)/C_ℓ(1) of index (d−2)/2 by the recurrence that defines it,
// cos ℓ·arccos t for d = 2.
func gegenbauer(d, degree int, t float64) float64 {
	if d == 2 {
		return math.Cos(float64(degree) * math.Acos(t))
	}
	at := func(t float64) float64 {
		nu := float64(d-2) / 2
		before, now := 0.0, 1.0
		for n := 1; n <= degree; n++ {
			n := float64(n)
			before, now = now, (2*t*(n+nu-1)*now-(n+2*nu-2)*before)/n
		}
		return now
	}
	return at(t) / at(1)
}

// Σ_m Y_ℓm(x) Y_ℓm(z) = N(d,ℓ) C_ℓ(x·z)/C_ℓ(1)   (Müller, Analysis of Spherical Symmetries, §2)
func TestHarmonicsSatisfyTheAdditionTheorem(t *testing.T) {
	for _, c := range []struct{ d, degree int }{{2, 30}, {3, 40}, {4, 9}, {5, 6}, {10, 4}, {50, 2}} {
		m := newMap(c.d, all(c.d, c.degree).Terms)
		for pair := range uint64(20) {
			x, z := direction(c.d, 2*pair), direction(c.d, 2*pair+1)
			if pair == 0 { // a pole, where hyperspherical angles fail
				clear(x)
				x[c.d-1] = -3
			}
			var dot, xx, zz float64
			for i := range x {
				dot += float64(x[i]) * float64(z[i])
				xx += float64(x[i]) * float64(x[i])
				zz += float64(z[i]) * float64(z[i])
			}
			u, v := values(m, x), values(m, z)
			for l, j := 0, 0; l <= c.degree; l++ {
				var sum float64
				for range number(c.d, l) {
					sum += u[j] * v[j]
					j++
				}
				n := float64(number(c.d, l))
				if want := n * gegenbauer(c.d, l, dot/math.Sqrt(xx*zz)); math.Abs(sum-want) > 1e-10*n*float64(l+1) {
					t.Errorf("d=%d, degree %d: sum %v, want %v", c.d, l, sum, want)
				}
			}
		}
	}
}

func TestKernelIsTheInnerProduct(t *testing.T) {
	r := Harmonics{In: 4, Terms: []Harmonic{{0, 0, 1}, {3, 5, 7}, {2, 8, 2}, {1, 3, 1}}}
	m, err := r.New()
	if err != nil {
		t.Fatal(err)
	}
	x := append(direction(4, 1), direction(4, 2)...)
	phi := make([]float32, 8)
	m.Apply(phi, x, 2)
	var sum float64
	for j := range 4 {
		sum += float64(phi[j]) * float64(phi[4+j])
	}
	if want := features.Kernel(r)(x[:4], x[4:]); math.Abs(sum-want) > 1e-6 {
		t.Errorf("φ·φ = %v, kernel %v", sum, want)
	}
	double := append([]float32(nil), x...)
	for i := range double {
		double[i] *= 2
	}
	again := make([]float32, 8)
	if m.Apply(again, double, 2); !reflect.DeepEqual(phi, again) {
		t.Error("the features change with the length of the row")
	}
	if m.Apply(again, make([]float32, 8), 2); again[0] == 0 || again[1] != 0 || again[2] != 0 || again[3] != 0 {
		t.Errorf("a row of zeros has the features %v", again[:4])
	}
}

func TestRowCountActsAsSquaredWeight(t *testing.T) {
	once, err := Harmonics{In: 3, Terms: []Harmonic{{1, 0, 1}, {4, 7, 1}}}.New()
	if err != nil {
		t.Fatal(err)
	}
	thrice, err := Harmonics{In: 3, Terms: []Harmonic{{1, 0, 1}, {4, 7, 3}}}.New()
	if err != nil {
		t.Fatal(err)
	}
	a, b := values(once.(*harmonicMap), direction(3, 1)), values(thrice.(*harmonicMap), direction(3, 1))
	if got := (b[1] / b[0]) / (a[1] / a[0]); math.Abs(got-math.Sqrt(3)) > 1e-12 {
		t.Errorf("counted three times a feature is %v times as large", got)
	}
}

func TestGridHoldsEveryHarmonicFeature(t *testing.T) {
	const n = 300
	r := all(5, 4)
	r.Terms[20].Count = 9
	made, err := r.New()
	if err != nil {
		t.Fatal(err)
	}
	m := made.(features.Gridded)
	var x []float32
	for i := range n {
		x = append(x, direction(5, uint64(i))...)
	}
	_, out := m.Dims()
	phi := make([]float32, n*out)
	m.Apply(phi, x, n)
	grid := features.NewGrid(out, features.ByteSteps)
	if saturated := m.Quantize(grid, x, n, 2); saturated != 0 {
		t.Errorf("%d features out of bounds", saturated)
	}
	for i := range n {
		for j := range out {
			if off := float64(phi[i*out+j]) - m.Step()*float64(grid.At(i, j)); math.Abs(off) > 0.501*m.Step() {
				t.Fatalf("feature %d, %d is %v off the grid", i, j, off)
			}
		}
	}
}

func TestHighDegreesStayOrthonormal(t *testing.T) {
	// The zonal harmonic of degree 1024: its mean square over x_3, by quadrature.
	m := newMap(3, []Harmonic{{maxDegree, 0, 1}})
	x, w := make([]float64, maxDegree+1), make([]float64, maxDegree+1)
	quad.Legendre{}.FixedLocations(x, w, -1, 1)
	var mean float64
	for i, z := range x {
		// Rounding moves the row slightly; the weight is smooth there.
		r := math.Sqrt(1 - z*z)
		y := values(m, []float32{float32(r), 0, float32(z)})
		mean += w[i] / 2 * y[0] * y[0]
	}
	if math.Abs(mean-1) > 1e-3 {
		t.Errorf("mean square %v", mean)
	}
}

func TestRecipeErrorsNameTheField(t *testing.T) {
	for want, r := range map[string]Harmonics{
		"in must be 2":                    {In: 1, Terms: []Harmonic{{0, 0, 1}}},
		"terms must be 1":                 {In: 3},
		"term 1: degree must be 0":        {In: 3, Terms: []Harmonic{{0, 0, 1}, {-1, 0, 1}}},
		"index must be 0 to 4 for degree": {In: 3, Terms: []Harmonic{{2, 5, 1}}},
		"count must be 1":                 {In: 3, Terms: []Harmonic{{2, 4, 0}}},
		"appears twice":                   {In: 3, Terms: []Harmonic{{2, 4, 1}, {2, 4, 1}}},
		"terms must be 1 to 1048576":      {In: 3, Terms: make([]Harmonic, 1<<20+1)},
	} {
		if _, err := r.New(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80v: %v, want %q", r, err, want)
		}
	}
}

func FuzzRecipe(f *testing.F) {
	f.Add([]byte(`{"in":3,"terms":[{"degree":4,"index":8,"count":2}]}`))
	f.Add([]byte(`{"in":1000000,"terms":[{"degree":1,"index":999999,"count":2}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := features.Decode[Harmonics](data, nil)
		if err != nil || r.In > 2000 {
			return
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := features.Decode[Harmonics](again, nil); err != nil || !reflect.DeepEqual(back, r) {
			t.Fatalf("%+v becomes %+v, %v", r, back, err)
		}
		if _, err := r.New(); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkApply(b *testing.B) {
	for _, c := range []struct{ d, terms int }{{3, 1000}, {10, 1000}, {784, 1000}} {
		b.Run(fmt.Sprintf("d=%d,terms=%d", c.d, c.terms), func(b *testing.B) {
			m, err := Harmonics{In: c.d, Terms: FirstHarmonics(c.d, c.terms)}.New()
			if err != nil {
				b.Fatal(err)
			}
			x, dst := direction(c.d, 1), make([]float32, c.terms)
			for b.Loop() {
				m.Apply(dst, x, 1)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.terms), "ns/feature")
		})
	}
}
