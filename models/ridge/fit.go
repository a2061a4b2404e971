package ridge

import (
	"fmt"

	"github.com/bochner-ml/bochner/internal/exact"
)

// fitAll fits the weights for the λ of fit, and all else that the options ask for. It overwrites total.
func (p *problem) fitAll(fit *Solution, eq *system, total *Sum) error {
	factor, err := p.fitWeights(fit, eq, total)
	if err != nil {
		return err
	}
	if p.Return.Sketch {
		fit.Sketch = p.sketch(factor, fit.Rows)
	}
	if p.Return.FirstSketch && p.Return.Trials && p.Plan.Folds > 1 && total.shape.Regression && fit.Sketch != nil &&
		fit.Sketch.Leverage >= SmallLeverage {
		if fit.FirstSketch, err = p.firstSketch(fit, eq, total); err != nil {
			return err
		}
	}
	if p.Plan.FitWithoutFirst {
		fit.WithoutFirst, err = p.fitWithoutFirst(fit, eq, total)
	}
	return err
}

// factor is the Cholesky factor of the equations of some rows for one μ.
type factor struct {
	eq    *system // of the rows
	tiles [][]float64
	mu    float64
}

// solveIn solves for the rows in total, whose tiles become the factor. If the matrix is not positive definite to
// working precision, the factor is nil, and pivot is the index of the failure.
func (p *problem) solveIn(eq *system, total *Sum, lambda float64) (f *factor, pivot int) {
	eq.setSums(total, nil)
	mu := p.mu(eq, lambda)
	pivot, ok := eq.solve(total.tiles, mu, total, nil)
	if !ok {
		return nil, pivot
	}
	return &factor{eq, total.tiles, mu}, pivot
}

// fitWeights fits weights exactly to the rows in total, which it overwrites, and stores them in fit.
func (p *problem) fitWeights(fit *Solution, eq *system, total *Sum) (*factor, error) {
	f, pivot := p.solveIn(eq, total, fit.Lambda)
	if f == nil {
		return nil, noSolution("ridge: %s at lambda %g; raise lambda", notDefinite(pivot, p.From.Shape.Dim), fit.Lambda)
	}
	return f, p.weights(fit, eq)
}

// sumRest sets a sum to the rows that a fit without fold 0 has.
func (p *problem) sumRest(to *Sum) error {
	to.Clear()
	return p.add(to, func(f int) bool { return f > 1 || f == 1 && !p.Gap })
}

// fitWithoutFirst fits weights to the rows outside fold 0 with the λ of a fit to all, in the memory of total.
func (p *problem) fitWithoutFirst(all *Solution, eq *system, total *Sum) (*Solution, error) {
	if err := p.sumRest(total); err != nil {
		return nil, err
	}
	fit := &Solution{Lambda: all.Lambda, Rows: total.Rows()}
	if fit.Rows == 0 {
		return nil, fmt.Errorf("ridge: all %d rows are in fold 0, which is held out, and none remains to train on; use more "+
			"rows", all.Rows)
	}
	if _, err := p.fitWeights(fit, eq, total); err != nil {
		return nil, fmt.Errorf("%w (for the rows without fold 0)", err)
	}
	if p.From.Shape.Regression {
		return fit, nil
	}
	total.Clear()
	if err := p.add(total, func(f int) bool { return f == 0 }); err != nil {
		return nil, err
	}
	fit.FirstRows, fit.Discriminants = total.Rows(), eq.discriminants(total, p.Threads)
	return fit, nil
}

// mu returns what λ adds to the diagonal of the system, in units of the grids. λ multiplies the penalty of
// the loss Σ wcℓ/Σ w, where w are weights of rows and c weights of classes.
func (p *problem) mu(eq *system, lambda float64) float64 {
	return eq.mass * lambda / (p.Units.Step * p.Units.Step)
}

// squareUnit returns the unit of squared errors: the square of a step of q, where an indicator goes from
// code −1 to 1. It is 1 for several targets, whose errors are shares; see errorFactors.
func (p *problem) squareUnit() float64 {
	switch len(p.Units.Grid) {
	case 0:
		return 4
	case 1:
		return p.Units.Grid[0].Step() * p.Units.Grid[0].Step()
	}
	return 1
}

// weights turns the solution of eq, fitted to indicators or to targets on their grid, into weights for ±1
// codes or normalised targets.
func (p *problem) weights(fit *Solution, eq *system) error {
	d, k, r := eq.shape.Dim, eq.shape.Outputs, eq.ranges
	zero, step := -1.0, 2.0
	if p.Units.Grid != nil {
		zero, step = 0, 1.0/maxTarget
	}
	intercept := make([]float64, k)
	eq.intercept(intercept)
	fit.Intercept = make([]float32, k)
	for c, b := range intercept {
		intercept[c] = zero + float64(step*b)
	}
	scale := step / p.Units.Step
	fit.Weights = make([]float32, k*d)
	for j := range d {
		for c, v := range eq.v[j*k : (j+1)*k] {
			w := scale * v
			if r.Half != nil {
				w /= r.Half[j]
				intercept[c] -= float64(w * r.Centre[j])
			}
			fit.Weights[c*d+j] = float32(w)
		}
	}
	for c, b := range intercept {
		fit.Intercept[c] = float32(b)
	}
	if !exact.AllFinite(fit.Intercept) || !exact.AllFinite(fit.Weights) {
		return noSolution("ridge: weights do not fit in float32 at lambda %g; raise lambda", fit.Lambda)
	}
	return nil
}

// NoSolutionError is the error of Solve for rows that have no solution with this λ: they are of one class, their sums
// are not exact, the matrix is not positive definite, or weights do not fit in float32.
type NoSolutionError string

func (e NoSolutionError) Error() string { return string(e) }

func noSolution(format string, args ...any) error {
	return NoSolutionError(fmt.Sprintf(format, args...))
}

func notDefinite(pivot, dim int) string {
	return fmt.Sprintf("not positive definite (pivot %d of %d)", pivot+1, dim)
}
