package ridge

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// AutoLambda returns the values of λ to try if none is given: the decades from 1e-8 to 1e-1, for features
// of norm about 1. Below them the rounding to 8 bits dominates; see LambdaFloor.
func AutoLambda() []float64 { return []float64{1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1} }

// SmallerLambda returns the values that follow AutoLambda on a grid of 16 bits,
// tried in order as long as each does better than the one before.
func SmallerLambda() []float64 { return []float64{1e-9, 1e-10, 1e-11, 1e-12} }

// SmallerLambdaOn returns the values to try below AutoLambda, given the steps of the grid: on 8 bits only the next
// one, if rows may be summed again on a finer grid, so that TooCoarse sees whether this would help.
func SmallerLambdaOn(steps int, mayRefine bool) []float64 {
	switch {
	case steps > features.ByteSteps:
		return SmallerLambda()
	case mayRefine:
		return SmallerLambda()[:1]
	}
	return nil
}

// LambdaFloor returns the λ that is equivalent to rounding features to a grid of that step: rounding errors have
// variance step²/12 and are nearly independent, so each row adds that much to the diagonal of the Gram
// matrix. For Fourier features on 8 bits it is 1e-5/D.
func LambdaFloor(step float64) float64 { return step * step / 12 }

// Options are the options of Solve.
type Options struct {
	Search LambdaSearch
	Return Request
	From   Source
	Plan   FoldPlan
	Units  Units
	// Gap leaves out a gap in time: fold 1 is not fitted to while fold 0 is held out; see SolveChain.
	Gap     bool
	Threads int // number of goroutines; < 1 means 1. The result does not depend on it

	rereadAbove, subsetFrom int // unless 0, instead of solver.RereadAbove and solver.SubsetFrom; for tests
}

// LambdaSearch chooses the values of λ that are tried.
type LambdaSearch struct {
	// Lambda holds the values of λ to choose from, each finite and ≥ 0. λ applies to the mean loss. At
	// least one value is needed; several need Folds ≥ 2.
	Lambda []float64 `json:"lambda,omitempty"`
	// Smaller has further values in descending order, all below Lambda. If the least value of Lambda has
	// the least held-out error, these are tried in order until one does no better.
	Smaller []float64 `json:"smaller,omitempty"`
	// TryAll makes Solve try all values of Lambda on all folds. Otherwise, with many features and more than
	// three values, it skips values that are unlikely to be the best.
	TryAll bool `json:"try_all,omitempty"`
	// StartLambda is the λ to try first with many features. 0 starts from the best value on a subset of
	// the features, which suits random features, as all subsets are similar.
	StartLambda float64 `json:"start,omitempty"`
}

// Request chooses what Solve returns besides λ and weights.
type Request struct {
	// CoarseBelow is the λ at and below which the grid may be too coarse, see TooCoarse. If the first fold leads to
	// such a λ, Solve returns a Coarse solution, and the caller sums again on a finer grid. With 0 it always fits.
	CoarseBelow float64
	// Trials makes Solve return the fit without fold 0 for each λ that was tried.
	Trials bool
	// ChoiceOnly makes Solve return after the choice of λ, without weights.
	ChoiceOnly bool
	// Sketch makes Solve return Solution.Sketch, with random signs drawn by Seed. FirstSketch makes it
	// return Solution.FirstSketch too, for targets with Trials.
	Sketch, FirstSketch bool
	Seed                uint64
}

// Source provides the sums of the rows. Exactly one of Add, with its Shape, Sums and Rows is set.
type Source struct {
	// Add adds the sum of a fold to another Sum of that Shape, 0 ≤ fold < max(Folds, 1). It is called several times
	// for a fold if Folds ≥ 2. Sums that are read from storage need no memory besides what Solve takes; see Memory.
	Add   func(to *Sum, fold int) error
	Shape Shape // for Add
	// Sums are the sums of the folds, in memory. Solve changes them only if there is one.
	Sums []*Sum
	// Rows holds the rows of Folds ≥ 2 folds. λ and weights are the same as from their sums.
	Rows *FoldRows
}

// Units are the units of the numbers in the sums.
type Units struct {
	Step float64 // a feature is Step times its number on the grid; > 0
	// Ranges are set if each feature has its own grid: feature j is Centre_j + Half_j·Step·number.
	Ranges Ranges
	// Weights is the grid of the weights of rows; nil if they have none.
	Weights *profile.WeightGrid
	Grid    linear.Grids // the grids of the targets; nil for classes
	Classes []string     // names of the classes, for errors; may be nil
}

// Ranges are the grids of features that have their own. Both slices are as long as the features, or nil.
type Ranges struct{ Centre, Half []float64 }

// Solution is a fitted linear model of k outputs on D features. For features φ it gives the scores W_c·φ +
// b_c. Scores of classes are near 1 for the row's class and near −1 for the others. A target is Mid() +
// Half()·score of its grid, so float32 is precise enough for targets far from zero.
type Solution struct {
	// Coarse is true if the grid is too coarse for Lambda, so that nothing was fitted; see CoarseBelow.
	Coarse    bool
	Weights   []float32 // k×D, row-major; nil if Coarse, and with ChoiceOnly
	Intercept []float32 // length k
	Lambda    float64   // the λ of the weights
	// Table holds a row for every λ that was tried with all features, in the order of Options; nil without
	// folds. A λ that is much worse than the best was tried on fewer folds.
	Table []CVResult
	Rows  int64 // number of rows that the weights were fitted to
	// FoldErrors are the mean squared errors of the folds for each row of Table, in the same unit.
	FoldErrors [][]float64
	// Variances of each of several targets over all rows, and over the rows of fold 0, if these were predicted.
	Variance, FoldVariance []float64

	// Sketch is for the rows that the weights were fitted to, FirstSketch for the rows without fold 0 and
	// the same λ. Both are nil unless requested, or if numbers do not fit in float32. FirstSketch is also
	// nil if leverages are so small that Sketch serves for the rows of fold 0 as well.
	Sketch, FirstSketch *Sketch
	FirstFits
}

// FirstFits are fits without fold 0, which judges them.
type FirstFits struct {
	WithoutFirst *Solution // the fit without fold 0, which has no Table; nil unless requested
	// Trials are fits without fold 0 for each row of Solution.Table, within the tolerance of the descent. An entry
	// is nil if its λ failed. Trials is nil if fold 0 has no rows, and unless requested.
	Trials []*Solution
	// FirstRows is the number of rows of fold 0. It is set with Trials, and in WithoutFirst of classes.
	FirstRows int64
	// Discriminants of the classes, for the scores of the rows of fold 0; set only in WithoutFirst.
	Discriminants []Discriminant
}

// CVResult is the result of cross-validation for one λ. Errors are squares in the units of the target; for classes
// they are summed over the ±1 codes. Errors of several targets are divided by the variance of each target over all
// rows and averaged, so 1 − MSE is the mean R². Means are weighted where rows or classes have weights.
type CVResult struct {
	Lambda float64 `json:"lambda"`
	MSE    float64 `json:"mse"`       // mean over the rows of the folds, each predicted by a fit without its fold
	StdErr float64 `json:"std_err"`   // of MSE, from the errors of the folds; by Nadeau and Bengio (2003)
	Train  float64 `json:"train_mse"` // mean over the rows that the weights were fitted to
	// R2 is 1 − MSE divided by the variance of a target over the rows of the folds; 1 − MSE for several
	// targets. It is below 0 if the mean predicts better.
	R2 float64 `json:"r2,omitempty"`
	// Rounding estimates how much of MSE comes from rounding features to their grid: an error of e steps,
	// of variance 1/12, moves a score by its weight times e. Predictions use features that are not rounded.
	Rounding float64 `json:"rounding"`
	// FoldMSE is the part of MSE that comes from the rows of fold 0; 0 if it has none.
	FoldMSE float64 `json:"fold_mse"`
	HeldOutResult
	// Folds is the number of folds with rows over which the errors were computed.
	Folds int `json:"folds"`
	// Failed is the reason why this λ has no errors, which are then 0.
	Failed string `json:"failed,omitempty"`
}

// HeldOutResult holds the errors of a λ on the rows of fold 0, scored as in prediction: with features that are
// not rounded. Solve leaves it zero.
type HeldOutResult struct {
	// HeldOutRows is the number of rows of fold 0 that were scored with weights fitted without them; 0 if none were.
	// HeldOutErrors is how many of them got a wrong class: by the largest score, or by probabilities that were fitted
	// to the other half of them. HeldOutMSE is their mean squared error; FoldMSE is the error with rounded features.
	HeldOutRows   int64   `json:"held_rows"`
	HeldOutErrors int64   `json:"held_errors"`
	HeldOutMSE    float64 `json:"held_mse"`
	// HeldOutStdErr is the standard error of HeldOutMSE; 0 if it is not known.
	HeldOutStdErr float64 `json:"held_std_err,omitempty"`
	// HeldOutLogLoss is the log loss of those rows: of the probabilities if held-out rows judge them, otherwise by
	// score.LogLosses; 0 if it is not known.
	HeldOutLogLoss float64 `json:"held_log_loss,omitempty"`
	// HeldOutError is the weighted share of HeldOutErrors, if rows have weights. HeldOutMSE is weighted then.
	HeldOutError float64 `json:"held_error,omitempty"`
	// HeldOutEffective is the number of independent rows that would give an error rate of the same
	// precision, if rows belong to groups or repeat; 0 otherwise.
	HeldOutEffective float64 `json:"held_effective,omitempty"`
}

// SolveSeconds estimates the seconds that Solve takes on a thread of a machine of 2024 to choose among a number
// of values of λ. It serves to compare sizes, one of which was measured. The number of steps of a search
// depends on the data; the most common one is assumed. With FirstFold, a fifth of the rows is held out.
func SolveSeconds(shape Shape, p FoldPlan, rows int64, values int) float64 {
	return solver.Work(solverShape(shape), solverPlan(p), rows, values)
}

// solverPlan returns the plan for package solver.
func solverPlan(p FoldPlan) solver.Plan {
	return solver.Plan{Folds: p.Folds, FirstOnly: p.Validation == FirstFold}
}

// solverShape returns the shape for package solver.
func solverShape(s Shape) solver.Shape {
	return solver.Shape{Dim: s.Dim, Outputs: s.Outputs, Width: s.width(), Head: s.headLen()}
}

// Memory returns the most bytes that Solve uses, apart from small constants. That is the sum of all rows;
// with folds ≥ 2 also the matrix of one fold and its sum, as lower triangles; and a few times the D×k
// weights. If folds are solved by descent, it adds the factors in float32 and the sums over a subset of
// the features, or the stored rows. rows may be 0 if unknown. For 10,000 features and 10 classes the sum of
// all rows takes 0.42 GB, the matrix of a fold 0.49 GB, its sum 0.42 GB, and the factors 0.83 GB. Above
// solver.RereadAbove features only one sum, and the subset of the features of each fold, is in memory.
func Memory(shape Shape, p FoldPlan, rows int64, threads int) int64 {
	return solver.Memory(solverShape(shape), solverPlan(p), rows, threads) + sketchBytes(shape.Dim)
}

// MemoryOfRows is Memory for Source.Rows.
func MemoryOfRows(shape Shape, rows int64, folds, threads int) int64 {
	return solver.MemoryOfRows(solverShape(shape), rows, folds, threads) + sketchBytes(shape.Dim)
}

// MaxTrialBytes is the largest size for which Solution.Trials should be requested.
const MaxTrialBytes = 256 << 20

// TrialBytes returns the bytes of the weights of Solution.Trials for a number of values of λ.
func TrialBytes(shape Shape, lambdas int) int64 {
	return 4 * int64(lambdas) * int64(shape.Outputs) * int64(shape.Dim+1)
}

// Solve chooses λ by cross-validation and fits the weights to all rows. It takes the λ with the least held-out error,
// the larger of two equal ones. The weights for a λ are the same, bit for bit, with or without folds.
//
// It fails if there are no rows, if all rows are of one class, if fewer than two folds have rows,
// or if the matrix is not positive definite to working precision, which happens only for small λ. See NoSolutionError.
func Solve(opts Options) (*Solution, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	if opts.From.Rows != nil {
		opts.From.Shape = opts.From.Rows.Shape
	} else if opts.From.Sums != nil {
		opts.From.Shape = opts.From.Sums[0].shape
	}
	p := &problem{Options: opts}
	folds, err := p.loadFolds()
	if err != nil {
		return nil, err
	}
	total := folds.total
	if err := p.checkRows(total); err != nil {
		return nil, err
	}
	eq := newSystem(p.From.Shape, p.Units, errorFactors(total), p.Threads)
	fit := &Solution{Lambda: opts.Search.Lambda[0], Rows: total.Rows(), Variance: p.variances(total)}
	if opts.Plan.HoldsOut() {
		if err := p.chooseLambda(fit, eq, folds); err != nil {
			return nil, err
		}
	}
	if fit.Coarse || opts.Return.ChoiceOnly {
		return fit, nil
	}
	total = folds.total // the search may have completed it; an outline lacks tiles
	if p.rereads() || slices.ContainsFunc(total.tiles, func(t []float64) bool { return t == nil }) {
		if total, err = p.sumOf(everyFold); err != nil {
			return nil, err
		}
	}
	if err := p.fitAll(fit, eq, total); err != nil {
		return nil, err
	}
	return fit, nil
}

// chooseLambda sets the λ of fit and the results of cross-validation, or only λ and Coarse. It completes the
// total of folds if rows are stored but sums must be solved.
func (p *problem) chooseLambda(fit *Solution, eq *system, folds *foldSums) error {
	s, err := p.newSearch(eq, folds)
	if err != nil {
		return err
	}
	if err := s.completeTotal(); err != nil {
		return err
	}
	var best int
	if best, fit.Coarse, err = s.run(); err != nil {
		return err
	}
	fit.Lambda = s.values[best]
	if fit.Coarse {
		return nil
	}
	var trials []*Solution
	fit.Table, fit.FoldErrors, trials = s.table()
	if p.Return.Trials {
		fit.Trials = trials
	}
	if i := slices.IndexFunc(fit.Trials, func(t *Solution) bool { return t != nil }); i >= 0 {
		fit.FirstRows = fit.Rows - fit.Trials[i].Rows
	}
	for c, m := range s.first {
		step := p.Units.Grid[c].Step()
		fit.FoldVariance = append(fit.FoldVariance, float64(step*step)*(m.squares()/float64(m.n)))
	}
	return nil
}

// variances returns the variance of each of several targets.
func (p *problem) variances(total *Sum) (variances []float64) {
	if len(p.Units.Grid) < 2 {
		return nil
	}
	for c, g := range p.Units.Grid {
		variances = append(variances, float64(g.Step()*g.Step())*(centredSquares(total, nil, c)/total.head.Weight()))
	}
	return variances
}

func (o *Options) validate() error {
	if len(o.Search.Lambda) == 0 {
		return errors.New("ridge: no lambda given")
	}
	for _, l := range slices.Concat(o.Search.Lambda, o.Search.Smaller) {
		if !(l >= 0) || math.IsInf(l, 0) {
			return fmt.Errorf("ridge: lambda %g: want a finite number ≥ 0", l)
		}
	}
	if len(o.Search.Lambda) > 1 && (o.Plan.Folds < 2 || o.Plan.Validation == NoFold) {
		return fmt.Errorf("ridge: choosing among %d values of lambda needs folds; use 2 or more folds, or one lambda",
			len(o.Search.Lambda))
	}
	if o.From.Rows != nil && (o.Plan.Folds < 2 || len(o.From.Rows.Folds) != o.Plan.Folds) {
		return fmt.Errorf("ridge: Rows has %d folds and FoldPlan %d; they must be equal and at least 2",
			len(o.From.Rows.Folds), o.Plan.Folds)
	}
	if o.From.Sums != nil && len(o.From.Sums) != max(o.Plan.Folds, 1) {
		return fmt.Errorf("ridge: %d sums, want one for each of %d folds", len(o.From.Sums), max(o.Plan.Folds, 1))
	}
	for f, s := range o.From.Sums {
		if s.shape != o.From.Sums[0].shape {
			return fmt.Errorf("ridge: fold %d: sums have shape %+v, fold 0 has %+v", f, s.shape, o.From.Sums[0].shape)
		}
	}
	if o.Plan.Validation == FirstFold && o.Plan.Folds < 2 {
		return fmt.Errorf("ridge: holding out the first of %d folds needs two or more folds", o.Plan.Folds)
	}
	if o.Plan.FitWithoutFirst && o.Plan.Folds < 2 {
		return fmt.Errorf("ridge: FitWithoutFirst needs two or more folds (have %d)", o.Plan.Folds)
	}
	if !(o.Units.Step > 0) || math.IsInf(o.Units.Step, 0) {
		return fmt.Errorf("ridge: feature step %g: want a finite number > 0", o.Units.Step)
	}
	if len(o.Units.Ranges.Centre) != len(o.Units.Ranges.Half) ||
		slices.ContainsFunc(o.Units.Ranges.Half, func(h float64) bool { return !(h > 0) || math.IsInf(h, 0) }) {
		return errors.New("ridge: ranges: want a centre and a finite half > 0 for each feature")
	}
	if err := o.Units.Weights.Validate(); err != nil {
		return err
	}
	return o.Units.Grid.Validate()
}
