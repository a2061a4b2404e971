package ridge

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// Evaluator fits weights to sums and computes their squared errors on other sums, in float64 and without rows: for
// questions such as "trained on these days, how good on those?". It is not safe for concurrent use.
type Evaluator struct {
	problem *problem
	factors []float64 // of the squared errors of the outputs: see errorFactors
	shape   Shape
	systems []*system // one for each λ that is solved for at the same time
	errors  *solver.HeldOutErrors
}

// NewEvaluator returns an Evaluator of sums that are parts of total. Squared errors of several targets are
// divided by the variances of the targets in total. It fails where Solve would fail for total.
func NewEvaluator(total *Sum, u Units, threads int) (*Evaluator, error) {
	p := &problem{Options: Options{Search: LambdaSearch{Lambda: []float64{1}}, Units: u, Threads: threads}}
	if err := cmp.Or(p.Options.validate(), p.checkRows(total)); err != nil {
		return nil, err
	}
	p.From.Shape = total.shape
	return &Evaluator{problem: p, factors: errorFactors(total), shape: total.shape, errors: p.heldOutErrors()}, nil
}

// Fits are the weights for several values of λ, fitted to one sum.
type Fits struct {
	evaluator *Evaluator
	rows      *system   // head, column sums and targets of the fitted rows, for errors on other sums
	vt        []float64 // the transposed weights for each λ, k×D, in units of the grids
	failed    []bool    // the matrix for a λ is not positive definite to working precision

	rowWeight float64 // mean weight of the fitted rows
}

// Fit fits weights to the rows of a sum for each λ, as Solve does, in float64. The sum may be scaled
// (Sum.Scale). Results do not depend on the number of threads.
func (e *Evaluator) Fit(train *Sum, lambda []float64) *Fits {
	f := e.newFits(len(lambda))
	e.each(len(lambda), func(eq *system, i int) {
		eq.setSums(train, nil)
		_, ok := eq.solve(eq.Tiles(), e.problem.mu(eq, lambda[i]), train, nil)
		f.keep(i, eq, ok)
	})
	f.rows = &system{shape: e.shape, n: train.head.Weight(), colSum: train.Columns(),
		outSum: slices.Clone(train.head.outputs(e.shape.Outputs)), factors: e.factors, ranges: e.problem.Units.Ranges}
	f.rowWeight = f.rows.n / float64(max(1, train.Rows()))
	return f
}

// newFits returns Fits with room for the weights of n values of λ.
func (e *Evaluator) newFits(n int) *Fits {
	return &Fits{evaluator: e, vt: make([]float64, n*e.shape.Outputs*e.shape.Dim), failed: make([]bool, n)}
}

// Model returns the weights for the first λ as a model.
func (f *Fits) Model() (*linear.Model, error) {
	s := new(Solution)
	err := f.evaluator.problem.weights(s, f.system())
	return &linear.Model{W: s.Weights, B: s.Intercept, K: f.evaluator.shape.Outputs, D: f.evaluator.shape.Dim}, err
}

// system returns the system of the fitted rows with the weights for the first λ.
func (f *Fits) system() *system {
	d, k := f.evaluator.shape.Dim, f.evaluator.shape.Outputs
	eq := *f.rows
	eq.v = make([]float64, d*k)
	blas.Transpose(eq.v, f.vt[:k*d], k, d)
	return &eq
}

// each calls solve for 0 to n−1 on up to threads goroutines. Each goroutine has a system of its own.
func (e *Evaluator) each(n int, solve func(eq *system, i int)) {
	workers := max(1, min(e.problem.Threads, n))
	for len(e.systems) < workers {
		e.systems = append(e.systems, newSystem(e.shape, e.problem.Units, e.factors, 1))
	}
	parallel.Each(n, workers, func(worker, i int) {
		eq := e.systems[worker]
		eq.Threads = max(1, e.problem.Threads/workers)
		solve(eq, i)
	})
}

// keep copies the solution of eq to weights i, or notes that there is none if ok is false.
func (f *Fits) keep(i int, eq *system, ok bool) {
	d, k := eq.shape.Dim, eq.shape.Outputs
	f.failed[i] = !ok
	if ok {
		blas.Transpose(f.vt[i*k*d:][:k*d], eq.v, d, k)
	}
}

// Squares returns for each λ the sum of squared errors on the rows of a sum, in the units of CVResult.MSE. It is
// infinite for a λ without weights. Without rows the errors are 0.
func (f *Fits) Squares(on *Sum) []float64 {
	if on.head.Weight() == 0 {
		return make([]float64, len(f.failed))
	}
	squares := f.evaluator.errors.Squares(f.rows.fitted(), on.heldOut(), f.vt)
	for i := range squares {
		squares[i] *= f.evaluator.problem.squareUnit()
		if f.failed[i] {
			squares[i] = math.Inf(1)
		}
	}
	return squares
}

// SquaresOfMean returns the squared errors of a constant prediction, the mean target or the class shares, on the
// rows of a sum. For several sums, head is the total of their heads.
func (e *Evaluator) SquaresOfMean(head Head) (squares float64) {
	s := &Sum{shape: e.shape, head: head}
	for c := range e.shape.Outputs {
		squares += float64(e.factors[c] * s.moments(c).squares())
	}
	return squares * e.problem.squareUnit()
}

// FitShrunk fits weights to few rows, shrunk toward the weights of more rows: the first λ of prior. For each
// strength κ > 0 they minimise
//
//	Σ(q − wᵀφ − b)² + κ(‖w − w₀‖² + (b − b₀)²)
//
// for each output over the rows of train, where w₀ and b₀ are the prior's (Evgeniou and Pontil 2004,
// Regularized multi-task learning, KDD). b is the intercept at features 0, or at Ranges.Centre. κ is in
// rows of the mean weight of the prior's rows. Without rows in train, the result is the prior.
func (e *Evaluator) FitShrunk(train *Sum, prior *Fits, strengths []float64) []*Fits {
	d, k := e.shape.Dim, e.shape.Outputs
	all, intercept := make([]*Fits, len(strengths)), make([]float64, k)
	prior.system().intercept(intercept)
	e.each(len(strengths), func(eq *system, i int) {
		all[i] = prior
		if train.head.Weight() == 0 {
			return
		}
		f := e.newFits(1)
		eq.setSums(train, nil)
		pull := float64(strengths[i] * prior.rowWeight)
		// This is like κ more rows at z = 0 with target b₀.
		eq.n += pull
		for c, b := range intercept {
			eq.outSum[c] += float64(pull * b)
		}
		eq.CentreTiles(eq.Tiles(), train.tiles, nil, eq.colSum, eq.n)
		eq.rightSides(train, nil)
		pull /= e.problem.Units.Step * e.problem.Units.Step
		for j, r := range eq.Ridge {
			for c := range k {
				eq.v[j*k+c] += float64(pull * float64(r*prior.vt[c*d+j]))
			}
		}
		_, ok := eq.SolveTiles(eq.Tiles(), eq.v, k, pull)
		f.keep(0, eq, ok)
		f.rows = &system{shape: e.shape, n: eq.n, colSum: slices.Clone(eq.colSum), outSum: slices.Clone(eq.outSum),
			factors: e.factors, ranges: e.problem.Units.Ranges}
		all[i] = f
	})
	return all
}
