package pca

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/models/ridge"
)

var tests = stream.PurposeOf("pca test")

// rowsOf draws n rows of d numbers within ±1 that vary in few directions most, with
// a mean that is not zero.
func rowsOf(n, d int) []float32 {
	x := make([]float32, n*d)
	r := stream.New(1, tests, 0)
	directions := make([]float64, 6*d)
	for i := range directions {
		directions[i] = r.Normal()
	}
	for i := range n {
		var along [6]float64
		for a := range along {
			along[a] = r.Normal() * math.Pow(0.6, float64(a))
		}
		for j := range d {
			v := 0.1 + 0.02*r.Normal()
			for a, s := range along {
				v += 0.05 * s * directions[a*d+j]
			}
			x[i*d+j] = float32(min(max(v, -1), 1))
		}
	}
	return x
}

// sumOf returns the sum of rows of three classes, their step, and the rows as the grid has them.
func sumOf(t testing.TB, x []float32, n, d int) (*ridge.Sum, float64, []float64) {
	t.Helper()
	return labelledSum(t, x, n, d, false)
}

// labelledSum is sumOf for three classes or targets.
func labelledSum(t testing.TB, x []float32, n, d int, regression bool) (*ridge.Sum, float64, []float64) {
	t.Helper()
	m, err := identity.Identity{In: d, Bound: 1}.New()
	if err != nil {
		t.Fatal(err)
	}
	g := m.(features.Gridded)
	shape := ridge.Shape{Dim: d, Outputs: 3, Regression: regression}
	s := ridge.NewSum(shape)
	z := features.NewGrid(d, features.ByteSteps)
	grid := make([]float64, 0, n*d)
	for from := 0; from < n; from += 500 {
		k := min(500, n-from)
		g.Quantize(z, x[from*d:(from+k)*d], k, 1)
		if regression {
			s.AddLabels(z, make([]int32, 3*k), nil, 1)
		} else {
			class := make([]int32, k)
			for i := range class {
				class[i] = int32(i % 3)
			}
			s.AddLabels(z, class, nil, 1)
		}
	}
	for _, v := range x[:n*d] {
		grid = append(grid, g.Step()*math.RoundToEven(float64(v*127)))
	}
	return s, g.Step(), grid
}

func TestComponentsMatchADenseEigensolver(t *testing.T) {
	for _, c := range []struct{ n, d, k int }{{50, 1, 1}, {60, 5, 5}, {300, 40, 7}, {700, campaign.Pick(200, 400), 12},
		{30, 50, 10}} {
		for _, regression := range []bool{false, true} {
			x := rowsOf(c.n, c.d)
			sum, step, grid := labelledSum(t, x, c.n, c.d, regression)
			got, err := Solve(sum, Options{Components: c.k, Step: step, Seed: 3, Threads: 2})
			if err != nil {
				t.Fatal(err)
			}
			mean := make([]float64, c.d)
			for i, v := range grid {
				mean[i%c.d] += v / float64(c.n)
			}
			cov := mat.NewSymDense(c.d, nil)
			var total float64
			for a := range c.d {
				for b := range a + 1 {
					var s float64
					for i := range c.n {
						s += (grid[i*c.d+a] - mean[a]) * (grid[i*c.d+b] - mean[b])
					}
					cov.SetSym(a, b, s/float64(c.n))
				}
				total += cov.At(a, a)
			}
			var eigen mat.EigenSym
			if !eigen.Factorize(cov, true) {
				t.Fatal("no eigenvalues")
			}
			var vectors mat.Dense
			eigen.VectorsTo(&vectors)
			all := eigen.Values(nil)
			for i := range c.k {
				at := c.d - 1 - i
				if math.Abs(got.Variance[i]-all[at]) > 1e-9*all[c.d-1] || math.Abs(got.Ratio[i]-all[at]/total) > 1e-9 {
					t.Errorf("%v: variance %d is %.12g, want %.12g", c, i, got.Variance[i], all[at])
				}
				want := make([]float64, c.d)
				var shift float64
				for j := range want {
					want[j] = vectors.At(j, at)
				}
				orient(want)
				for j, w := range got.Linear.W[i*c.d : (i+1)*c.d] {
					if math.Abs(float64(w)-want[j]) > 1e-4 {
						t.Fatalf("%v: component %d, number %d is %g, want %g", c, i, j, w, want[j])
					}
					shift -= float64(w) * mean[j]
				}
				if math.Abs(float64(got.Linear.B[i])-shift) > 1e-5 {
					t.Errorf("%v: intercept %g, want %g", c, got.Linear.B[i], shift)
				}
			}
		}
	}
}

func TestScoresAreCentredWithTheirVariance(t *testing.T) {
	const n, d, k = 400, 60, 4
	x := rowsOf(n, d)
	sum, step, _ := sumOf(t, x, n, d)
	r, err := Solve(sum, Options{Components: k, Step: step})
	if err != nil {
		t.Fatal(err)
	}
	scores := make([]float32, n*k)
	r.Linear.Scores(scores, x, n)
	for c := range k {
		var mean, square float64
		for i := range n {
			s := float64(scores[i*k+c])
			mean += s / n
			square += s * s / n
		}
		if math.Abs(mean) > 1e-3 || math.Abs(square-r.Variance[c]) > 0.01*r.Variance[c]+1e-5 {
			t.Errorf("component %d: mean %g, variance %g, want 0, %g", c, mean, square, r.Variance[c])
		}
	}
}

func TestThreadsAndCutsDoNotChangeTheFit(t *testing.T) {
	const n, d, k = 600, 390, 6
	x := rowsOf(n, d)
	sum, step, _ := sumOf(t, x, n, d)
	want, err := Solve(sum, Options{Components: k, Step: step, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	a, _, _ := sumOf(t, x, 350, d)
	b, _, _ := sumOf(t, x[350*d:], n-350, d)
	b.Merge(a)
	for _, s := range []*ridge.Sum{sum, b} {
		got, err := Solve(s, Options{Components: k, Step: step, Threads: 3})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Linear.W, want.Linear.W) || !slices.Equal(got.Linear.B, want.Linear.B) ||
			!slices.Equal(got.Variance, want.Variance) {
			t.Error("another result")
		}
	}
}

func TestEigenvaluesThatCoincideAreAllFound(t *testing.T) {
	const d = 120
	for name, values := range map[string]func(i int) float64{
		"all equal":     func(int) float64 { return 2 },
		"in groups":     func(i int) float64 { return float64(10 - i/25) },
		"flat and slow": func(i int) float64 { return 1 - 0.001*float64(i) },
		"steep":         func(i int) float64 { return math.Pow(0.1, float64(i)) },
	} {
		// A reflection of the diagonal matrix.
		r := stream.New(5, tests, 1)
		u := make([]float64, d)
		for i := range u {
			u[i] = r.Normal()
		}
		norm := blas.Dot64(u, u)
		c := make([]float64, d*d)
		for i := range d {
			for j := range d {
				for p := range d {
					h := func(i int) float64 {
						v := -2 * u[i] * u[p] / norm
						if i == p {
							v++
						}
						return v
					}
					c[i*d+j] += h(i) * values(p) * h(j)
				}
			}
		}
		const k = 30
		vectors, got, err := Top(c, d, k, 1, 2)
		if err != nil {
			t.Fatal(name, err)
		}
		for i, v := range got {
			if math.Abs(v-values(i)) > 1e-9*values(0) {
				t.Errorf("%s: eigenvalue %d is %.12g, want %.12g", name, i, v, values(i))
			}
			for j := range i + 1 {
				want := 0.0
				if i == j {
					want = 1
				}
				if p := blas.Dot64(vectors[i*d:(i+1)*d], vectors[j*d:(j+1)*d]); math.Abs(p-want) > 1e-9 {
					t.Errorf("%s: vectors %d and %d have the product %g", name, i, j, p)
				}
			}
		}
	}
}

func TestJacobiDecomposesASymmetricMatrix(t *testing.T) {
	for _, m := range []int{1, 2, 7, 40} {
		r := stream.New(6, tests, uint64(m))
		a := make([]float64, m*m)
		for i := range m {
			for j := range i + 1 {
				a[i*m+j] = r.Normal()
				a[j*m+i] = a[i*m+j]
			}
		}
		values, y := Symmetric(slices.Clone(a), m)
		for i := range m {
			for j := range m {
				var back, product float64
				for p := range m {
					back += y[p*m+i] * values[p] * y[p*m+j]
					product += y[i*m+p] * y[j*m+p]
				}
				if i == j {
					product--
				}
				if math.Abs(back-a[i*m+j]) > 1e-12 || math.Abs(product) > 1e-13 {
					t.Fatalf("%d: entry %d, %d comes back as %g, want %g; product off by %g", m, i, j, back, a[i*m+j], product)
				}
			}
		}
		if !slices.IsSortedFunc(values, func(a, b float64) int { return int(b - a) }) {
			t.Errorf("values %g", values)
		}
	}
}

func TestUnfittableDataIsAnError(t *testing.T) {
	x := rowsOf(40, 8)
	sum, step, _ := sumOf(t, x, 40, 8)
	two, _, _ := sumOf(t, x, 2, 8)
	one, _, _ := sumOf(t, x, 1, 8)
	same, _, _ := sumOf(t, slices.Repeat(x[:8], 5), 5, 8)
	for want, f := range map[string]func() error{
		"must be 1 to 8 (have 0)":     func() error { _, err := Solve(sum, Options{Step: step}); return err },
		"must be 1 to 8 (have 9)":     func() error { _, err := Solve(sum, Options{Components: 9, Step: step}); return err },
		"step 0":                      func() error { _, err := Solve(sum, Options{Components: 1}); return err },
		"1 rows":                      func() error { _, err := Solve(one, Options{Components: 1, Step: step}); return err },
		"no feature varies":           func() error { _, err := Solve(same, Options{Components: 1, Step: step}); return err },
		"vary in 1 directions, fewer": func() error { _, err := Solve(two, Options{Components: 2, Step: step}); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func BenchmarkFit(b *testing.B) {
	for _, c := range []struct{ d, k int }{{1000, 10}, {1000, 50}, {2000, 50}} {
		x := rowsOf(1000, c.d)
		sum, step, _ := sumOf(b, x, 1000, c.d)
		b.Run(fmt.Sprintf("d=%d/k=%d", c.d, c.k), func(b *testing.B) {
			for b.Loop() {
				if _, err := Solve(sum, Options{Components: c.k, Step: step, Threads: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
