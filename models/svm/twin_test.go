package svm

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/models/iterative"
)

// leastSquares solves (Σ c φφᵀ/n + λI) w = Σ c y φ/n with the constant feature, and
// returns the objective.
func leastSquares(r *run, b iterative.Block) float64 {
	l, d := r.learner, r.learner.Dim+1
	var total float64
	for o := range l.problems() {
		g, rhs := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
		row := func(i int) []float64 {
			x := make([]float64, d)
			for j := range d - 1 {
				x[j] = float64(b.Phi[i*(d-1)+j])
			}
			x[d-1] = l.Bias
			return x
		}
		for i := range b.N {
			x, c := mat.NewVecDense(d, row(i)), l.Weight(b.Y[i])/float64(b.N)
			g.SymRankOne(g, c, x)
			rhs.AddScaledVec(rhs, c*l.loss.Code(b.Y[i], o), x)
		}
		for j := range d {
			g.SetSym(j, j, g.At(j, j)+l.Lambda)
		}
		var chol mat.Cholesky
		var w mat.VecDense
		if !chol.Factorize(g) || chol.SolveVecTo(&w, rhs) != nil {
			panic("no solution")
		}
		total += l.Lambda / 2 * mat.Dot(&w, &w)
		for i := range b.N {
			s := mat.Dot(mat.NewVecDense(d, row(i)), &w)
			total += l.Weight(b.Y[i]) / float64(b.N) * l.loss.Scalar.Value(l.loss.Code(b.Y[i], o), s)
		}
	}
	return l.copies() * total
}

// descend returns the least objective by gradient descent with momentum on the
// primal, for losses with a slope everywhere.
func descend(r *run, b iterative.Block) float64 {
	l, d := r.learner, r.learner.Dim
	var total float64
	for o := range l.problems() {
		w, v, before, grad := make([]float64, d+1), make([]float64, d+1), make([]float64, d+1), make([]float64, d+1)
		value := func(w []float64) float64 {
			sum := 0.0
			clear(grad)
			for i, y := range b.Y {
				s := w[d] * l.Bias
				for j := range d {
					s += w[j] * float64(b.Phi[i*d+j])
				}
				c := l.Weight(y) / float64(b.N)
				sum += c * l.loss.Scalar.Value(l.loss.Code(y, o), s)
				u := c * l.loss.Scalar.Slope(l.loss.Code(y, o), s)
				for j := range d {
					grad[j] += u * float64(b.Phi[i*d+j])
				}
				grad[d] += u * l.Bias
			}
			for j, x := range w {
				sum += l.Lambda / 2 * x * x
				grad[j] += l.Lambda * x
			}
			return sum
		}
		rate := 1 / (l.loss.Smooth()*3*4 + l.Lambda) // ‖φ‖² + 1 is below 4, weights are 3 at most
		for range 3000 {
			value(v)
			copy(before, w)
			for j, g := range grad {
				w[j] = v[j] - rate*g
				v[j] = w[j] + 0.95*(w[j]-before[j])
			}
		}
		total += value(w)
	}
	return l.copies() * total
}

func TestOptimumMatchesThePrimal(t *testing.T) {
	for name, c := range cases(120, 10) {
		o, s := c(2)
		l, err := o.Validate()
		if err != nil {
			t.Fatal(err)
		}
		if math.IsInf(l.Smooth(), 1) {
			continue // only the gap proves their optimum
		}
		r := start(t, o, s.blocks(2, 60))
		r.until(t, 1e-7, 400)
		got := r.certify(t)
		want := descend(r, s.learn)
		if strings.HasPrefix(name, "squared/") {
			if solved := leastSquares(r, s.learn); math.Abs(solved-want) > 1e-9 {
				t.Fatalf("%s: twins differ: %.12g, %.12g", name, solved, want)
			}
		}
		if math.Abs(got.Primal-want) > 1e-6 || want > got.Primal+1e-9 || got.Dual > want+1e-9 {
			t.Errorf("%s: primal %.9g, dual %.9g, the least is %.9g", name, got.Primal, got.Dual, want)
		}
	}
}
