package ridge

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/linear"
)

// kernelRidge returns the predictions, at each of points, of ridge regression
// with an intercept in the space of the kernel, by solving for the n dual
// weights: (HKH + nλI) α = H t, H = I - 11ᵀ/n.
func kernelRidge(kernel func(a, b []float64) float64, x [][]float64, t []float64, lambda float64,
	points [][]float64) []float64 {
	n := len(x)
	var mid float64
	for _, v := range t {
		mid += v / float64(n)
	}
	a := make([][]float64, n)
	col := make([]float64, n) // mean of each column of K
	var all float64
	for i := range a {
		a[i] = make([]float64, n+1)
		for j := range n {
			a[i][j] = kernel(x[i], x[j])
			col[j] += a[i][j] / float64(n)
			all += a[i][j] / float64(n*n)
		}
	}
	for i := range a {
		for j := range n {
			a[i][j] += all - col[i] - col[j]
		}
		a[i][i] += float64(n) * lambda
		a[i][n] = t[i] - mid
	}
	eliminate(a)
	out := make([]float64, len(points))
	for p, point := range points {
		out[p] = mid
		for i := range x {
			out[p] += a[i][n] * (kernel(point, x[i]) - col[i])
		}
	}
	return out
}

// predictions fits ridge regression on the features of the rows, z, and applies it to the features
// of points. All features are given on the grid.
func predictions(t *testing.T, z [][]int8, step float64, y []int32, grid linear.Grids, lambda float64,
	points [][]int8) []float64 {
	t.Helper()
	sum := NewSum(Shape{Dim: len(z[0]), Outputs: 1, Regression: true})
	sum.AddLabels(packBytes(slices.Concat(z...), len(z), len(z[0])), y, nil, 2)
	fit, err := Solve(Options{
		Search: LambdaSearch{Lambda: []float64{lambda}}, From: adding(sum),
		Units: Units{Step: step, Grid: grid}, Threads: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, len(points))
	for p := range points {
		out[p] = float64(fit.Intercept[0])
		for j, v := range points[p] {
			out[p] += float64(fit.Weights[j]) * step * float64(v)
		}
		out[p] = grid[0].Unscaled(float32(out[p]))
	}
	return out
}

// fourier draws D paired features for the Gaussian kernel of width 1, as bytes
// in steps of √(2/D)/127.
func fourier(rng *rand.Rand, dim int, x [][]float64) [][]int8 {
	w := make([][2]float64, dim/2)
	for j := range w {
		w[j] = [2]float64{rng.NormFloat64(), rng.NormFloat64()}
	}
	z := make([][]int8, len(x))
	for i, p := range x {
		for _, w := range w {
			sin, cos := math.Sincos(p[0]*w[0] + p[1]*w[1])
			z[i] = append(z[i], int8(math.RoundToEven(blas.MaxByte*cos)), int8(math.RoundToEven(blas.MaxByte*sin)))
		}
	}
	return z
}

// surface gives n points of the plane and targets on the grid.
func surface(rng *rand.Rand, n int, grid linear.TargetGrid) (x [][]float64, q []int32, y []float64) {
	for range n {
		p := []float64{2 * rng.NormFloat64(), 2 * rng.NormFloat64()}
		v := grid.Quantize(math.Sin(p[0])*math.Cos(p[1]) + 0.1*rng.NormFloat64())
		x, q, y = append(x, p), append(q, v), append(y, grid.Value(v))
	}
	return x, q, y
}

func TestPrimalAndDualGiveTheSamePredictions(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	grid := linear.TargetGrid{Low: -2, High: 2}
	x, q, y := surface(rng, 50, grid)
	points, _, _ := surface(rng, 20, grid)
	const dim = 200
	step := math.Sqrt(2.0/dim) / blas.MaxByte
	z := fourier(rng, dim, append(x, points...))
	widen := func(rows [][]int8) (out [][]float64) {
		for _, r := range rows {
			v := make([]float64, dim)
			for j := range v {
				v[j] = step * float64(r[j])
			}
			out = append(out, v)
		}
		return out
	}
	inner := func(a, b []float64) (s float64) {
		for i := range a {
			s += a[i] * b[i]
		}
		return s
	}
	const lambda = 1e-3
	got := predictions(t, z[:50], step, q, linear.Grids{grid}, lambda, z[50:])
	want := kernelRidge(inner, widen(z[:50]), y, lambda, widen(z[50:]))
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-5 {
			t.Errorf("point %d: primal %.9g, dual %.9g", i, got[i], want[i])
		}
	}
}

// The model tends to exact kernel ridge regression as features are added: its distance falls as 1/√D.
func TestManyFeaturesGiveKernelRidge(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	rng := rand.New(rand.NewPCG(6, 6))
	grid := linear.TargetGrid{Low: -2, High: 2}
	x, q, y := surface(rng, 40, grid)
	points, _, _ := surface(rng, 25, grid)
	gauss := func(a, b []float64) float64 {
		return math.Exp(-(math.Pow(a[0]-b[0], 2) + math.Pow(a[1]-b[1], 2)) / 2)
	}
	const lambda = 1e-2
	want := kernelRidge(gauss, x, y, lambda, points)
	const seeds = 25
	// mean over seeds of the root mean square distance over points
	distance := func(dim int) (mean, se float64) {
		var ss float64
		for range seeds {
			z := fourier(rng, dim, append(x, points...))
			got := predictions(t, z[:len(x)], math.Sqrt(2/float64(dim))/blas.MaxByte, q, linear.Grids{grid}, lambda, z[len(x):])
			var e float64
			for i := range want {
				e += (got[i] - want[i]) * (got[i] - want[i])
			}
			rms := math.Sqrt(e / float64(len(want)))
			mean, ss = mean+rms/seeds, ss+rms*rms
		}
		return mean, math.Sqrt((ss/seeds - mean*mean) / (seeds - 1))
	}
	few, seFew := distance(64)
	many, seMany := distance(1024)
	// Sixteen times the features, a quarter of the distance.
	ratio := few / many
	se := ratio * math.Hypot(seFew/few, seMany/many)
	t.Logf("distance %.4f ± %.4f with 64 features, %.4f ± %.4f with 1024: ratio %.2f ± %.2f", few, seFew, many, seMany,
		ratio, se)
	if math.Abs(ratio-4) > 4*se || se > 0.5 {
		t.Errorf("distance falls by %.2f ± %.2f, want 4", ratio, se)
	}
}
