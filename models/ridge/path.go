package ridge

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// solve is one call of Solve.
type solve struct {
	Options
	variance float64 // of targets in the unit of squared errors; 0 for classes
	tries
	keptFactors
	partSums []*Sum          // of the folds, on a part of the features; nil if all are used at once
	heads    []*Sum          // head and cross products of the folds, if rows are stored
	few      *solver.Problem // the dual problem of few rows; nil otherwise
	loaded
}

// tries are the values of λ that a search has tried.
type tries struct {
	values  []float64 // of λ, in the order of the table: Smaller from its end, then Lambda
	tallies []tally   // of values
	filled  []int     // the folds that have rows
	screen  int64     // number of rows of the first of them
	minPart int       // number of features from which λ is first found on a part of them; 0 for never
	by      solver.By
	coarse  bool      // the first fold has found a λ for which the grid is too coarse
	first   []moments // of the targets of the rows of fold 0, if there are several
}

// keptFactors are factors that descents use again.
type keptFactors struct {
	sharedFactors []trial        // the values whose factors are in memory
	single        [][]float32    // tiles for factors that are not shared; nil before they are needed
	factor        *solver.Factor // the last of them, whose memory the next one takes over
}

// loaded holds the sum of a fold that was read last.
type loaded struct {
	last     *Sum // the sum loaded last; nil before the first
	lastFold int
	buffer   *Sum // for sums made by Add; nil before it is needed
}

// largeSum is the number of features at which a sum takes 17 MB.
const largeSum = 2048

// load returns the sum of a fold. It is valid until another is loaded.
func (p *solve) load(fold int) (*Sum, error) {
	if p.last != nil && p.lastFold == fold {
		return p.last, nil
	}
	if p.adds() {
		s, err := p.sumOf(func(f int) bool { return f == fold })
		if err != nil {
			return nil, err
		}
		p.last, p.lastFold = s, fold
		return s, nil
	}
	// Garbage from reading the last fold may be larger than a fold, and the collector
	// would let the heap double.
	if p.last != nil && p.last.shape.Dim >= largeSum {
		runtime.GC()
	}
	s, err := p.Load(fold)
	if err != nil {
		return nil, fmt.Errorf("ridge: fold %d: %w", fold, err)
	}
	p.last, p.lastFold = s, fold
	return s, nil
}

// adds reports whether sums are added to others instead of loaded.
func (p *solve) adds() bool { return p.Add != nil || p.Rows != nil }

// add adds the sums of the folds for which the function is true.
func (p *solve) add(to *Sum, folds func(int) bool) error {
	if p.Rows != nil {
		to.AddGridRows(p.Rows.Steps, p.Threads, p.Rows.inFolds(folds)...)
		return nil
	}
	for f := range max(p.Folds, 1) {
		switch {
		case !folds(f):
		case p.Add != nil:
			if err := p.Add(to, f); err != nil {
				return fmt.Errorf("ridge: fold %d: %w", f, err)
			}
		default:
			s, err := p.load(f)
			if err != nil {
				return err
			}
			to.Merge(s)
		}
	}
	return nil
}

// sumOf returns the sum of some folds in p.buffer, valid until the next call.
func (p *solve) sumOf(folds func(int) bool) (*Sum, error) {
	p.last = nil
	if p.buffer == nil {
		if p.Shape.Dim >= largeSum {
			runtime.GC() // free the old memory before more is allocated
		}
		p.buffer = NewSum(p.Shape)
	} else {
		p.buffer.Clear()
	}
	if err := p.add(p.buffer, folds); err != nil {
		return nil, err
	}
	return p.buffer, nil
}

// loadTotal returns the sum of all folds, or its outline if sums are reread, and notes which folds have
// rows.
func (p *solve) loadTotal() (*Sum, error) {
	switch {
	case p.adds() && !p.Validates():
		return p.sumOf(func(int) bool { return true })
	case p.Rows != nil:
		return p.totalOfRows(), nil
	case p.Folds < 2:
		return p.load(0)
	}
	var total *Sum
	var part []int
	for f := range p.Folds {
		s, err := p.load(f)
		if err != nil {
			return nil, err
		}
		if total == nil {
			if total = outline(s.shape); !p.rereads(s.shape) {
				total = NewSum(s.shape)
			}
			if p.descends(s.shape) {
				part = solver.PartOf(s.shape.Dim)
			}
		}
		if s.shape != total.shape {
			return nil, fmt.Errorf("ridge: fold %d: sums have shape %+v, fold 0 has %+v", f, s.shape, total.shape)
		}
		total.Merge(s)
		if part != nil {
			p.partSums = append(p.partSums, s.pick(part))
		}
		if s.head[0] > 0 {
			p.filled = append(p.filled, f)
		}
		if len(p.filled) == 1 {
			p.screen = total.Rows()
		}
	}
	if p.rereads(total.shape) {
		p.buffer, p.last = nil, nil // the search begins without it
	}
	return total, nil
}

// checkRows returns an error if no model can be fitted to the rows.
func (p *solve) checkRows(total *Sum) error {
	if total.shape.Regression != (p.Grid != nil) {
		return errors.New("ridge: sums of targets need a target grid, and sums of classes must not have one")
	}
	if total.shape.Regression && len(p.Grid) != total.shape.Outputs {
		return fmt.Errorf("ridge: %d grids of %d targets", len(p.Grid), total.shape.Outputs)
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

// checkExact returns an error if a sum may have passed 2⁵³, above which float64 is no longer exact. Sums of
// squares grow with each row and bound all others: by Cauchy–Schwarz no sum of products, over any subset of
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
	squares := total.head[0] // of the constant 1, whose products are the column sums
	for c := range k {
		squares = max(squares, float64(total.moments(c).qq))
	}
	if !(largest < 1<<53) || !(math.Sqrt(largest)*math.Sqrt(squares) < 1<<53) {
		return fmt.Errorf("ridge: sums of %d rows passed 2⁵³, beyond which they are not exact; use fewer rows, or a "+
			"grid of 8 bits", total.Rows())
	}
	return nil
}

// mu returns what λ adds to the diagonal of the system, in units of the grids. λ multiplies the penalty of
// the loss Σ wcℓ/Σ w, where w are weights of rows and c weights of classes.
func (p *solve) mu(y *system, lambda float64) float64 {
	return y.mass * lambda / (p.Step * p.Step)
}

// row returns the results for a value, with errors in units of the targets.
func (p *solve) row(value int) Row {
	lambda, t := p.values[value], p.tallies[value]
	row := Row{Lambda: lambda, Failed: t.failed}
	if t.failed != "" || len(t.means) == 0 {
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
		row.R2 = 1 - row.MSE/(unit*p.varianceOf(t))
	}
	if sum := row.MSE + row.Train + row.StdErr + row.Rounding + row.R2; sum-sum != 0 { // true if one of them is not finite
		return Row{Lambda: lambda, Failed: "errors beyond float64"}
	}
	return row
}

// varianceOf returns the variance by which a tally's error is divided for R²: of the targets of the rows
// that were predicted; or p.variance, over all rows, if there are none or several targets.
func (p *solve) varianceOf(t tally) float64 {
	if len(p.Grid) == 1 {
		if v := t.targets.squares() / t.heldOutRows; v > 0 {
			return v
		}
	}
	return p.variance
}

func (p *solve) report(format string, args ...any) {
	if p.Progress != nil {
		p.Progress(fmt.Sprintf(format, args...))
	}
}

// squareUnit returns the unit of squared errors: the square of a step of q, where an indicator goes from
// code −1 to 1. It is 1 for several targets, whose errors are shares; see system.share.
func (p *solve) squareUnit() float64 {
	switch len(p.Grid) {
	case 0:
		return 4
	case 1:
		return p.Grid[0].Step() * p.Grid[0].Step()
	}
	return 1
}

// weights turns the solution of y, fitted to indicators or to targets on their grid, into weights for ±1
// codes or normalised targets.
func (p *solve) weights(fit *Solution, y *system) error {
	d, k, r := y.shape.Dim, y.shape.Outputs, y.ranges
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
	scale := step / p.Step
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

// standardError returns the standard error of the mean of the errors of K folds, 0 for one fold. The fits
// share most of their rows, so the errors vary less than on new data: the variance of the mean is 1/K +
// 1/(K−1) times the variance of the folds (Nadeau and Bengio 2003).
func standardError(v []float64) float64 {
	if len(v) < 2 {
		return 0
	}
	k := float64(len(v))
	var mean, ss float64
	for _, x := range v {
		mean += x / k
	}
	for _, x := range v {
		ss += float64((x - mean) * (x - mean))
	}
	return math.Sqrt(ss / (k - 1) * (1/k + 1/(k-1)))
}

func notDefinite(pivot, dim int) string {
	return fmt.Sprintf("not positive definite (pivot %d of %d)", pivot+1, dim)
}
