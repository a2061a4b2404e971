package sgd

import (
	"fmt"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/models/rounds"
)

// Certifier bounds how far a model is from the best of its problem, from the rows
// alone: the objective P is λ-strongly convex in all its parameters, if the
// intercept is penalised or there is none, so that
//
//	P(w) − min P ≤ ‖∇P(w)‖²/(2λ)
//
// (Nesterov 2004, Theorem 2.1.10), and for a kink any subgradient will do. It is
// used by one goroutine; certifiers of parts of the rows are merged.
type Certifier struct {
	problem   loss.Problem
	loss      *loss.Loss
	model     *models.Linear
	intercept bool

	sum  loss.Tally
	grad []float64 // k×d: Σ c_i ∂ℓ/∂W
	bias []float64 // k
}

// NewCertifier begins to certify a model of the problem. intercept is Penalised or
// None; the bound does not hold for one that is Free.
func NewCertifier(p loss.Problem, intercept string, m *models.Linear) (*Certifier, error) {
	l, err := p.Validate()
	switch {
	case err != nil:
		return nil, fmt.Errorf("sgd: certificate: %w", err)
	case p.Lambda == 0:
		return nil, fmt.Errorf("sgd: certificate: lambda is 0; the bound wants a number above it")
	case intercept != Penalised && intercept != None:
		return nil, fmt.Errorf("sgd: certificate: intercept is %q; the bound wants %s or %s", intercept, Penalised, None)
	case m.K != p.Outputs || m.D != p.Dim || len(m.W) != m.K*m.D || len(m.B) != m.K:
		return nil, fmt.Errorf("sgd: certificate: model of %d outputs on %d features, want %d on %d", m.K, m.D, p.Outputs, p.Dim)
	}
	return &Certifier{
		problem: p, loss: l, model: m, intercept: intercept == Penalised,
		grad: make([]float64, m.K*m.D), bias: make([]float64, m.K),
	}, nil
}

// Fold takes a block of rows; those held out are passed over. It panics if the
// block has rows of another length.
func (v *Certifier) Fold(b rounds.Block) error {
	if b.Held {
		return nil
	}
	k, d := v.problem.Outputs, v.problem.Dim
	if b.D != d || len(b.Phi) < b.N*d || len(b.Y) != b.N {
		panic("sgd: block of another shape")
	}
	if err := v.problem.CheckLabels(b.Y); err != nil {
		return fmt.Errorf("sgd: certificate: %w", err)
	}
	all, slopes, coef := make([]float32, b.N*k), make([]float32, k), make([]float64, b.N*k)
	blas.Scores(all, b.Phi, b.N, d, v.model.W, k, 1)
	for i, y := range b.Y {
		scores := all[i*k : (i+1)*k]
		for c := range scores {
			scores[c] += v.model.B[c]
		}
		weight := v.problem.Weight(y)
		v.sum.Add(float64(weight*v.loss.Row(slopes, scores, y)), v.problem.Wrong(scores, y))
		for c, s := range slopes {
			g := float64(weight * float64(s))
			coef[i*k+c] = g
			v.bias[c] += g
		}
	}
	blas.Gradient64(v.grad, coef, b.Phi, b.N, d, k, 1)
	return nil
}

// Merge adds the rows of u, a certifier of the same model.
func (v *Certifier) Merge(u *Certifier) {
	for i, g := range u.grad {
		v.grad[i] += g
	}
	for c, g := range u.bias {
		v.bias[c] += g
	}
	v.sum.Merge(u.sum)
}

// Bound returns the objective of the model and how far at most it is from the
// least.
func (v *Certifier) Bound() (objective, bound float64, err error) {
	if v.sum.Rows != v.problem.Rows {
		return 0, 0, fmt.Errorf("sgd: certificate: %d rows, the problem has %d", v.sum.Rows, v.problem.Rows)
	}
	n, lambda := float64(v.problem.Rows), v.problem.Lambda
	var squares, norm float64
	add := func(w float32, g float64) {
		x := float64(w)
		squares += float64(x * x)
		g = g/n + float64(lambda*x)
		norm += float64(g * g)
	}
	for i, g := range v.grad {
		add(v.model.W[i], g)
	}
	if v.intercept {
		for c, g := range v.bias {
			add(v.model.B[c], g)
		}
	}
	return v.sum.Loss/n + float64(lambda/2*squares), norm / (2 * lambda), nil
}
