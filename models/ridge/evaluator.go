package ridge

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/parallel"
)

// Evaluator fits weights to sums and computes their squared errors on other sums, in float64 and without
// rows: for questions such as "trained on these days, how good on those". It is not safe for concurrent use.
type Evaluator struct {
	problem *solve
	each    []float64 // factors of the squared errors of the outputs: see system.share
	shape   Shape
	systems []*system // one for each λ that is solved for at the same time
	errors  heldOut
}

// NewEvaluator returns an Evaluator of sums that are parts of total. The squared errors of several targets
// are shares of the variances of the targets in total. It fails where Solve would fail for total.
func NewEvaluator(total *Sum, u Units, threads int) (*Evaluator, error) {
	p := &solve{Options: Options{Choice: Choice{Lambda: []float64{1}}, Units: u, Threads: threads}}
	if err := cmp.Or(p.Options.validate(), p.checkRows(total)); err != nil {
		return nil, err
	}
	e := &Evaluator{problem: p, shape: total.shape, errors: newHeldOut(total.shape, threads)}
	y := &system{shape: total.shape, each: slices.Repeat([]float64{1}, total.shape.Outputs)}
	y.share(total)
	e.each = y.each
	return e, nil
}

// Fits are the weights for several values of λ, fitted to one sum.
type Fits struct {
	of     *Evaluator
	rows   *system   // what of the system of the fitted rows their errors elsewhere depend on
	vt     []float64 // for each λ the transposed weights in units of the grids, k×D
	failed []bool    // the matrix for a λ is not positive definite to working precision
}

// Fit fits weights to the rows of a sum for each λ, as Solve does, in float64. The sum may be scaled
// (Sum.Scale). Results do not depend on the number of threads.
func (e *Evaluator) Fit(train *Sum, lambda []float64) *Fits {
	d, k := e.shape.Dim, e.shape.Outputs
	workers := max(1, min(e.problem.Threads, len(lambda)))
	for len(e.systems) < workers {
		y := newSystem(e.shape, e.problem.Weights, 1)
		y.measure(e.problem.Ranges)
		e.systems = append(e.systems, y)
	}
	f := &Fits{of: e, vt: make([]float64, len(lambda)*k*d), failed: make([]bool, len(lambda))}
	parallel.Each(len(lambda), workers, func(worker, i int) {
		y := e.systems[worker]
		y.Threads = max(1, e.problem.Threads/workers)
		y.leave(train, nil)
		if _, ok := y.solve(e.problem.mu(y, lambda[i]), train, nil); !ok {
			f.failed[i] = true
			return
		}
		vt := f.vt[i*k*d:][:k*d]
		for j := range d {
			for c := range k {
				vt[c*d+j] = y.v[j*k+c]
			}
		}
	})
	f.rows = &system{n: train.head[0], colSum: train.Columns(), outSum: slices.Clone(train.head[1:][:k]), each: e.each}
	return f
}

// Squares returns for each λ the sum of squared errors on the rows of a sum, in the units of Row.MSE;
// infinite for a λ for which there are no weights. The sum of no rows has no errors.
func (f *Fits) Squares(on *Sum) []float64 {
	if on.head[0] == 0 {
		return make([]float64, len(f.failed))
	}
	squares := f.of.errors.squares(f.rows, on, f.vt)
	for i := range squares {
		if squares[i] *= f.of.problem.squareUnit(); f.failed[i] {
			squares[i] = math.Inf(1)
		}
	}
	return squares
}

// Spread returns the squared errors of the mean target, or of the shares of the classes, on the rows of
// a sum, or of several, given their head: the first part of the sum, or the sum of these parts.
func (e *Evaluator) Spread(head []float64) (squares float64) {
	s := &Sum{shape: e.shape, head: head}
	for c := range e.shape.Outputs {
		squares += float64(e.each[c] * s.moments(c).squares())
	}
	return squares * e.problem.squareUnit()
}
