package ridge

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/linear"
)

// AutoLambda returns the values of λ that are tried where none is given: the
// decades from 1e-8 to 1e-1, for features of norm about 1. Below them a grid of 8 bits
// takes over, see Floor.
func AutoLambda() []float64 {
	return []float64{1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1}
}

// SmallerLambda returns the values that follow those of AutoLambda, one after the other as
// long as each does better than the one before, on a grid of 16 bits.
func SmallerLambda() []float64 { return []float64{1e-9, 1e-10, 1e-11, 1e-12} }

// Floor returns the λ that the rounding of features to a grid of that step acts like:
// the errors of rounding have variance Step²/12, and are independent of one another,
// nearly, so that they add as much to the diagonal of the Gram matrix for each row.
// For Fourier features on 8 bits it is 1e-5/D.
func Floor(step float64) float64 { return step * step / 12 }

// Options says what Solve is to fit.
type Options struct {
	// Lambda holds the values of λ to choose from, each finite and ≥ 0; it
	// multiplies on the mean loss. At least one; several need Folds ≥ 2.
	Lambda []float64

	// Smaller has further values, each below the one before and all below Lambda. If
	// the least of Lambda has the least held-out error, they are tried in this order until
	// one does no better.
	Smaller []float64

	// Folds is the number of sums that Load gives, each row being in one of
	// them. Cross-validation leaves out one after the other. With Folds ≤ 1
	// there is one sum and no validation.
	Folds int

	// Load returns the sum of a fold, 0 ≤ fold < max(Folds, 1). A fold is loaded
	// several times if Folds ≥ 2. Solve does not change a sum, and has no more
	// use for it when it calls Load again, which may therefore fill the same Sum.
	Load func(fold int) (*Sum, error)

	// Held has Solve fit to all rows but those of fold 0 too, with the chosen λ; it
	// needs Folds ≥ 2. Given says that the folds are there for that alone: Lambda
	// holds one value, and there is no validation.
	HeldOut, Given bool

	// Trials has Solve return what was fitted without fold 0 for each λ that was tried.
	Trials bool

	// First has fold 0 alone left out and scored, where rows of the other folds have
	// been seen by what came before, such as a search for features. It needs Folds ≥ 2.
	First bool

	Step float64 // a feature is Step·number; > 0
	// Ranges, where features have grids of their own: feature j is Centre_j +
	// Half_j·Step·number. The zero value says that they have not.
	Ranges Ranges

	Grid    *linear.TargetGrid // the grid of the targets; nil for classes
	Classes []string           // names of the classes, for errors; may be nil
	Threads int                // goroutines to compute with; < 1 means 1. The result does not depend on it

	// Progress is told of every system solved, in a line for people; may be nil.
	Progress func(string)
}

// Ranges are the grids of features that have one each. Both slices are as long as
// the features, or nil; halves are > 0.
type Ranges struct{ Centre, Half []float64 }

// Solution is a fitted linear model of k outputs on D features, which for a row of
// features φ gives scores W_c·φ + b_c. Scores of classes are near 1 for the
// row's class and near -1 for the others; targets are Grid.Mid() +
// Grid.Half()·score, so that float32 is enough for targets far from zero.
type Solution struct {
	Weights   []float32 // k×D, row-major
	Intercept []float32 // length k
	Lambda    float64   // the λ of the weights
	Table     []Row     // one for every λ, in the order of Options; nil without folds
	Rows      int64     // that the weights were fitted to

	HeldOut *Solution // what was fitted without fold 0, of which Table is nil; nil unless asked for
	// Trials are the like for each row of Table, to within what a descent leaves over; nil
	// for a λ that failed, for all if fold 0 has no rows, and unless asked for.
	Trials []*Solution
}

// Row is what cross-validation found out about one λ. Errors are squares in the
// units of the targets, summed over outputs (for classes, over the ±1 codes).
type Row struct {
	Lambda float64 `json:"lambda"`
	MSE    float64 `json:"mse"`          // mean over the rows of the folds, each predicted without its fold
	StdErr float64 `json:"std_err"`      // of the folds' mean squared errors about their mean
	Train  float64 `json:"train_mse"`    // mean over the rows that the weights were fitted to
	R2     float64 `json:"r2,omitempty"` // of targets: 1 − MSE/variance of all rows; below 0 where their mean is nearer

	// Rounding is about what the rounding of features to their grid adds to MSE: a step
	// off by e, of variance 1/12, moves a score by its weight times e. Predictions are of
	// features that are not rounded.
	Rounding float64 `json:"rounding,omitempty"`

	// FoldMSE is the part of MSE that is of the rows of fold 0 alone; 0 if it has none.
	FoldMSE float64 `json:"fold_mse,omitempty"`

	// HeldOutRows is the number of the rows of fold 0 that were scored as a prediction
	// scores rows, by features that are not rounded and weights that were fitted without
	// them; 0 if none were. HeldOutErrors of them got another class than their own, and
	// HeldOutMSE is their mean squared error, where FoldMSE is that of rounded features.
	// Solve leaves all three 0.
	HeldOutRows   int64   `json:"held_rows,omitempty"`
	HeldOutErrors int64   `json:"held_errors,omitempty"`
	HeldOutMSE    float64 `json:"held_mse,omitempty"`

	// Folds is the number of folds that the errors are of, which are all that have rows.
	Folds int `json:"folds"`

	// Failed is the reason why there are no errors for this λ, which are then 0.
	Failed string `json:"failed,omitempty"`
}

// Memory returns the bytes that Solve holds at most, apart from what is fixed
// and small: the sum of all rows, with folds ≥ 2 one fold's sum beside it,
// one square of D×D float64, and a few times the D×k weights; where folds are
// solved by descent, five factors in float32 too, which takes more rows than twice the
// features; rows may be 0 where it is not known. For 10,000 features and 10 classes
// that is 0.42 + 0.42 + 0.80 + 1.03 GB and a little.
func Memory(shape Shape, rows int64, folds, threads int) int64 {
	d, k := int64(shape.Dim), int64(shape.Outputs)
	side := min(d, blas.TileDim)
	bytes := shape.Bytes() + 8*d*d + 2*8*d*k + 4*d*k
	if folds > 1 {
		fold, forms := shape.Bytes(), k
		if descends(shape) && (rows == 0 || rows >= descentRows*d) {
			// A square in float32, in which the factors are made, is gone by then.
			fold = max(fold, 4*d*d) + maxFactors*(blas.TriangleBytes(shape.Dim)+7*8*d*k)
			forms *= maxFactors
		}
		bytes += fold + 8*d*k + 8*(side+(side+1)*forms)*int64(max(threads, 1))
	}
	return bytes
}

// MaxTrialBytes is up to how large Solution.Trials should be asked for.
const MaxTrialBytes = 256 << 20

// TrialBytes returns the bytes of the weights of Solution.Trials for so many values of λ.
func TrialBytes(shape Shape, lambdas int) int64 {
	return 4 * int64(lambdas) * int64(shape.Outputs) * int64(shape.Dim+1)
}

// Solve chooses λ by cross-validation and fits the weights to all rows. The λ
// with the least held-out error is taken, the larger of two that are equal; the
// weights for it are the same, bit for bit, with or without folds.
//
// It is an error if there are no rows, if all rows are of one class, if fewer
// than two folds have rows, or if the matrix to be solved is not positive
// definite to working precision, which can be for small λ only.
func Solve(opts Options) (*Solution, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	p := &path{Options: opts}
	total, err := p.loadTotal()
	if err != nil {
		return nil, err
	}
	if err := p.checkRows(total); err != nil {
		return nil, err
	}
	fit := &Solution{Lambda: opts.Lambda[0], Rows: total.Rows()}
	y := newSystem(total.shape, opts.Threads)
	y.measure(opts.Ranges)
	if opts.Grid != nil {
		p.variance = centredSquares(total, nil, 0) / total.head[0]
	}
	if opts.Folds > 1 && !opts.Given {
		p.descend = descends(total.shape) && total.Rows() >= descentRows*int64(total.shape.Dim)
		if fit.Table, fit.Trials, err = p.validateFolds(y, total); err != nil {
			return nil, err
		}
		if fit.Lambda, err = choose(fit.Table); err != nil {
			return nil, err
		}
		if err := p.descendFurther(fit, y, total); err != nil {
			return nil, err
		}
		if !opts.Trials {
			fit.Trials = nil
		}
	}
	if err := p.fit(fit, y, total, nil); err != nil {
		return nil, err
	}
	p.report("ridge: all %d rows: lambda %g", fit.Rows, fit.Lambda)
	if opts.HeldOut {
		fit.HeldOut = &Solution{Lambda: fit.Lambda}
		if err := p.fitHeldOut(fit.HeldOut, y, total); err != nil {
			return nil, err
		}
	}
	return fit, nil
}

// descendFurther tries the values of Smaller as long as they do better.
func (p *path) descendFurther(fit *Solution, y *system, total *Sum) error {
	for _, lambda := range p.Smaller {
		if fit.Lambda > slices.Min(p.Lambda) {
			return nil
		}
		p.Lambda = []float64{lambda}
		rows, trials, err := p.validateFolds(y, total)
		if err != nil {
			return err
		}
		fit.Table, fit.Trials = append(rows, fit.Table...), append(trials, fit.Trials...)
		if fit.Lambda, err = choose(fit.Table); err != nil {
			return err
		}
	}
	return nil
}

// fit fits the weights of fit, exactly, to the rows that are in total and not in
// out, which may be nil.
func (p *path) fit(fit *Solution, y *system, total, out *Sum) error {
	y.centre(total, out)
	if pivot, ok := y.solve(p.mu(y, fit.Lambda), total, out); !ok {
		return fmt.Errorf("ridge: %s at lambda %g; raise lambda", notDefinite(pivot, total.shape.Dim), fit.Lambda)
	}
	return p.weights(fit, y)
}

// fitHeld fits to the rows that are not in fold 0.
func (p *path) fitHeldOut(fit *Solution, y *system, total *Sum) error {
	fold, err := p.load(0)
	if err != nil {
		return err
	}
	if fit.Rows = total.Rows() - fold.Rows(); fit.Rows == 0 {
		return fmt.Errorf("ridge: all %d rows are in fold 0, which is held out: none are left to fit to; give more rows", fold.Rows())
	}
	if err := p.fit(fit, y, total, fold); err != nil {
		return fmt.Errorf("%w (of the rows without fold 0)", err)
	}
	p.report("ridge: %d rows without fold 0: lambda %g", fit.Rows, fit.Lambda)
	return nil
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
	if len(o.Lambda) > 1 && o.Folds < 2 {
		return fmt.Errorf("ridge: %d values of lambda to choose from and no folds to choose by; give folds ≥ 2 or one lambda", len(o.Lambda))
	}
	if o.First && (o.Folds < 2 || o.Given) {
		return fmt.Errorf("ridge: the first of %d folds is to judge; that takes two folds or more, and a validation", o.Folds)
	}
	if o.HeldOut && o.Folds < 2 || o.Given && len(o.Lambda) > 1 {
		return fmt.Errorf("ridge: held out: %d folds and %d values of lambda; holding one fold out takes two, and one value can be given", o.Folds, len(o.Lambda))
	}
	if !(o.Step > 0) || math.IsInf(o.Step, 0) {
		return fmt.Errorf("ridge: feature step %g: want a finite number > 0", o.Step)
	}
	if len(o.Ranges.Centre) != len(o.Ranges.Half) || slices.ContainsFunc(o.Ranges.Half, func(h float64) bool { return !(h > 0) || math.IsInf(h, 0) }) {
		return errors.New("ridge: ranges of features: want a centre and a finite half > 0 for each")
	}
	if o.Grid != nil {
		return o.Grid.Validate()
	}
	return nil
}
