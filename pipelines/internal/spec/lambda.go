package spec

import (
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// LambdaOptions says which values of the regularisation λ to try, and how to choose among them.
type LambdaOptions struct {
	Path  []float64 `flag:"lambda,common" placeholder:"LIST" values:"auto" help:"Regularisation λ, relative to the mean loss: a number, several separated by commas, or auto. Of several, the one with the smallest held-out error is chosen. auto tries powers of ten: for ridge 1e-8 to 1e-1 (on a 16-bit grid down to 1e-12, while smaller ones do better), for cg 1e-7 to 1e-3, for sgd and svm 1e-6 to 1e-3. With sums, the recipe sets auto."`
	C     float64   `flag:"C" help:"Alternative to --lambda: C = 1/(λn), where n is the number of rows."`
	Folds int       `flag:"folds,common" help:"Folds of the cross-validation; 0 means 5 for several --lambda values, otherwise none. Iterative learners and --calibrate hold out the first fold."`
	// Select is the loss that chooses among several λ for classes: SelectMSE (or "") of scores on the rows of all
	// folds, or SelectError or SelectLogLoss of predictions for the rows of the first fold.
	Select string `flag:"select" values:"mse,error,log_loss" help:"Loss that chooses among several values of lambda for classes: mse (of scores against ±1 codes, on the rows of all folds), or error or log_loss (on the rows of the first fold). With --calibrate, error and log_loss score each half of these rows by probabilities fitted to the other half. Otherwise error takes the largest score, and log_loss the softmax of the scores times the best of 15 factors. The default is error for iterative learners, and mse for ridge. After a search for features on 1,500 rows or more, ridge chooses by log_loss among the values that were tried by mse, except with class weights or in retrain. Sums allow only mse, because the others need rows."`
}

// The values of LambdaOptions.Select.
const (
	SelectMSE     = "mse"
	SelectError   = "error"
	SelectLogLoss = "log_loss"
)

// Selections returns the values of LambdaOptions.Select.
func Selections() []string { return []string{SelectMSE, SelectError, SelectLogLoss} }

// DefaultFolds is the default number of folds.
const DefaultFolds = 5

// MaxFolds limits the number of folds, because a worker holds a sum for each.
const MaxFolds = 100

// Validate returns a usage error if options are invalid whatever the data.
func (l LambdaOptions) Validate() error {
	for _, v := range l.Path {
		if !(v >= 0) || math.IsInf(v, 0) {
			return exit.Usage("--lambda must be a number ≥ 0 (have %g)", v)
		}
	}
	switch {
	case l.Select != "" && !slices.Contains(Selections(), l.Select):
		return exit.Usage("--select must be %s (have %q)%s", strings.Join(Selections(), ", "), l.Select,
			option.DidYouMean(l.Select, Selections()))
	case l.Selects() && (l.C != 0 || len(l.Path) == 1):
		return exit.Usage("--select %s chooses among several values of --lambda; there is only one", l.Select)
	case l.C != 0 && len(l.Path) > 0:
		return exit.Usage("--C and --lambda are mutually exclusive (C = 1/(λn)): give one of them")
	case l.C < 0 || math.IsNaN(l.C) || math.IsInf(l.C, 0):
		return exit.Usage("--C must be above 0 (have %g)", l.C)
	case l.Folds < 0 || l.Folds > MaxFolds:
		return exit.Usage("--folds must be between 2 and %d (have %d)", MaxFolds, l.Folds)
	case l.Folds == 1 && l.C == 0 && len(l.Path) != 1:
		return exit.Usage("--folds 1: choosing among several λ needs at least 2")
	}
	return nil
}

// Selects reports whether the held-out rows of one fold choose λ.
func (l LambdaOptions) Selects() bool { return l.Select != "" && l.Select != SelectMSE }

// Auto reports whether neither λ nor C was given.
func (l LambdaOptions) Auto() bool { return l.C == 0 && len(l.Path) == 0 }

// Values returns the λ to try on n rows, and the number of folds: 1 if there is only one λ and no held-out
// error was requested.
func (l LambdaOptions) Values(n float64) (lambda []float64, folds int) {
	switch {
	case l.C != 0:
		lambda = []float64{1 / (l.C * n)}
	case len(l.Path) > 0:
		lambda = l.Path
	default:
		lambda = ridge.AutoLambda()
	}
	folds = l.Folds
	if folds == 0 {
		folds = DefaultFolds
		if len(lambda) == 1 {
			folds = 1
		}
	}
	return lambda, folds
}
