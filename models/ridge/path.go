package ridge

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
)

// path is one call of Solve.
type path struct {
	Options
	descend  bool    // folds are solved by descent where possible
	variance float64 // of targets on their grid; 0 for classes
}

func (p *path) load(fold int) (*Sum, error) {
	// Garbage from reading the last fold may be larger than a fold, and the collector
	// would let the heap double.
	runtime.GC()
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
		first = nil // freed before the next is read
		s, err := p.load(f)
		if err != nil {
			return nil, err
		}
		if s.shape != total.shape {
			return nil, fmt.Errorf("ridge: fold %d: sums have shape %+v, fold 0 has %+v", f, s.shape, total.shape)
		}
		total.Merge(s)
	}
	return total, nil
}

// checkRows returns an error if no model can be fitted to the rows.
func (p *path) checkRows(total *Sum) error {
	if total.shape.Regression != (p.Grid != nil) {
		return errors.New("ridge: sums of targets need a target grid, and sums of classes must not have one")
	}
	if total.shape.Weighted != (p.Weights != nil) {
		return errors.New("ridge: sums of rows with weights need their grid, and others must not have one")
	}
	if total.Rows() == 0 {
		return errors.New("ridge: no rows to fit to")
	}
	if total.head[0] == 0 {
		return fmt.Errorf("ridge: all %d rows have weight 0", total.Rows())
	}
	if err := checkExact(total); err != nil {
		return err
	}
	if r := p.Ranges.Half; r != nil && len(r) != total.shape.Dim {
		return fmt.Errorf("ridge: ranges for %d features, want %d", len(r), total.shape.Dim)
	}
	for c, count := range total.ClassCounts() {
		if float64(count) != total.head[0] {
			continue
		}
		name := fmt.Sprint(c)
		if c < len(p.Classes) {
			name = fmt.Sprintf("%q", p.Classes[c])
		}
		return fmt.Errorf("ridge: all %d rows are of class %s; two classes are needed", total.Rows(), name)
	}
	return nil
}

// checkExact returns an error if a sum may have passed 2⁵³, above which it need not be
// exact. Sums of squares grow with each row, and no sum of products, over any subset of
// the rows, is larger than the root of the product of two of them.
func checkExact(total *Sum) error {
	d, k := total.shape.Dim, total.shape.Outputs
	var largest float64
	for i, t := 0, 0; i*blas.TileDim < d; i, t = i+1, t+i+2 {
		rows := blas.TileRows(d, i)
		for a := range rows {
			largest = max(largest, total.tiles[t][a*rows+a])
		}
	}
	squares := total.head[0] // of the 1 that gives column sums
	for c := range k {
		_, _, qq := total.moments(c)
		squares = max(squares, float64(qq))
	}
	if !(largest < 1<<53) || !(math.Sqrt(largest)*math.Sqrt(squares) < 1<<53) {
		return fmt.Errorf("ridge: sums of %d rows passed 2⁵³, beyond which they are not exact; use fewer rows, or a grid of 8 bits", total.Rows())
	}
	return nil
}

// mu is the value that λ adds to the diagonal of the system, in units of the grids: λ is on
// Σ wcℓ/Σ w, with weights w of rows and c of classes.
func (p *path) mu(y *system, lambda float64) float64 {
	return y.mass * lambda / (p.Step * p.Step)
}

// tally accumulates the results of the folds for one λ.
type tally struct {
	heldOut, heldOutRows float64 // Σ squares and rows of the folds, or their weights
	train, trainRows     float64 // the same for the training rows
	rounding             float64 // the part of heldOut that is due to rounding of features
	means                []float64
	first                float64   // mean square of fold 0
	without              *Solution // fit to all rows except fold 0, if requested
	failed               string
}

// trial is a λ that is tried on every fold, with the factor to descend by, or nil if it
// is factored on each.
type trial struct {
	index int // in Options.Lambda
	by    *factor
}

// judges is how many folds are left out in turn.
func (p *path) judges() int {
	if p.First {
		return 1
	}
	return p.Folds
}

// validateFolds leaves out one fold after the other and returns a row for every λ, and
// the fits without fold 0. It overwrites the system y.
func (p *path) validateFolds(y *system, total *Sum) ([]Row, []*Solution, error) {
	h := newHeldOut(total.shape, p.Threads)
	tallies := make([]tally, len(p.Lambda))
	rest := make([]int, len(p.Lambda))
	for i := range rest {
		rest[i] = i
	}
	if p.descend {
		// In ascending order, so that a factor may serve the λ that follow.
		slices.SortStableFunc(rest, func(a, b int) int { return cmp.Compare(p.Lambda[a], p.Lambda[b]) })
	}
	for len(rest) > 0 {
		trials := p.trials(y, total, rest)
		rest = rest[len(trials):]
		for f := range p.judges() {
			fold, err := p.load(f)
			if err != nil {
				return nil, nil, err
			}
			if fold.head[0] == 0 {
				if p.First {
					return nil, nil, fmt.Errorf("ridge: none of %d rows is in fold 0, which is held out; use more rows, or fewer folds", total.Rows())
				}
				continue
			}
			if fold.head[0] == total.head[0] {
				return nil, nil, fmt.Errorf("ridge: all %d rows are in fold %d of %d; cross-validation needs two folds with rows: use more rows, or no folds", fold.Rows(), f, p.Folds)
			}
			p.validate(y, h, total, fold, f, trials, tallies)
		}
	}
	table, trials := make([]Row, len(p.Lambda)), make([]*Solution, len(p.Lambda))
	for i, t := range tallies {
		table[i] = p.row(p.Lambda[i], t)
		if table[i].Failed == "" {
			trials[i] = t.without
		}
	}
	return table, trials, nil
}

// trials returns what to try next of the remaining values: all, or those that maxFactors
// factors serve.
func (p *path) trials(y *system, total *Sum, rest []int) []trial {
	var trials []trial
	if !p.descend {
		for _, i := range rest {
			trials = append(trials, trial{index: i})
		}
		return trials
	}
	y.centre(total, nil)
	square := blas.Make[float32](total.shape.Dim * total.shape.Dim)
	var by *factor
	factors := 0
	for _, i := range rest {
		mu := p.mu(y, p.Lambda[i])
		if by == nil || !by.serves(mu) {
			if factors == maxFactors {
				break
			}
			if by = y.precondition(mu, square); by != nil {
				factors++
			}
		}
		trials = append(trials, trial{i, by})
	}
	return trials
}

// validate tries every λ of trials on a fold.
func (p *path) validate(y *system, h *heldOut, total, fold *Sum, number int, trials []trial, tallies []tally) {
	y.centre(total, fold)
	var systems []*descending
	var held []float64 // of the systems
	solved := make([]*descending, len(trials))
	for t, trial := range trials {
		if trial.by != nil && tallies[trial.index].failed == "" {
			solved[t] = &descending{mu: p.mu(y, p.Lambda[trial.index]), f: trial.by}
			systems = append(systems, solved[t])
		}
	}
	if len(systems) > 0 {
		lower(y, y.square, 0)
		y.rightSides(total, fold)
		d := &descent{y: y}
		d.run(systems)
		held = h.squares(y, fold, d.x)
	}
	rows := fold.head[0]
	for t, trial := range trials {
		tally, lambda := &tallies[trial.index], p.Lambda[trial.index]
		if tally.failed != "" {
			continue
		}
		mu := p.mu(y, lambda)
		var e float64
		if s := solved[t]; s != nil && s.solved {
			transpose(y.v, s.x, total.shape.Outputs, total.shape.Dim)
			e = held[s.index]
		} else {
			pivot, ok := y.solve(mu, total, fold)
			if !ok {
				tally.failed = notDefinite(pivot, total.shape.Dim)
				p.report("ridge: fold %d of %d: lambda %g: %s", number+1, p.Folds, lambda, tally.failed)
				continue
			}
			vt := make([]float64, len(y.v))
			transpose(vt, y.v, total.shape.Dim, total.shape.Outputs)
			e = h.squares(y, fold, vt)[0]
		}
		if number == 0 {
			tally.first = e / rows
			if p.Trials {
				tally.without = &Solution{Lambda: lambda, Rows: total.Rows() - fold.Rows()}
				if err := p.weights(tally.without, y); err != nil {
					tally.failed = "weights beyond float32"
					continue
				}
			}
		}
		tally.heldOut, tally.heldOutRows = tally.heldOut+e, tally.heldOutRows+rows
		tally.train, tally.trainRows = tally.train+y.trainError(mu, total, fold), tally.trainRows+y.n
		tally.rounding += rows * squared(y.v) / 12
		tally.means = append(tally.means, e/rows)
		p.report("ridge: fold %d of %d: lambda %g: held-out error %.6g", number+1, p.Folds, lambda, p.squareUnit()*e/rows)
	}
}

// row turns a tally into errors in units of the targets.
func (p *path) row(lambda float64, t tally) Row {
	row := Row{Lambda: lambda, Failed: t.failed}
	if t.failed != "" {
		return row
	}
	unit := p.squareUnit()
	row.MSE = unit * t.heldOut / t.heldOutRows
	row.Train = unit * t.train / t.trainRows
	row.StdErr = unit * standardError(t.means)
	row.Folds = len(t.means)
	row.FoldMSE = unit * t.first
	row.Rounding = unit * t.rounding / t.heldOutRows
	if p.variance > 0 {
		row.R2 = 1 - row.MSE/(unit*p.variance)
	}
	if !finite([]float64{row.MSE, row.Train, row.StdErr, row.Rounding, row.R2}) {
		return Row{Lambda: lambda, Failed: "errors beyond float64"}
	}
	return row
}

func (p *path) report(format string, args ...any) {
	if p.Progress != nil {
		p.Progress(fmt.Sprintf(format, args...))
	}
}

// squareUnit is the square of a step of q: a class indicator goes from code -1 to 1.
func (p *path) squareUnit() float64 {
	if p.Grid == nil {
		return 4
	}
	return p.Grid[0].Step() * p.Grid[0].Step()
}

// weights turns the solution of y, which is for indicators or points of the
// grid, into weights for codes or normalised targets.
func (p *path) weights(fit *Solution, y *system) error {
	d, k := y.shape.Dim, y.shape.Outputs
	zero, step := -1.0, 2.0
	if p.Grid != nil {
		zero, step = 0, 1.0/maxTarget
	}
	intercept := make([]float64, k)
	y.intercept(intercept)
	fit.Intercept = make([]float32, k)
	for c, b := range intercept {
		intercept[c] = zero + float64(step*b)
	}
	scale, r := step/p.Step, y.ranges
	fit.Weights = make([]float32, k*d)
	for j := range d {
		for c, v := range y.v[j*k : (j+1)*k] {
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
	for _, s := range [][]float32{fit.Intercept, fit.Weights} {
		for _, w := range s {
			if w-w != 0 {
				return fmt.Errorf("ridge: weights do not fit in float32 at lambda %g; raise lambda", fit.Lambda)
			}
		}
	}
	return nil
}

// squared returns Σv².
func squared(v []float64) (s float64) {
	for _, x := range v {
		s += float64(x * x)
	}
	return s
}

// choose returns the λ with the least error, the larger of two equal ones.
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
		return 0, fmt.Errorf("ridge: no lambda can be used: %s at lambda %g; raise lambda", table[0].Failed, table[0].Lambda)
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
