package ridge

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge/discriminant"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// AutoLambda returns the values of λ to try if none is given: the decades from 1e-8 to 1e-1, for features
// of norm about 1. Below them the rounding to 8 bits dominates; see Floor.
func AutoLambda() []float64 {
	return []float64{1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1}
}

// SmallerLambda returns the values that follow AutoLambda on a grid of 16 bits,
// tried in order as long as each does better than the one before.
func SmallerLambda() []float64 { return []float64{1e-9, 1e-10, 1e-11, 1e-12} }

// NextLambda returns the value below AutoLambda that is tried on a grid of 8 bits, so that TooCoarse sees
// whether a finer grid would help.
func NextLambda() []float64 { return SmallerLambda()[:1] }

// Floor returns the λ that is equivalent to rounding features to a grid of that step: rounding errors have
// variance step²/12 and are nearly independent, so each row adds that much to the diagonal of the Gram
// matrix. For Fourier features on 8 bits it is 1e-5/D.
func Floor(step float64) float64 { return step * step / 12 }

// Options are the options of Solve.
type Options struct {
	Choice
	Results
	Source
	FoldPlan
	// Gap leaves out a gap in time: fold 1 is not fitted to while fold 0 is held out; see SolveChain.
	Gap bool
	Units
	Threads int // number of goroutines; < 1 means 1. The result does not depend on it

	rereadAbove, partFrom int // unless 0, instead of solver.RereadAbove and solver.PartFrom; for tests
}

// Choice says which values of λ are tried.
type Choice struct {
	// Lambda holds the values of λ to choose from, each finite and ≥ 0. λ applies to the mean loss. At
	// least one value is needed; several need Folds ≥ 2.
	Lambda []float64 `json:"lambda,omitempty"`
	// Smaller has further values in descending order, all below Lambda. If the least value of Lambda has
	// the least held-out error, these are tried in order until one does no better.
	Smaller []float64 `json:"smaller,omitempty"`
	// TryAll makes Solve try all values of Lambda on all folds. Otherwise, with many features and more than
	// three values, it skips values that are unlikely to be the best.
	TryAll bool `json:"all,omitempty"`
	// StartLambda is the λ to try first with many features. 0 starts from the best value on a part of the
	// features, which suits random features, as any part of them is like the others.
	StartLambda float64 `json:"start,omitempty"`
}

// Results says what Solve returns besides λ and weights.
type Results struct {
	// Finer is for TooCoarse: if the first fold leads to a λ for which the grid is too coarse, Solve
	// returns that λ without weights, and the caller sums again on a finer grid. With 0 it always fits.
	Finer float64
	// Trials makes Solve return the fit without fold 0 for each λ that was tried.
	Trials bool
	// Unfitted makes Solve return after the choice of λ, without weights.
	Unfitted bool
	// Sketch makes Solve return Solution.Sketch, with random signs drawn by Seed. FirstSketch makes it
	// return Solution.FirstSketch too, for targets with Trials.
	Sketch, FirstSketch bool
	Seed                uint64
}

// Source provides the sums of the rows.
type Source struct {
	// Add adds the sum of a fold to another Sum of that Shape, 0 ≤ fold < max(Folds, 1). It is called
	// several times for a fold if Folds ≥ 2. Sums that are read from storage need no memory besides what
	// Solve takes; see Memory.
	Add   func(to *Sum, fold int) error
	Shape Shape
	// Rows, unless nil, has the rows of Folds ≥ 2 folds, and Add is not called. λ and weights are the same
	// as from their sums.
	Rows *Rows
}

// Units says what the numbers of the sums mean.
type Units struct {
	Step float64 // a feature is Step times its number on the grid; > 0
	// Ranges is set if each feature has its own grid: feature j is Centre_j + Half_j·Step·number. The zero
	// value means one grid for all features.
	Ranges Ranges
	// Weights is the grid of the weights of rows; nil if they have none.
	Weights *profile.WeightGrid
	Grid    linear.Grids // the grids of the targets; nil for classes
	Classes []string     // names of the classes, for errors; may be nil
}

// Ranges are the grids of features that have their own. Both slices are as long as the
// features, or nil; halves are > 0.
type Ranges struct{ Centre, Half []float64 }

// Solution is a fitted linear model of k outputs on D features. For features φ it gives the scores W_c·φ +
// b_c. Scores of classes are near 1 for the row's class and near −1 for the others. A target is Mid() +
// Half()·score of its grid, so float32 is precise enough for targets far from zero.
type Solution struct {
	Weights   []float32 // k×D, row-major; nil if Options.Finer has stopped Solve
	Intercept []float32 // length k
	Lambda    float64   // the λ of the weights
	// Table has a row for every λ that was tried with all features, in the order of Options; nil without
	// folds. A λ that is much worse than the best was tried on fewer folds.
	Table []Row
	Rows  int64 // number of rows that the weights were fitted to
	// FoldErrors are the mean squared errors of the folds for each row of Table, in the same unit.
	FoldErrors [][]float64
	// Variance is the variance of each of several targets over all rows. FoldVariance is the variance of
	// each target over the rows of fold 0, if these were predicted.
	Variance, FoldVariance []float64

	// Sketch is for the rows that the weights were fitted to, FirstSketch for the rows without fold 0 and
	// the same λ. Both are nil unless requested, or if numbers do not fit in float32. FirstSketch is also
	// nil if leverages are so small that Sketch serves for the rows of fold 0 as well.
	Sketch, FirstSketch *Sketch

	HeldOut *Solution // the fit without fold 0, which has no Table; nil unless requested
	// Trials are fits without fold 0 for each row of Table, within the tolerance of the descent. An entry
	// is nil if its λ failed. Trials is nil if fold 0 has no rows, and unless requested.
	Trials []*Solution
	// FirstRows is the number of rows of fold 0, which Trials and HeldOut were not fitted to. It is set
	// with Trials, and in HeldOut of classes.
	FirstRows int64
	// Discriminants of the classes, for the scores of the rows of fold 0; set only in HeldOut.
	Discriminants []discriminant.Discriminant
}

// Row is the result of cross-validation for one λ. Errors are squares in the units of the target; for
// classes they are summed over the ±1 codes. Errors of several targets are divided by the variance of each
// target over all rows and averaged, so 1 − MSE is the mean R². Means are weighted where rows or classes
// have weights.
type Row struct {
	Lambda float64 `json:"lambda"`
	MSE    float64 `json:"mse"`       // mean over the rows of the folds, each predicted by a fit without its fold
	StdErr float64 `json:"std_err"`   // of MSE, from the errors of the folds; see StandardError
	Train  float64 `json:"train_mse"` // mean over the rows that the weights were fitted to
	// R2 is 1 − MSE divided by the variance of a target over the rows of the folds; 1 − MSE for several
	// targets. It is below 0 if the mean predicts better.
	R2 float64 `json:"r2,omitempty"`
	// Rounding estimates how much of MSE comes from rounding features to their grid: an error of e steps,
	// of variance 1/12, moves a score by its weight times e. Predictions use features that are not rounded.
	Rounding float64 `json:"rounding"`
	// FoldMSE is the part of MSE that comes from the rows of fold 0; 0 if it has none.
	FoldMSE float64 `json:"fold_mse"`
	HeldOutRow
	// Folds is the number of folds with rows over which the errors were computed.
	Folds int `json:"folds"`
	// Failed is the reason why this λ has no errors, which are then 0.
	Failed string `json:"failed,omitempty"`
}

// HeldOutRow has the errors of a λ on the rows of fold 0, scored as in prediction: with features that are
// not rounded. Solve leaves it zero.
type HeldOutRow struct {
	// HeldOutRows is the number of rows of fold 0 that were scored with weights fitted without them; 0 if
	// none were. HeldOutErrors is how many of them got a wrong class: by the largest score, or by
	// probabilities that were fitted to the other half of them. HeldOutMSE is their mean squared error;
	// FoldMSE is the error with rounded features.
	HeldOutRows   int64   `json:"held_rows"`
	HeldOutErrors int64   `json:"held_errors"`
	HeldOutMSE    float64 `json:"held_mse"`
	// HeldOutStdErr is the standard error of HeldOutMSE; 0 if it is not known.
	HeldOutStdErr float64 `json:"held_std_err,omitempty"`
	// HeldOutLogLoss is the log loss of those rows: of the probabilities if there are any, otherwise by
	// score.LogLosses.
	HeldOutLogLoss float64 `json:"held_log_loss,omitempty"`
	// HeldOutError is the weighted share of HeldOutErrors, if rows have weights. HeldOutMSE is weighted
	// then.
	HeldOutError float64 `json:"held_error,omitempty"`
	// HeldOutEffective is the number of independent rows that would give an error rate of the same
	// precision, if rows belong to groups or repeat; 0 otherwise.
	HeldOutEffective float64 `json:"held_effective,omitempty"`
}

// Work estimates the seconds that Solve takes on a thread of a machine of 2024 to choose among that many
// values of λ. It serves to compare sizes, one of which was measured. The number of steps of a search
// depends on the data; the most common one is assumed. With first, only the first fold is held out, a fifth
// of the rows.
func Work(shape Shape, rows int64, folds, values int, first bool) float64 {
	return solver.Work(solverShape(shape), rows, folds, values, first)
}

// solverShape returns the shape for package solver.
func solverShape(s Shape) solver.Shape {
	return solver.Shape{Dim: s.Dim, Outputs: s.Outputs, Width: s.width(), Head: s.headLen()}
}

// Memory returns the most bytes that Solve uses, apart from small constants. That is the sum of all rows;
// with folds ≥ 2 also the matrix of one fold and its sum, as lower triangles; and a few times the D×k
// weights. If folds are solved by descent, it adds the factors in float32 and the sums over a part of the
// features, or the stored rows. rows may be 0 if unknown. With first, only the first fold is held out. For
// 10,000 features and 10 classes it is slightly more than 0.42 + 0.49 + 0.42 + 0.83 GB. Above 16,384
// features only one sum, and a part of the features of each fold, is in
// memory.
func Memory(shape Shape, rows int64, folds, threads int, first bool) int64 {
	return solver.Memory(solverShape(shape), rows, folds, threads, first) + sketchBytes(shape.Dim)
}

// MemoryOfRows is Memory for Options.Rows.
func MemoryOfRows(shape Shape, rows int64, folds, threads int) int64 {
	return solver.MemoryOfRows(solverShape(shape), rows, folds, threads) + sketchBytes(shape.Dim)
}

// MaxTrialBytes is the largest size for which Solution.Trials should be requested.
const MaxTrialBytes = 256 << 20

// TrialBytes returns the bytes of the weights of Solution.Trials for that many values of
// λ.
func TrialBytes(shape Shape, lambdas int) int64 {
	return 4 * int64(lambdas) * int64(shape.Outputs) * int64(shape.Dim+1)
}

// Solve chooses λ by cross-validation and fits the weights to all rows. It takes the λ with the least
// held-out error, the larger of two equal ones. The weights for a λ are the same, bit for bit, with or
// without folds.
//
// It fails if there are no rows, if all rows are of one class, if fewer than two folds
// have rows, or if the matrix is not positive definite to working precision, which
// happens only for small λ.
func Solve(opts Options) (*Solution, error) {
	if opts.Rows != nil {
		opts.Shape = opts.Rows.Shape
	}
	return solveSums(opts, nil)
}

// solveSums is Solve if the sums of the folds are in memory; nil means that Source provides them. It changes
// them only if there is one.
func solveSums(opts Options, sums []*Sum) (*Solution, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	p := &solve{Options: opts, sums: sums}
	folds, err := p.loadFolds()
	if err != nil {
		return nil, err
	}
	total := folds.total
	if err := p.checkRows(total); err != nil {
		return nil, err
	}
	y := newSystem(p.Shape, p.Units, errorFactors(total), p.Threads)
	fit := &Solution{Lambda: opts.Lambda[0], Rows: total.Rows(), Variance: p.variances(total)}
	if opts.Validates() {
		if coarse, err := p.chooseLambda(fit, y, folds); err != nil || coarse {
			return fit, err
		}
	}
	if opts.Unfitted {
		return fit, nil
	}
	if total = folds.total; p.rereads() || total.outlines() {
		if total, err = p.sumOf(everyFold); err != nil {
			return nil, err
		}
	}
	return fit, p.fitAll(fit, y, total)
}

// chooseLambda sets the λ of fit and the results of cross-validation. coarse says that the first fold has led to
// a λ for which the grid is too coarse; there are no results then. It completes the total of folds if rows are
// stored but sums must be solved.
func (p *solve) chooseLambda(fit *Solution, y *system, folds *foldSums) (coarse bool, err error) {
	s, err := p.newSearch(y, folds)
	if err != nil {
		return false, err
	}
	best, coarse, err := s.run()
	if err != nil {
		return false, err
	}
	fit.Lambda = s.values[best]
	if coarse {
		return true, nil
	}
	var trials []*Solution
	fit.Table, fit.FoldErrors, trials = s.table()
	if p.Trials {
		fit.Trials = trials
	}
	if i := slices.IndexFunc(fit.Trials, func(t *Solution) bool { return t != nil }); i >= 0 {
		fit.FirstRows = fit.Rows - fit.Trials[i].Rows
	}
	for c, m := range s.first {
		step := p.Grid[c].Step()
		fit.FoldVariance = append(fit.FoldVariance, float64(step*step)*(m.squares()/float64(m.n)))
	}
	return false, nil
}

// variances returns the variance of each of several targets.
func (p *solve) variances(total *Sum) (variances []float64) {
	if len(p.Grid) < 2 {
		return nil
	}
	for c, g := range p.Grid {
		variances = append(variances, float64(g.Step()*g.Step())*(centredSquares(total, nil, c)/total.head[0]))
	}
	return variances
}

// fitAll fits the weights for the λ of fit, and all else that the options ask for. It overwrites total.
func (p *solve) fitAll(fit *Solution, y *system, total *Sum) error {
	factor, err := p.fit(fit, y, total)
	if err != nil {
		return err
	}
	if p.Sketch {
		fit.Sketch = p.sketch(factor, fit.Rows)
	}
	if p.FirstSketch && p.Trials && p.Folds > 1 && total.shape.Regression && fit.Sketch != nil &&
		fit.Sketch.Leverage >= SmallLeverage {
		if fit.FirstSketch, err = p.firstSketch(fit, y, total); err != nil {
			return err
		}
	}
	if p.HeldOut {
		fit.HeldOut, err = p.fitHeldOut(fit.Lambda, y, total)
	}
	return err
}

// factor is the Cholesky factor of the equations of some rows for one μ.
type factor struct {
	y     *system // of the rows
	tiles [][]float64
	mu    float64
}

// solveIn solves for the rows in total, whose tiles become the factor. If the matrix is not positive definite to
// working precision, the factor is nil, and pivot is the index of the failure.
func (p *solve) solveIn(y *system, total *Sum, lambda float64) (f *factor, pivot int) {
	y.setSums(total, nil)
	mu := p.mu(y, lambda)
	pivot, ok := y.solve(total.tiles, mu, total, nil)
	if !ok {
		return nil, pivot
	}
	return &factor{y, total.tiles, mu}, pivot
}

// fit fits weights exactly to the rows in total, which it overwrites, and stores them in fit.
func (p *solve) fit(fit *Solution, y *system, total *Sum) (*factor, error) {
	f, pivot := p.solveIn(y, total, fit.Lambda)
	if f == nil {
		return nil, fmt.Errorf("ridge: %s at lambda %g; raise lambda", notDefinite(pivot, p.Shape.Dim), fit.Lambda)
	}
	return f, p.weights(fit, y)
}

// sumRest sets a sum to the rows that a fit without fold 0 has.
func (p *solve) sumRest(to *Sum) error {
	to.Clear()
	return p.add(to, func(f int) bool { return f > 1 || f == 1 && !p.Gap })
}

// fitHeldOut fits weights to the rows outside fold 0, in the memory of total.
func (p *solve) fitHeldOut(lambda float64, y *system, total *Sum) (*Solution, error) {
	all := total.Rows()
	if err := p.sumRest(total); err != nil {
		return nil, err
	}
	fit := &Solution{Lambda: lambda, Rows: total.Rows()}
	if fit.Rows == 0 {
		return nil, fmt.Errorf("ridge: all %d rows are in fold 0, which is held out, and none remains to train on; use more rows", all)
	}
	if _, err := p.fit(fit, y, total); err != nil {
		return nil, fmt.Errorf("%w (for the rows without fold 0)", err)
	}
	if p.Shape.Regression {
		return fit, nil
	}
	total.Clear()
	if err := p.add(total, func(f int) bool { return f == 0 }); err != nil {
		return nil, err
	}
	fit.FirstRows, fit.Discriminants = total.Rows(), y.discriminants(total, p.Threads)
	return fit, nil
}

func (o *Options) validate() error {
	if len(o.Lambda) == 0 {
		return errors.New("ridge: no lambda given")
	}
	for _, l := range slices.Concat(o.Lambda, o.Smaller) {
		if !(l >= 0) || math.IsInf(l, 0) {
			return fmt.Errorf("ridge: lambda %g: want a finite number ≥ 0", l)
		}
	}
	if len(o.Lambda) > 1 && (o.Folds < 2 || o.Judge == JudgeNone) {
		return fmt.Errorf("ridge: choosing among %d values of lambda needs folds; use 2 or more folds, or one lambda",
			len(o.Lambda))
	}
	if o.Rows != nil && (o.Folds < 2 || len(o.Rows.Folds) != o.Folds) {
		return fmt.Errorf("ridge: rows of %d folds, want %d, two or more", len(o.Rows.Folds), o.Folds)
	}
	if o.Judge == JudgeFirst && o.Folds < 2 {
		return fmt.Errorf("ridge: holding out the first of %d folds needs two or more folds", o.Folds)
	}
	if o.HeldOut && o.Folds < 2 {
		return fmt.Errorf("ridge: held out: %d folds; need two or more", o.Folds)
	}
	if !(o.Step > 0) || math.IsInf(o.Step, 0) {
		return fmt.Errorf("ridge: feature step %g: want a finite number > 0", o.Step)
	}
	if len(o.Ranges.Centre) != len(o.Ranges.Half) ||
		slices.ContainsFunc(o.Ranges.Half, func(h float64) bool { return !(h > 0) || math.IsInf(h, 0) }) {
		return errors.New("ridge: ranges: want a centre and a finite half > 0 for each feature")
	}
	if err := o.Weights.Validate(); err != nil {
		return err
	}
	return o.Grid.Validate()
}

// mu returns what λ adds to the diagonal of the system, in units of the grids. λ multiplies the penalty of
// the loss Σ wcℓ/Σ w, where w are weights of rows and c weights of classes.
func (p *solve) mu(y *system, lambda float64) float64 {
	return y.mass * lambda / (p.Step * p.Step)
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

func notDefinite(pivot, dim int) string {
	return fmt.Sprintf("not positive definite (pivot %d of %d)", pivot+1, dim)
}
