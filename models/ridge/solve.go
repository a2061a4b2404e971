package ridge

import (
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/blas"
)

// AutoLambda returns the values of λ that are tried where none is given: the
// decades from 1e-8 to 1e-1, for features of norm about 1. Below them the grid
// of 8 bits takes over: its rounding acts like a λ of about 1e-5/D.
func AutoLambda() []float64 {
	return []float64{1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1}
}

// Options says what Solve is to fit.
type Options struct {
	// Lambda holds the values of λ to choose from, each finite and ≥ 0; it
	// multiplies on the mean loss. At least one; several need Folds ≥ 2.
	Lambda []float64

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
	Held, Given bool

	Step    float64     // a feature is Step·byte; > 0
	Grid    *TargetGrid // the grid of the targets; nil for classes
	Classes []string    // names of the classes, for errors; may be nil
	Threads int         // goroutines to compute with; < 1 means 1. The result does not depend on it

	// Progress is told of every system solved, in a line for people; may be nil.
	Progress func(string)
}

// Fit is a fitted linear model of k outputs on D features, which for a row of
// features φ gives scores W_c·φ + b_c. Scores of classes are near 1 for the
// row's class and near -1 for the others; targets are Grid.Mid() +
// Grid.Half()·score, so that float32 is enough for targets far from zero.
type Fit struct {
	Weights   []float32 // k×D, row-major
	Intercept []float32 // length k
	Lambda    float64   // the λ of the weights
	Table     []Row     // one for every λ, in the order of Options; nil without folds
	Rows      int64     // that the weights were fitted to

	Held *Fit // what was fitted without fold 0, of which Table is nil; nil unless asked for
}

// Row is what cross-validation found out about one λ. Errors are squares in the
// units of the targets, summed over outputs (for classes, over the ±1 codes).
type Row struct {
	Lambda float64 `json:"lambda"`
	MSE    float64 `json:"mse"`       // mean over the rows of the folds, each predicted without its fold
	StdErr float64 `json:"std_err"`   // of the folds' mean squared errors about their mean
	Train  float64 `json:"train_mse"` // mean over the rows that the weights were fitted to

	// Folds is the number of folds that the errors are of, which are all that have rows.
	Folds int `json:"folds"`

	// Failed is the reason why there are no errors for this λ, which are then 0.
	Failed string `json:"failed,omitempty"`
}

// Memory returns the bytes that Solve holds at most, apart from what is fixed
// and small: the sum of all rows, with folds ≥ 2 one fold's sum beside it,
// one square of D×D float64, and a few times the D×k weights; where folds are
// solved by descent, five factors in float32 too. For 10,000 features and 10
// classes that is 0.42 + 0.42 + 0.80 + 1.03 GB and a little.
func Memory(shape Shape, folds, threads int) int64 {
	d, k := int64(shape.Dim), int64(shape.Outputs)
	side := min(d, blas.TileDim)
	bytes := shape.Bytes() + 8*d*d + 2*8*d*k + 4*d*k
	if folds > 1 {
		fold, forms := shape.Bytes(), k
		if descends(shape) {
			// A square in float32, in which the factors are made, is gone by then.
			fold = max(fold, 4*d*d) + maxFactors*(blas.TriangleBytes(shape.Dim)+7*8*d*k)
			forms *= maxFactors
		}
		bytes += fold + 8*d*k + 8*(side+(side+1)*forms)*int64(max(threads, 1))
	}
	return bytes
}

// Solve chooses λ by cross-validation and fits the weights to all rows. The λ
// with the least held-out error is taken, the larger of two that are equal; the
// weights for it are the same, bit for bit, with or without folds.
//
// It is an error if there are no rows, if all rows are of one class, if fewer
// than two folds have rows, or if the matrix to be solved is not positive
// definite to working precision, which can be for small λ only.
func Solve(opts Options) (*Fit, error) {
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
	fit := &Fit{Lambda: opts.Lambda[0], Rows: total.Rows()}
	y := newSystem(total.shape, opts.Threads)
	if opts.Folds > 1 && !opts.Given {
		p.descend = descends(total.shape) && total.Rows() >= descentRows*int64(total.shape.Dim)
		if fit.Table, err = p.validateFolds(y, total); err != nil {
			return nil, err
		}
		if fit.Lambda, err = choose(fit.Table); err != nil {
			return nil, err
		}
	}
	if err := p.fit(fit, y, total, nil); err != nil {
		return nil, err
	}
	p.report("ridge: all %d rows: lambda %g", fit.Rows, fit.Lambda)
	if opts.Held {
		fit.Held = &Fit{Lambda: fit.Lambda}
		if err := p.fitHeld(fit.Held, y, total); err != nil {
			return nil, err
		}
	}
	return fit, nil
}

// fit fits the weights of fit, exactly, to the rows that are in total and not in
// out, which may be nil.
func (p *path) fit(fit *Fit, y *system, total, out *Sum) error {
	y.centre(total, out)
	if pivot, ok := y.solve(p.mu(y, fit.Lambda), total, out); !ok {
		return fmt.Errorf("ridge: %s at lambda %g; raise lambda", notDefinite(pivot, total.shape.Dim), fit.Lambda)
	}
	return p.weights(fit, y)
}

// fitHeld fits to the rows that are not in fold 0.
func (p *path) fitHeld(fit *Fit, y *system, total *Sum) error {
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
	for _, l := range o.Lambda {
		if !(l >= 0) || math.IsInf(l, 0) {
			return fmt.Errorf("ridge: lambda %g: want a finite number ≥ 0", l)
		}
	}
	if len(o.Lambda) > 1 && o.Folds < 2 {
		return fmt.Errorf("ridge: %d values of lambda to choose from and no folds to choose by; give folds ≥ 2 or one lambda", len(o.Lambda))
	}
	if o.Held && o.Folds < 2 || o.Given && len(o.Lambda) > 1 {
		return fmt.Errorf("ridge: held out: %d folds and %d values of lambda; holding one fold out takes two, and one value can be given", o.Folds, len(o.Lambda))
	}
	if !(o.Step > 0) || math.IsInf(o.Step, 0) {
		return fmt.Errorf("ridge: feature step %g: want a finite number > 0", o.Step)
	}
	if o.Grid != nil {
		return o.Grid.Validate()
	}
	return nil
}
