package pipelines

import (
	"math"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/internal/testing/stattest"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// exactRidge is kernel ridge regression with an intercept that is not penalised,
// solved through the n×n matrix of the kernel:
//
//	f(x) = ȳ + Σ α_i k_c(x, x_i),   (K_c + nλI) α = y − ȳ,
//
// k_c the kernel centred on the training rows. It is what training on features
// tends to as their number grows.
type exactRidge struct {
	kernel func(x, z []float32) float64
	x      [][]float32
	mean   float64
	alpha  []float64
	rowK   []float64 // mean over the training rows of k(·, x_i)
	allK   float64
}

func solveExactly(t *testing.T, kernel func(x, z []float32) float64, x [][]float32, y []float64,
	lambda float64) *exactRidge {
	t.Helper()
	n := len(x)
	e := &exactRidge{kernel: kernel, x: x, rowK: make([]float64, n)}
	k := mat.NewSymDense(n, nil)
	for i := range n {
		e.mean += y[i] / float64(n)
		for j := range n {
			v := kernel(x[i], x[j])
			if j >= i {
				k.SetSym(i, j, v)
			}
			e.rowK[i] += v / float64(n)
		}
	}
	for _, v := range e.rowK {
		e.allK += v / float64(n)
	}
	rest := mat.NewVecDense(n, nil)
	for i := range n {
		rest.SetVec(i, y[i]-e.mean)
		for j := i; j < n; j++ {
			v := k.At(i, j) - e.rowK[i] - e.rowK[j] + e.allK
			if i == j {
				v += float64(n) * lambda
			}
			k.SetSym(i, j, v)
		}
	}
	var chol mat.Cholesky
	var alpha mat.VecDense
	if !chol.Factorize(k) || chol.SolveVecTo(&alpha, rest) != nil {
		t.Fatal("the exact system cannot be solved")
	}
	e.alpha = alpha.RawVector().Data
	return e
}

func (e *exactRidge) predict(x []float32) float64 {
	var mean float64
	for _, z := range e.x {
		mean += e.kernel(x, z) / float64(len(e.x))
	}
	f := e.mean
	for i, z := range e.x {
		f += e.alpha[i] * (e.kernel(x, z) - mean - e.rowK[i] + e.allK)
	}
	return f
}

// The distance between the predictions of a trained model and of the exact solution falls as 1/√D.
func TestTrainingTendsToExactKernelRidge(t *testing.T) {
	campaign.Long(t)
	const n, lambda, width = 200, 1e-2, 1.5
	lines := jobtest.Made(t, "friedman", n, 1)
	var x [][]float32
	var y []float64
	low, high := math.Inf(1), math.Inf(-1)
	for _, line := range lines[1:] {
		row, label := parse(t, line)
		v, err := strconv.ParseFloat(label, 64)
		if err != nil {
			t.Fatal(err)
		}
		x, y = append(x, row), append(y, v)
		low, high = min(low, v), max(high, v)
	}
	exact := solveExactly(t, fourier.Gaussian{In: 10, Out: 2, Width: width}.Kernel, x, y, lambda)
	var test [][]float32
	var want []float64
	var spread float64
	for _, line := range jobtest.Made(t, "friedman", 100, 2)[1:] {
		row, _ := parse(t, line)
		test, want = append(test, row), append(want, exact.predict(row))
	}
	for _, v := range want {
		spread += (v - exact.mean) * (v - exact.mean) / float64(len(want))
	}
	if spread < 1 {
		t.Fatalf("the exact solution hardly varies: %g", spread)
	}
	distance := func(dim int, seed uint64) float64 {
		_, m := trainedModel(t, lines, options.Train{
			Prepare: options.Prepare{
				Task: "regression", Scale: []string{"none"}, Seed: seed,
				Kernel: &fourier.GaussianOptions{Width: kernel.Width(width), Features: dim},
			},
			Lambda: options.Lambda{Path: []float64{lambda}},
		})
		var ss float64
		for i, row := range test {
			d := predictOne(m, row) - want[i]
			ss += d * d / float64(len(test))
		}
		return ss
	}
	few := stattest.Over(campaign.Pick(20, 32), func(seed uint64) float64 { return distance(128, seed) })
	many := stattest.Over(campaign.Pick(6, 10), func(seed uint64) float64 { return distance(2048, seed) })
	ratio := few.Value / many.Value // of squares: 2048/128 = 16
	se := ratio * math.Hypot(few.SE/few.Value, many.SE/many.Value)
	t.Logf("RMS distance %.4g at 128 features, %.4g at 2048, of a spread of %.3g; squares fall by %.1f ± %.1f",
		math.Sqrt(few.Value), math.Sqrt(many.Value), math.Sqrt(spread), ratio, se)
	if math.Abs(ratio-16) > 4*se {
		t.Errorf("squares fall by %.2f ± %.2f, want 16", ratio, se)
	}
	if many.Value > 0.02*spread {
		t.Errorf("far from the exact solution: %g of %g", many.Value, spread)
	}
}

// predictOne returns the model's prediction for a row.
func predictOne(m *models.Model, x []float32) float64 {
	_, out := m.Map.Dims()
	phi, score := make([]float32, out), make([]float32, 1)
	m.Map.Apply(phi, x, 1)
	m.Linear.Scores(score, phi, 1)
	target := make([]float64, 1)
	m.Targets(target, score)
	return target[0]
}
