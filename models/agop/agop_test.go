package agop

import (
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/models/ridge"
)

const d = 3

func random(n int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 7))
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

func full(t testing.TB) preprocess.FullMetric {
	t.Helper()
	data, err := preprocess.EncodeMetric(&preprocess.MetricMatrix{Dim: d, A: narrow(random(d*d, 99))})
	if err != nil {
		t.Fatal(err)
	}
	r, err := preprocess.MetricOf(data)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// recipes has waves of every sort, with the number of steps before them that metrics leave.
func recipes(t testing.TB) map[string]features.Recipe {
	t.Helper()
	frequencies, err := learned.Encode(&learned.Frequencies{Count: 4, In: d, W: narrow(random(4*d, 5)),
		Weight: []float64{0.1, 0.2, 0.3, 0.4}})
	if err != nil {
		t.Fatal(err)
	}
	found, err := learned.RecipeOf(frequencies, fourier.Paired, 1)
	if err != nil {
		t.Fatal(err)
	}
	gaussian := fourier.Gaussian{In: d, Out: 40, Width: 1.5, Seed: 1}
	diagonal := preprocess.DiagonalMetric{A: features.Floats{0.5, 2, 1}}
	standard := preprocess.Standard{Mean: []float32{0.5, 0, -1}, Dev: []float32{2, 1, 0.5}}
	steps := func(s ...features.Recipe) features.Recipe { return features.Chain{Steps: s} }
	return map[string]features.Recipe{
		"gaussian":   gaussian,
		"orthogonal": fourier.Gaussian{In: d, Out: 36, Width: 1.5, Draw: fourier.Orthogonal, Seed: 1},
		"structured": fourier.Gaussian{In: d, Out: 36, Width: 1.5, Draw: fourier.Structured, Seed: 1},
		"matern":     fourier.Matern{In: d, Out: 800, Width: 2, Nu: 2.5, Seed: 2}, // several tiles
		"cauchy":     fourier.Cauchy{In: d, Out: 30, Width: 3, Seed: 3},
		"laplace":    fourier.Laplace{In: d, Out: 10, Width: 9, Seed: 6},
		"learned":    found,
		"scaled":     steps(standard, gaussian),
		"diagonal":   steps(standard, diagonal, gaussian),
		"full":       steps(full(t), gaussian),
		"both":       steps(full(t), diagonal, gaussian),
		"joined": steps(standard, preprocess.Join{Parts: []features.Recipe{
			preprocess.Bins{In: d, Columns: []preprocess.BinColumn{{Index: 0, Cuts: features.Floats{-1, 0, 1}}}, Weight: 0.5},
			steps(diagonal, gaussian),
		}}),
	}
}

// model is a sum of rows with random weights of a linear model.
type model struct {
	m      features.Gridded
	grid   *features.Grid
	sum    *ridge.Sum
	w      []float32
	k      int
	x      []float32
	n      int
	step   float64
	ranges ridge.Ranges
}

func modelOf(t testing.TB, r features.Recipe, n, k, steps int, weights []int64) model {
	t.Helper()
	made, err := r.New()
	if err != nil {
		t.Fatal(err)
	}
	m := model{m: made.(features.Gridded), k: k, n: n, x: narrow(random(n*d, 4))}
	_, out := m.m.Dims()
	m.grid = features.NewGrid(out, steps)
	if cut := m.m.Quantize(m.grid, m.x, n, 1); cut > 0 {
		t.Fatal("features are cut")
	}
	m.sum = ridge.NewSum(ridge.Shape{Dim: out, Outputs: 2, Weighted: weights != nil})
	m.sum.Add(m.grid, make([]float64, n), nil, weights, 1)
	m.w = narrow(random(out*k, 8))
	m.step, m.ranges = ridge.GridOf(m.m, steps)
	return m
}

// byRows returns M as the mean over rows of outer products of gradients.
func (m *model) byRows(t testing.TB, r features.Recipe, weights []int64) []float64 {
	t.Helper()
	v := waves(t, r)
	step := m.step
	if m.ranges.Half != nil {
		step *= m.ranges.Half[v.First]
	}
	outer, all := make([]float64, d*d), 0.0
	_, dim := m.m.Dims()
	for i := range m.n {
		weight := 1.0
		if weights != nil {
			weight = float64(weights[i])
		}
		all += weight
		for c := range m.k {
			var g [d]float64
			for j := range v.Count {
				cos, sin := step*float64(m.grid.At(i, v.First+j)), step*float64(m.grid.At(i, v.First+v.Count+j))
				slope := float64(m.w[c*dim+v.First+v.Count+j])*cos - float64(m.w[c*dim+v.First+j])*sin
				for a := range d {
					g[a] += slope * v.W[a*v.Count+j]
				}
			}
			for a := range d {
				for b := range d {
					outer[a*d+b] += weight * g[a] * g[b]
				}
			}
		}
	}
	for i := range outer {
		outer[i] /= all
	}
	return outer
}

func waves(t testing.TB, r features.Recipe) *Waves {
	t.Helper()
	v, err := WavesOf(r)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func apart(a, b []float64) (far float64) {
	var size float64
	for i, v := range a {
		far, size = max(far, math.Abs(v-b[i])), max(size, math.Abs(b[i]))
	}
	return far / size
}

// M = (1/n) Ωᵀ P Ω of the Gram matrix is the mean over the rows.
func TestClosedFormIsTheMeanOverRows(t *testing.T) {
	for name, r := range recipes(t) {
		for _, k := range []int{1, 5} {
			for _, steps := range []int{features.ByteSteps, 27720} {
				var weights []int64
				if k == 5 {
					weights = make([]int64, 50)
					for i := range weights {
						weights[i] = int64(i % 4)
					}
				}
				m := modelOf(t, r, 50, k, steps, weights)
				v := waves(t, r)
				have, want := v.Outer(m.sum, m.w, ridge.Units{Step: m.step, Ranges: m.ranges}, 2), m.byRows(t, r, weights)
				if far := apart(have, want); far > 1e-10 {
					t.Errorf("%s, %d outputs, %d steps: M is off by %.2g", name, k, steps, far)
				}
				for a, v := range v.Diagonal(m.sum, m.w, ridge.Units{Step: m.step, Ranges: m.ranges}, 1) {
					if v != have[a*d+a] {
						t.Errorf("%s: diagonal %d is %v, of the whole %v", name, a, v, have[a*d+a])
					}
				}
			}
		}
	}
}

// The closed form also agrees with differences of predictions, in the rows before metrics.
func TestClosedFormAgreesWithDifferences(t *testing.T) {
	for name, r := range recipes(t) {
		if name == "laplace" {
			continue // its largest frequencies are too large for differences in float32
		}
		m := modelOf(t, r, 50, 2, 27720, nil)
		v := waves(t, r)
		// The rest of the recipe after the steps before the metrics.
		steps := []features.Recipe{r}
		if c, ok := r.(features.Chain); ok {
			steps = c.Steps
		}
		after, err := features.Chain{Steps: steps[len(v.Before):]}.New()
		if err != nil {
			t.Fatal(err)
		}
		x := slices.Clone(m.x)
		for _, s := range v.Before {
			step, err := s.New()
			if err != nil {
				t.Fatal(err)
			}
			step.Apply(x, x, m.n)
		}
		_, dim := after.Dims()
		predict := func(row []float32) (f [2]float64) {
			z := make([]float32, dim)
			after.Apply(z, row, 1)
			for j := v.First; j < v.First+2*v.Count; j++ {
				for c := range f {
					f[c] += float64(m.w[c*dim+j]) * float64(z[j])
				}
			}
			return f
		}
		want := make([]float64, d*d)
		const h = 1. / 64
		for i := range m.n {
			var g [2][d]float64
			for a := range d {
				row := slices.Clone(x[i*d : (i+1)*d])
				at := row[a]
				for _, s := range []struct{ by, weight float64 }{{h, 8. / 12}, {-h, -8. / 12}, {2 * h, -1. / 12},
					{-2 * h, 1. / 12}} {
					row[a] = at + float32(s.by)
					for c, f := range predict(row) {
						g[c][a] += s.weight / h * f
					}
				}
			}
			for c := range g {
				for a := range d {
					for b := range d {
						want[a*d+b] += g[c][a] * g[c][b] / float64(m.n)
					}
				}
			}
		}
		if far := apart(v.Outer(m.sum, m.w, ridge.Units{Step: m.step, Ranges: m.ranges}, 1), want); far > 2e-3 {
			t.Errorf("%s: M is off by %.2g", name, far)
		}
	}
}

// digest is a hash of M and of both metrics.
func digest(t testing.TB, threads int, reverse bool) []float64 {
	r := fourier.Matern{In: d, Out: 800, Width: 2, Nu: 2.5, Seed: 2}
	m := modelOf(t, r, 90, 3, features.ByteSteps, nil)
	if reverse { // the same rows in another order and in two sums
		whole := ridge.NewSum(m.sum.Shape())
		for _, cut := range [][2]int{{50, 90}, {0, 50}} {
			part, n := ridge.NewSum(m.sum.Shape()), cut[1]-cut[0]
			g := features.NewGrid(800, features.ByteSteps)
			m.m.Quantize(g, m.x[cut[0]*d:], n, threads)
			part.Add(g, make([]float64, n), nil, nil, threads)
			whole.Merge(part)
		}
		m.sum = whole
	}
	v := waves(t, r)
	outer := v.Outer(m.sum, m.w, ridge.Units{Step: m.step, Ranges: m.ranges}, threads)
	root := Root{Floor: 0.001, Power: 1}
	a, err := root.Full(outer, threads)
	if err != nil {
		t.Fatal(err)
	}
	b, err := root.Diagonal(v.Diagonal(m.sum, m.w, ridge.Units{Step: m.step, Ranges: m.ranges}, threads))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range slices.Concat(a.A, b.A) {
		outer = append(outer, float64(x))
	}
	return outer
}

func TestBytesDoNotDependOnCutsThreadsOrProcessor(t *testing.T) {
	want := digest(t, 1, false)
	for _, threads := range []int{2, 7} {
		if !slices.Equal(digest(t, threads, true), want) {
			t.Errorf("%d threads and two sums give other bytes", threads)
		}
	}
	if os.Getenv("AGOP_DIGEST") != "" {
		t.Logf("digest %x", want)
		return
	}
	run := func(level string) string {
		args := []string{os.Args[0], "-test.run=^" + t.Name() + "$", "-test.v"}
		if emulator := os.Getenv("BOCHNER_TEST_EXEC"); emulator != "" {
			args = append([]string{emulator}, args...)
		}
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "AGOP_DIGEST=1", "BOCHNER_CPU="+level)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		_, text, ok := strings.Cut(string(out), "digest ")
		if !ok {
			t.Fatalf("no digest in %s", out)
		}
		text, _, _ = strings.Cut(text, "\n")
		return text
	}
	if best, plain := run(""), run("go"); best != plain {
		t.Errorf("BOCHNER_CPU=go gives other bytes:\n%.200s\n%.200s", best, plain)
	}
}

// fitted returns the metric that a fit of n rows of an index model gives, and its M.
func fitted(t testing.TB, n int, index func(x []float64) float64, in int) []float64 {
	t.Helper()
	x := random(n*in, 21)
	y := make([]float64, n)
	for i := range y {
		y[i] = index(x[i*in : (i+1)*in])
	}
	r := fourier.Gaussian{In: in, Out: 512, Width: math.Sqrt(2 * float64(in)), Seed: 3}
	m, err := r.New()
	if err != nil {
		t.Fatal(err)
	}
	g := m.(features.Gridded)
	grid := features.NewGrid(r.Out, features.ByteSteps)
	targets := linear.Grids{{Low: slices.Min(y), High: slices.Max(y)}}
	sum := ridge.NewSum(ridge.Shape{Dim: r.Out, Outputs: 1, Regression: true})
	for i := 0; i < n; i += features.MaxRows {
		rows := min(features.MaxRows, n-i)
		g.Quantize(grid, narrow(x[i*in:(i+rows)*in]), rows, 2)
		sum.Add(grid, y[i:i+rows], targets, nil, 2)
	}
	o := ridge.Options{Search: ridge.LambdaSearch{Lambda: []float64{1e-6}}, Plan: ridge.FoldPlan{Folds: 1},
		From:  ridge.Source{Shape: sum.Shape(), Add: func(to *ridge.Sum, _ int) error { to.Merge(sum); return nil }},
		Units: ridge.Units{Grid: targets}, Threads: 2}
	o.Units.Step, o.Units.Ranges = ridge.GridOf(g, features.ByteSteps)
	s, err := ridge.Solve(o)
	if err != nil {
		t.Fatal(err)
	}
	return waves(t, r).Outer(sum, s.Weights, o.Units, 2)
}

// M finds the few directions on which a function of the rows depends, and finds them better with more rows.
func TestSubspaceOfIndexModelsIsFound(t *testing.T) {
	const in = 10
	along := func(x []float64, first int) float64 { // (±1, ±1, …)/√in, orthogonal for first = 0 and 1
		var sum float64
		for j, v := range x {
			if first == 1 && j%2 == 1 {
				v = -v
			}
			sum += v / math.Sqrt(in)
		}
		return sum
	}
	for name, c := range map[string]struct {
		directions int
		f          func(x []float64) float64
		most       []float64 // degrees, for 200, 1,000 and 5,000 rows
	}{
		"one direction": {1, func(x []float64) float64 { return math.Tanh(2 * along(x, 0)) }, []float64{15, 5, 2}},
		"two directions": {2, func(x []float64) float64 { return along(x, 0)*along(x, 0) + along(x, 1) },
			[]float64{10, 3, 1.5}},
	} {
		before := 90.0
		for i, n := range []int{200, 1000, 5000} {
			_, vectors := pca.Symmetric(fitted(t, n, c.f, in), in)
			// The squared sine of the largest angle is at most the sum of what the true directions
			// lack in the span of the first ones.
			lack := 0.0
			for first := range c.directions {
				inside := 0.0
				for k := range c.directions {
					p := along(vectors[k*in:(k+1)*in], first)
					inside += p * p
				}
				lack += max(0, 1-inside)
			}
			angle := 180 / math.Pi * math.Asin(math.Sqrt(min(1, lack)))
			t.Logf("%s, %d rows: %.2f degrees", name, n, angle)
			if angle > c.most[i] || angle > before {
				t.Errorf("%s, %d rows: %.1f degrees, want at most %v and less than before (%.1f)", name, n, angle, c.most[i],
					before)
			}
			before = angle
		}
	}
}

func TestRootsHaveTheDistancesOfM(t *testing.T) {
	const in = 6
	g := random(in*in, 3)
	m := make([]float64, in*in) // gᵀg
	var trace float64
	for a := range in {
		for b := range in {
			for k := range in {
				m[a*in+b] += g[k*in+a] * g[k*in+b]
			}
		}
		trace += m[a*in+a]
	}
	for _, p := range []float64{0.5, 1, 2} {
		root := Root{Floor: 0.01, Power: p}
		a, err := root.Full(m, 2)
		if err != nil {
			t.Fatal(err)
		}
		values, vectors := pca.Symmetric(slices.Clone(m), in)
		for i := range in {
			for j := range in {
				var have, want float64
				for k := range in {
					have += float64(a.A[k*in+i]) * float64(a.A[k*in+j])
					w := math.Pow((values[k]*in/trace+0.01)/1.01, p)
					want += vectors[k*in+i] * w * vectors[k*in+j]
				}
				if math.Abs(have-want) > 1e-5 {
					t.Errorf("power %v: AᵀA at %d, %d is %v, want %v", p, i, j, have, want)
				}
			}
		}
		diagonal := []float64{4, 0, 2}
		b, err := root.Diagonal(diagonal)
		if err != nil {
			t.Fatal(err)
		}
		for j, v := range diagonal {
			if want := math.Pow((v/2+0.01)/1.01, p/2); math.Abs(float64(b.A[j])-want) > 1e-6 {
				t.Errorf("power %v: column %d has %v, want %v", p, j, b.A[j], want)
			}
		}
	}
	for want, c := range map[string]struct {
		root Root
		m    []float64
	}{
		"gradients of the model are 0":  {Root{0.01, 1}, make([]float64, 4)},
		"not finite (mean square NaN)":  {Root{0.01, 1}, []float64{1, 0, 0, math.NaN()}},
		"floor must be above 0":         {Root{0, 1}, []float64{1}},
		"power ½, 1 or 2 (have 1, 3)":   {Root{1, 3}, []float64{1}},
		"not finite (mean square +Inf)": {Root{1, 1}, []float64{math.Inf(1)}},
	} {
		if _, err := c.root.Full(c.m, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestOtherFeaturesAreRejected(t *testing.T) {
	gaussian := fourier.Gaussian{In: d, Out: 8, Width: 1}
	for want, r := range map[string]features.Recipe{
		"in the offset form": fourier.Laplace{In: d, Out: 8, Width: 1, Form: fourier.Offset},
		"of a preprocess.Bins do not": preprocess.Bins{In: d,
			Columns: []preprocess.BinColumn{{Index: 0, Cuts: features.Floats{0}}}, Weight: 1},
		"several parts of a join":      preprocess.Join{Parts: []features.Recipe{gaussian, gaussian}},
		"no part of a join is Fourier": preprocess.Join{Parts: []features.Recipe{preprocess.Unit{In: d}}},
		"a chain without steps":        features.Chain{},
	} {
		if _, err := WavesOf(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
