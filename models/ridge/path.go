package ridge

import (
	"errors"
	"fmt"
	"math"
)

// path is one call of Solve.
type path struct{ Options }

func (p *path) load(fold int) (*Sum, error) {
	s, err := p.Load(fold)
	if err != nil {
		return nil, fmt.Errorf("ridge: fold %d: %w", fold, err)
	}
	return s, nil
}

// loadTotal returns the sum of all folds.
func (p *path) loadTotal() (*Sum, error) {
	first, err := p.load(0)
	if err != nil || p.Folds < 2 {
		return first, err
	}
	total := NewSum(first.shape)
	total.Merge(first)
	for f := 1; f < p.Folds; f++ {
		first = nil // not held while the next is read
		s, err := p.load(f)
		if err != nil {
			return nil, err
		}
		if s.shape != total.shape {
			return nil, fmt.Errorf("ridge: fold %d: sums of %+v, where fold 0 has %+v", f, s.shape, total.shape)
		}
		total.Merge(s)
	}
	return total, nil
}

// checkRows returns an error if no model can be fitted to the rows.
func (p *path) checkRows(total *Sum) error {
	if total.shape.Regression != (p.Grid != nil) {
		return errors.New("ridge: a target grid is for sums of targets, and they need one")
	}
	n := total.Rows()
	if n == 0 {
		return errors.New("ridge: no rows to fit to")
	}
	if most := total.shape.MaxRows(); n > most {
		return fmt.Errorf("ridge: %d rows: sums are exact up to %d", n, most)
	}
	for c, count := range total.ClassCounts() {
		if count != n {
			continue
		}
		name := fmt.Sprint(c)
		if c < len(p.Classes) {
			name = fmt.Sprintf("%q", p.Classes[c])
		}
		return fmt.Errorf("ridge: all %d rows are of class %s; two classes are needed", n, name)
	}
	return nil
}

// mu is what λ puts on the diagonal of the system, in units of the grids.
func (p *path) mu(y *system, lambda float64) float64 {
	return y.n * lambda / (p.Step * p.Step)
}

// validateFolds leaves out one fold after the other and returns a row for
// every λ. The system y is overwritten.
func (p *path) validateFolds(y *system, total *Sum) ([]Row, error) {
	var (
		h       = newHeldOut(total.shape, p.Threads)
		scale   = p.targetStep() * p.targetStep()
		table   = make([]Row, len(p.Lambda))
		held    = make([]float64, len(p.Lambda)) // Σ squares over all folds
		trained = make([]float64, len(p.Lambda))
		means   = make([][]float64, len(p.Lambda)) // of each fold
		n, nt   float64
	)
	for i, l := range p.Lambda {
		table[i].Lambda = l
	}
	for f := range p.Folds {
		fold, err := p.load(f)
		if err != nil {
			return nil, err
		}
		rows := fold.head[0]
		if rows == 0 {
			continue
		}
		if rows == total.head[0] {
			return nil, fmt.Errorf("ridge: all %d rows are in fold %d of %d; cross-validation needs two folds with rows: give more rows, or no folds", fold.Rows(), f, p.Folds)
		}
		y.centre(total, fold)
		n, nt = n+rows, nt+y.n
		for i, l := range p.Lambda {
			if table[i].Failed != "" {
				continue
			}
			mu := p.mu(y, l)
			pivot, ok := y.solve(mu, total, fold)
			if !ok {
				table[i].Failed = notDefinite(pivot, total.shape.Dim)
				p.report("ridge: fold %d of %d: lambda %g: %s", f+1, p.Folds, l, table[i].Failed)
				continue
			}
			e := h.squares(y, fold)
			held[i] += e
			means[i] = append(means[i], scale*e/rows)
			trained[i] += y.trainError(mu, total, fold)
			p.report("ridge: fold %d of %d: lambda %g: held-out error %.6g", f+1, p.Folds, l, scale*e/rows)
		}
	}
	for i := range table {
		if row := &table[i]; row.Failed == "" {
			row.MSE = scale * held[i] / n
			row.Train = scale * trained[i] / nt
			row.StdErr = standardError(means[i])
			if !finite([]float64{row.MSE, row.Train, row.StdErr}) {
				*row = Row{Lambda: row.Lambda, Failed: "errors beyond float64"}
			}
		}
	}
	return table, nil
}

func (p *path) report(format string, args ...any) {
	if p.Progress != nil {
		p.Progress(fmt.Sprintf(format, args...))
	}
}

// targetStep is the size of a step of q: a class indicator goes from code -1 to 1.
func (p *path) targetStep() float64 {
	if p.Grid == nil {
		return 2
	}
	return p.Grid.Step()
}

// weights turns the solution of y, which is for indicators or points of the
// grid, into weights for codes or normalised targets.
func (p *path) weights(fit *Fit, y *system) error {
	d, k := y.shape.Dim, y.shape.Outputs
	zero, step := -1.0, 2.0
	if p.Grid != nil {
		zero, step = 0, 1.0/maxTarget
	}
	b := make([]float64, k)
	y.intercept(b)
	fit.Intercept = make([]float32, k)
	for c := range b {
		fit.Intercept[c] = float32(zero + float64(step*b[c]))
	}
	scale := step / p.Step
	fit.Weights = make([]float32, k*d)
	for j := range d {
		for c, v := range y.v[j*k : (j+1)*k] {
			fit.Weights[c*d+j] = float32(scale * v)
		}
	}
	for _, s := range [][]float32{fit.Intercept, fit.Weights} {
		for _, w := range s {
			if w-w != 0 {
				return fmt.Errorf("ridge: weights beyond float32 at lambda %g; raise lambda", fit.Lambda)
			}
		}
	}
	return nil
}

// choose returns the λ with the least error, the larger of two that are equal.
func choose(table []Row) (float64, error) {
	best := -1
	for i, row := range table {
		if row.Failed != "" {
			continue
		}
		if best < 0 || row.MSE < table[best].MSE || row.MSE == table[best].MSE && row.Lambda > table[best].Lambda {
			best = i
		}
	}
	if best < 0 {
		return 0, fmt.Errorf("ridge: %s at lambda %g, nor at any other given; raise lambda", table[0].Failed, table[0].Lambda)
	}
	return table[best].Lambda, nil
}

// standardError returns the standard error of the mean of v, 0 for one value.
func standardError(v []float64) float64 {
	if len(v) < 2 {
		return 0
	}
	var mean, ss float64
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		ss += float64((x - mean) * (x - mean))
	}
	return math.Sqrt(ss / float64(len(v)-1) / float64(len(v)))
}

func notDefinite(pivot, dim int) string {
	return fmt.Sprintf("not positive definite (pivot %d of %d)", pivot+1, dim)
}
