package drift

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/models/ridge"
)

// twoTables are shapes of tables and how a row of both is drawn.
var twoTables = []struct {
	name    string
	d, a, b int
	row     func(r *rand.Rand, x []float32)
}{
	{"2 normal columns", 2, 100, 200, normals},
	{"20 normal columns", 20, 100, 200, normals},
	{"100 normal columns", 100, 60, 60, normals},
	{"30 and 1,000 rows", 3, 30, 1000, normals},
	{"30 and 30 rows", 3, 30, 30, normals},
	{"heavy tails", 3, 100, 200, func(r *rand.Rand, x []float32) {
		for j := range x {
			x[j] = float32(r.NormFloat64() / r.NormFloat64())
		}
	}},
	{"ties", 2, 100, 200, func(r *rand.Rand, x []float32) {
		for j := range x {
			x[j] = float32(r.IntN(3))
		}
	}},
	{"one rare level", 1, 100, 200, func(r *rand.Rand, x []float32) {
		x[0] = 0
		if r.Float64() < 0.1 {
			x[0] = 1
		}
	}},
	{"mostly zeros", 3, 100, 200, func(r *rand.Rand, x []float32) {
		if clear(x); r.Float64() < 0.05 {
			x[r.IntN(3)] = float32(r.ExpFloat64())
		}
	}},
	{"categories", 6, 100, 200, func(r *rand.Rand, x []float32) {
		clear(x)
		level := 0
		for u := r.Float64(); level < 4 && u > []float64{0.6, 0.8, 0.9, 0.98}[level]; level++ {
		}
		x[level], x[5] = 1, float32(r.NormFloat64())
	}},
	{"two clusters", 10, 100, 200, func(r *rand.Rand, x []float32) {
		at := 3 * float64(r.IntN(2))
		for j := range x {
			x[j] = float32(at + r.NormFloat64())
		}
	}},
}

func normals(r *rand.Rand, x []float32) {
	for j := range x {
		x[j] = float32(r.NormFloat64())
	}
}

// pooledWidth standardises the rows and returns half the median distance, as for bochner test.
func pooledWidth(x []float32, n, d int) float64 {
	for j := range d {
		var s, q float64
		for i := range n {
			s += float64(x[i*d+j])
			q += float64(x[i*d+j]) * float64(x[i*d+j])
		}
		mean := s / float64(n)
		dev := math.Sqrt(max(1e-12, q/float64(n)-mean*mean))
		for i := range n {
			x[i*d+j] = float32((float64(x[i*d+j]) - mean) / dev)
		}
	}
	width, err := kernel.MedianWidth(x, min(n, 1000), d, kernel.Euclidean)
	if err != nil {
		panic(err)
	}
	return width / 2
}

// drawnFeatures returns a map for rows of that width, and the sums of the first a rows and the
// others.
func drawnFeatures(t testing.TB, x []float32, a, n, dim int, width float64) (all [2]FeatureSum) {
	t.Helper()
	d := len(x) / n
	made, err := fourier.Gaussian{In: d, Out: dim, Width: width, Seed: 1}.New()
	if err != nil {
		t.Fatal(err)
	}
	for k, rows := range [][]float32{x[:a*d], x[a*d:]} {
		s := ridge.NewSum(ridge.Shape{Dim: dim, Outputs: 1})
		for len(rows) > 0 {
			some := min(512, len(rows)/d)
			z := features.NewGrid(dim, features.ByteSteps)
			made.(features.Gridded).Quantize(z, rows, some, 1)
			s.AddLabels(z, make([]int32, some), nil, 1)
			rows = rows[some*d:]
		}
		all[k] = featureSumOf(s)
	}
	return all
}

// The moments equal the mean and the variance over all divisions of 10 rows into 4 and 6.
func TestTwoSampleMomentsMatchAllDivisions(t *testing.T) {
	const n, a, d = 10, 4, 3
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, n*d)
	for j := range d {
		var sum float64
		for i := range n {
			x[i*d+j] = r.NormFloat64()
			sum += x[i*d+j]
		}
		for i := range n {
			x[i*d+j] -= sum / n
		}
	}
	var m moments
	var diagonal float64
	k := make([]float64, n*n)
	blas.SubProduct(k, x, x, n, n, d, 1)
	for i := range k {
		k[i] = -k[i]
	}
	for i := range n {
		diagonal += k[i*n+i] * k[i*n+i]
	}
	m = momentsOf(k, n, 1)
	var count, mean, square float64
	for set := range 1 << n {
		if bits.OnesCount(uint(set)) != a {
			continue
		}
		var squared float64
		for j := range d {
			var in float64
			for i := range n {
				if set>>i&1 == 1 {
					in += x[i*d+j]
				}
			}
			e := in/a + in/(n-a)
			squared += e * e
		}
		count++
		mean += squared
		square += squared * squared
	}
	mean /= count
	got := m.permuted(a, n-a, diagonal)
	if want := square/count - mean*mean; math.Abs(got.mean/mean-1) > 1e-12 || math.Abs(got.variance/want-1) > 1e-10 {
		t.Errorf("mean %g, variance %g; of all %g divisions %g, %g", got.mean, got.variance, count, mean, want)
	}
}

// Tail probabilities of Σ λ_i χ²₂, a sum of exponential variables whose distribution is known, are never too
// small.
func TestTwoSampleTailsAreNeverTooLight(t *testing.T) {
	weights := []float64{1, 0.6, 0.3, 0.2, 0.1, 0.05}
	var c cumulants
	var fourths float64
	for _, w := range weights {
		c.mean += 2 * w
		c.variance += 4 * w * w
		c.third += 16 * w * w * w
		fourths += 2 * w * w * w * w
	}
	c.tail = 2 * math.Pow(fourths, 0.25)
	exact := func(x float64) (p float64) {
		for i, w := range weights {
			term := math.Exp(-x / (2 * w))
			for j, v := range weights {
				if j != i {
					term *= w / (w - v)
				}
			}
			p += term
		}
		return p
	}
	for x := 2.0; exact(x) > 1e-6; x += 0.5 {
		want := exact(x)
		switch ratio := c.survival(x) / want; {
		case want > 0.002 && math.Abs(ratio-1) > 0.1, want < 0.0009 && (ratio < 1 || ratio > 10):
			t.Errorf("%g or more has probability %.3g, want %.3g", x, c.survival(x), want)
		}
	}
	if q := c.quantile(0.95); math.Abs(exact(q)-0.05) > 0.002 {
		t.Errorf("the 95%% quantile %g is exceeded with probability %g", q, exact(q))
	}
}

// Tables that are drawn alike have p ≤ 0.05 in 5% of draws, p ≤ 0.01 in 1%.
func TestTwoSampleKeepsItsLevel(t *testing.T) {
	draws, dim := 200, 64
	if campaign.Whole() {
		draws = 10_000
	}
	for k, c := range twoTables {
		if !campaign.Whole() && k >= 1 && k <= 3 {
			continue // these take longest
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(7, uint64(k)))
			var below [2]int
			n := c.a + c.b
			x := make([]float32, n*c.d)
			for range draws {
				for i := range n {
					c.row(r, x[i*c.d:(i+1)*c.d])
				}
				f := drawnFeatures(t, x, c.a, n, dim, pooledWidth(x, n, c.d))
				p := TwoSample(f[0], f[1], 1).P
				for i, level := range []float64{0.05, 0.01} {
					if p <= level {
						below[i]++
					}
				}
			}
			t.Logf("p ≤ 0.05 in %.2f%%, ≤ 0.01 in %.2f%%", 100*float64(below[0])/float64(draws),
				100*float64(below[1])/float64(draws))
			for i, level := range []float64{0.05, 0.01} {
				share, noise := float64(below[i])/float64(draws), math.Sqrt(level*(1-level)/float64(draws))
				if math.Abs(share-level) > max(level/10, 0.0025)+2*noise {
					t.Errorf("p ≤ %g in %.2f%% of %d draws", level, 100*share, draws)
				}
			}
		})
	}
}

// The lower bound of the distance is below the true distance in 95% of draws, also if the smaller table has the
// larger variance.
func TestTwoSampleDistancesAreCertain(t *testing.T) {
	const draws = 100
	r := rand.New(rand.NewPCG(8, 8))
	tables := func(a, b int, wide float32) [2]FeatureSum {
		x := make([]float32, (a+b)*2)
		normals(r, x)
		for i := range x {
			x[i] *= 0.2
			if i >= 2*a {
				x[i] *= wide
			}
		}
		return drawnFeatures(t, x, a, a+b, 64, 1)
	}
	for _, wide := range []float32{1.2, 6} {
		many := tables(100_000, 100_000, wide)
		truth, beyond := TwoSample(many[0], many[1], 1).Distance, 0
		for range draws {
			f := tables(3000, 100, wide)
			if TwoSample(f[0], f[1], 1).AtLeast > truth {
				beyond++
			}
		}
		t.Logf("%g: true distance %.3g, beyond it in %d of %d", wide, truth, beyond, draws)
		if beyond > draws*8/100 {
			t.Errorf("the certain distance is above the true one, %g, in %d of %d draws", truth, beyond, draws)
		}
	}
}

func TestTwoSampleHandlesEqualAndFewRows(t *testing.T) {
	same := make([]float32, 100)
	f := drawnFeatures(t, same, 50, 100, 16, 1)
	if got := TwoSample(f[0], f[1], 1); got.P != 1 || got.Distance != 0 || got.AtLeast != 0 {
		t.Errorf("rows that are all equal: %+v", got)
	}
	normals(rand.New(rand.NewPCG(1, 1)), same)
	f = drawnFeatures(t, same, 29, 100, 16, 1)
	if got := TwoSample(f[0], f[1], 1); got.P != 1 {
		t.Errorf("29 rows: %+v", got)
	}
	for i := range 50 {
		same[i] += 9
	}
	f = drawnFeatures(t, same, 50, 100, 16, 1)
	got := TwoSample(f[0], f[1], 1)
	if swapped := TwoSample(f[1], f[0], 2); got.P != MinP || math.Abs(got.AtLeast/swapped.AtLeast-1) > 1e-9 ||
		got.AtLeast < 0.3 {
		t.Errorf("far apart: %+v, swapped %+v", got, swapped)
	}
}

// With 1,000 and 1,000 rows of 10 columns the test in 512 features finds at least 0.93 times as many
// differences as the test that uses all pairs of rows and permutes them.
func TestTwoSamplePowerMatchesAllPairs(t *testing.T) {
	campaign.Long(t)
	const d, a, n, dim, permutations = 10, 1000, 2000, 512, 199
	draws := 2
	if campaign.Whole() {
		draws = 100
	}
	total := [2]int{}
	for _, c := range []struct {
		name   string
		change func(r *rand.Rand, x []float32)
	}{
		{"shift", func(_ *rand.Rand, x []float32) { x[0] += 0.2 }},
		{"scale", func(_ *rand.Rand, x []float32) { x[0] *= 1.4 }},
		{"correlation", func(_ *rand.Rand, x []float32) { x[1] = 0.4*x[0] + 0.917*x[1] }},
		{"mixture", func(r *rand.Rand, x []float32) {
			if r.Float64() < 0.08 {
				x[0], x[1] = x[0]+2, x[1]+2
			}
		}},
	} {
		r, found := rand.New(rand.NewPCG(3, 4)), [2]int{}
		x, q := make([]float32, n*d), make([]float64, n*d)
		for range draws {
			normals(r, x)
			for i := a; i < n; i++ {
				c.change(r, x[i*d:(i+1)*d])
			}
			width := pooledWidth(x, n, d)
			f := drawnFeatures(t, x, a, n, dim, width)
			if TwoSample(f[0], f[1], 2).P <= 0.05 {
				found[0]++
			}
			for i, v := range x {
				q[i] = float64(v) / width
			}
			if quadraticTest(q, n, d, a, permutations, r) <= 0.05 {
				found[1]++
			}
		}
		t.Logf("%s: %d of %d; all pairs %d", c.name, found[0], draws, found[1])
		total[0], total[1] = total[0]+found[0], total[1]+found[1]
	}
	if total[1] == 0 || float64(total[0]) < 0.93*float64(total[1])-2 {
		t.Errorf("found %d of %d, all pairs %d", total[0], 4*draws, total[1])
	}
}

// quadraticTest returns the p-value of the squared MMD of the Gaussian kernel of width 1 between
// the first a rows and the others, by permutations.
func quadraticTest(x []float64, n, d, a, permutations int, r *rand.Rand) float64 {
	k := make([]float64, n*n)
	blas.SubProduct(k, x, x, n, n, d, 2) // −x·z
	squares := make([]float64, n)
	for i := range n {
		squares[i] = -k[i*n+i]
	}
	for i := range n {
		for j := range n {
			k[i*n+j] = -k[i*n+j] - (squares[i]+squares[j])/2
		}
	}
	blas.ExpEach(k)
	sets := make([]float64, (permutations+1)*n)
	for p := range permutations + 1 {
		order := r.Perm(n)
		for at, i := range order {
			if p == 0 {
				i = at
			}
			sets[p*n+i] = 1 / float64(a)
			if at >= a {
				sets[p*n+i] = -1 / float64(n-a)
			}
		}
	}
	product := make([]float64, len(sets))
	blas.SubProduct(product, sets, k, permutations+1, n, n, 2)
	var first float64
	as := 0
	for p := range permutations + 1 {
		squared := -blas.Dot64(product[p*n:(p+1)*n], sets[p*n:(p+1)*n])
		if p == 0 {
			first = squared
		}
		if squared >= first {
			as++
		}
	}
	return float64(as) / float64(permutations+1)
}
