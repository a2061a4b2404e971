package cg

import (
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/loss"
)

// waves returns n rows of d numbers with targets that depend on them, and classes.
func waves(m features.Map, n, d, classes int) *linear.Data {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	data := &linear.Data{Map: m}
	for range n {
		sum := 0.0
		for range d {
			x := r.NormFloat64()
			data.X = append(data.X, float32(x))
			sum += math.Sin(2 * x)
		}
		y := sum + 0.3*r.NormFloat64()
		if classes == 0 {
			data.Target = append(data.Target, y)
		} else {
			data.Class = append(data.Class, int32(max(0, min(float64(classes-1), math.Floor(y+float64(classes)/2)))))
		}
	}
	return data
}

func gaussian(t testing.TB, in, out int) features.Map {
	m, err := fourier.Gaussian{In: in, Out: out, Width: 1.5, Seed: 1}.New()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// direct solves the equations of the problem by a Cholesky factor in float64: the weights and intercepts
// of each output.
func direct(d *linear.Data, fit *iterative.FitResult, lambda float64) (w [][]float64, b []float64) {
	a, right, mean, codes := equationsOf(d, fit, lambda)
	dim, k := len(mean), len(codes)
	if _, ok := blas.Cholesky(a, dim, 1); !ok {
		panic("not positive definite")
	}
	blas.CholeskySolve(a, dim, right, k, 1)
	for c := range k {
		of, off := make([]float64, dim), codes[c]
		for j := range of {
			of[j] = right[j*k+c]
			off -= of[j] * mean[j]
		}
		w, b = append(w, of), append(b, off)
	}
	return w, b
}

// equationsOf returns the lower triangle of A, r (D×k), and the means of the features and of the codes.
func equationsOf(d *linear.Data, fit *iterative.FitResult, lambda float64) (a, right, mean, codes []float64) {
	in, dim := d.Map.Dims()
	n := len(d.X) / in
	phi := make([]float32, n*dim)
	d.Map.Apply(phi, d.X, n)
	k := fit.Linear.K
	weight, total := func(i int) float64 { return d.Weight(i) }, 0.0
	mean, codes = make([]float64, dim), make([]float64, k)
	code := func(i, c int) float64 {
		switch {
		case d.Target != nil:
			return float64(fit.Grid[0].Scaled(d.Target[i]))
		case int(d.Class[i]) == c:
			return 1
		}
		return -1
	}
	for i := range n {
		total += weight(i)
		for j := range mean {
			mean[j] += weight(i) * float64(phi[i*dim+j])
		}
		for c := range codes {
			codes[c] += weight(i) * code(i, c)
		}
	}
	for j := range mean {
		mean[j] /= total
	}
	for c := range codes {
		codes[c] /= total
	}
	a, right = make([]float64, dim*dim), make([]float64, dim*k)
	row := make([]float64, dim)
	for i := range n {
		for j := range row {
			row[j] = float64(phi[i*dim+j]) - mean[j]
		}
		for j, x := range row {
			for l := range j + 1 {
				a[j*dim+l] += weight(i) * x * row[l] / total
			}
			for c := range k {
				right[j*k+c] += weight(i) * x * (code(i, c) - codes[c]) / total
			}
		}
	}
	for j := range dim {
		a[j*dim+j] += lambda
	}
	return a, right, mean, codes
}

func TestScoresMatchADirectSolve(t *testing.T) {
	const n, d = 600, 3
	weighted := waves(gaussian(t, d, 128), n, d, 3)
	r := rand.New(rand.NewPCG(5, 5))
	for range n {
		weighted.Weights = append(weighted.Weights, float64(1+r.IntN(4)))
	}
	for name, data := range map[string]*linear.Data{
		"numbers": waves(gaussian(t, d, 128), n, d, 0), "two classes": waves(gaussian(t, d, 128), n, d, 2),
		"five classes": waves(gaussian(t, d, 100), n, d, 5), "weights": weighted,
	} {
		for _, lambda := range []float64{1e-2, 1e-5} {
			o := NewLearnerOptions()
			o.Tolerance, o.Sample = 1e-7/math.Sqrt(lambda), 64
			fit, err := iterative.Fit(data, lambda, o)
			if err != nil {
				t.Fatal(name, err)
			}
			last := fit.Last()
			if last.Residual == nil || *last.Residual > 1e-5 {
				t.Fatalf("%s: the last report has no small residual: %+v", name, last)
			}
			w, b := direct(data, fit, lambda)
			_, dim := data.Map.Dims()
			phi := make([]float32, n*dim)
			data.Map.Apply(phi, data.X, n)
			scores := make([]float32, n*fit.Linear.K)
			fit.Linear.Scores(scores, phi, n)
			worst := 0.0
			for i := range n {
				for c := range fit.Linear.K {
					want := b[c]
					for j, x := range phi[i*dim:][:dim] {
						want += w[c][j] * float64(x)
					}
					worst = max(worst, math.Abs(want-float64(scores[i*fit.Linear.K+c])))
				}
			}
			// Features are rounded to 2⁻¹⁵ of their range, weights to float32. A residual counts 1/λ times in weights.
			if worst > map[float64]float64{1e-2: 2e-5, 1e-5: 1e-3}[lambda] {
				t.Errorf("%s, λ %g: scores differ by %.2g after %d rounds", name, lambda, worst, len(fit.History)-1)
			}
		}
	}
}

// The last report gives the residual of the published weights, in equations that are made without this package.
func TestResidualMatchesAnIndependentComputation(t *testing.T) {
	const n, lambda = 600, 1e-4
	data := waves(gaussian(t, 3, 128), n, 3, 0)
	o := NewLearnerOptions()
	o.Tolerance, o.Sample = 1, 8 // which leave a residual far above rounding
	fit, err := iterative.Fit(data, lambda, o)
	if err != nil {
		t.Fatal(err)
	}
	a, right, mean, _ := equationsOf(data, fit, lambda)
	dim, w := len(mean), fit.Linear.W
	var residual, norm float64
	for j := range dim {
		e := right[j]
		for l := range dim {
			e -= a[max(j, l)*dim+min(j, l)] * float64(w[l])
		}
		residual, norm = residual+e*e, norm+right[j]*right[j]
	}
	have, ok := *fit.Last().Residual, math.Sqrt(residual/norm)
	if ok < 1e-4 || math.Abs(have-ok) > 0.01*ok {
		t.Errorf("the last report says residual %g, want %g", have, ok)
	}
}

func FuzzDamagedFilesAreErrors(f *testing.F) {
	o := options{Path: []float64{1e-2, 1e-3}, Tolerance: 0.01, Heaviest: 1, Planned: 20, Sample: "sample"}
	o.Problem = loss.Problem{Loss: "squared", Outputs: 2, Dim: 3, Rows: 4, Lambda: 1e-2}
	block := iterative.Block{N: 4, D: 3, Phi: []float32{1, 2, 3, 0, -1, 1, 2, 2, 0, 1, 0, 1}, Y: []float32{0, 1, 1, 0}}
	open := func(sample []byte) (*learner, error) {
		return newLearner(o, func(_ string, decode func([]byte) (any, error)) (any, error) { return decode(sample) })
	}
	sample := iterative.EncodeSample(block)
	l, err := open(sample)
	if err != nil {
		f.Fatal(err)
	}
	state, err := l.Start(nil)
	for err == nil { // all phases
		var r iterative.Round
		if r, err = l.Open(state); err != nil || r.Done() {
			break
		}
		w, _ := r.Worker(0, nil)
		if err := w.Take(block); err != nil {
			f.Fatal(err)
		}
		found, _, _ := w.End()
		f.Add(sample, state, found)
		all := [][]byte{found}
		state, _, err = r.Update(func() ([]byte, error) {
			if len(all) == 0 {
				return nil, io.EOF
			}
			next := all[0]
			all = nil
			return next, nil
		})
	}
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, sample, state, found []byte) {
		l, err := open(sample)
		if err != nil {
			return
		}
		r, err := l.Open(state)
		if err != nil {
			return
		}
		if w, err := r.Worker(0, nil); err == nil && r.Reads() {
			w.Take(block)
			w.End()
		}
		given := false
		next, _, err := r.Update(func() ([]byte, error) {
			if given {
				return nil, io.EOF
			}
			given = true
			return found, nil
		})
		if err == nil {
			l.Open(next)
		}
	})
}
