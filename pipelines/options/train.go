package options

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/score"
)

// Train holds the options of pipelines.Train.
type Train struct {
	Prepare

	// Directory of a model whose recipe is used for this data, or an alias such as DIR@champion:
	// features, scaling, folds and grid come from that model, and nothing is chosen from the rows. The
	// result is the same model as from sum and fit.
	//
	// Options that the recipe determines must then have their defaults.
	Recipe string `flag:"recipe" group:"Model and output" placeholder:"DIR"`

	// Directory to create; it must not exist.
	Model string `flag:"model,common" group:"Model and output" placeholder:"DIR"`
	Reporting

	// Learner holds the options of the learner, such as a *svm.LearnerOptions; nil is ridge.
	Learner  iterative.Options
	Lambda   Lambda `group:"Learner"`
	Decision `group:"Learner"`

	// Learned holds the options for learning the features of the kernels learned and harmonic. It is not used
	// if Kernel names a directory with them.
	Learned Game `group:"Learned features" omit:"Running"`

	// How to choose what flags do not set: auto (searches the view of the columns, kernel, width,
	// metric and extra features by held-out errors on a sample of the rows) or none (defaults).
	// --kernel keeps the kernel; --width and --gamma leave nothing to search. Up to 128 rows get 2,048
	// features, unless --features is given.
	//
	// "" is auto. If a search does not apply, a note says why, and the model is as with none.
	Search Search `flag:"search,common" group:"Features" default:"auto" values:"auto,none"`

	// Size holds the options for the choice of the number of features. The kernel's number is the largest.
	Size Size `group:"Features"`

	// Kernels are the kernels that the search chooses from; the first is Kernel. The default is Kernel if it is
	// set, and otherwise all families of a search.
	Kernels []kernel.Options

	// Accept, unless nil, is called after the profile. If it returns an error, the job ends before it fits the
	// model. The manifest has the task, the classes or the number of outputs, and Probabilities if the model will
	// have them. It is not called with Recipe.
	Accept func(*models.Manifest) error
}

// NewTrain returns the defaults of the command.
func NewTrain() Train {
	o := defaults[Train]()
	o.Learned.Keep = iterative.DefaultKeep
	return o
}

// Iterative returns the options of an iterative learner, nil for ridge.
func (o Train) Iterative() iterative.LearnerOptions {
	l, _ := o.Learner.(iterative.LearnerOptions)
	return l
}

// Search selects whether features are searched for.
type Search string

// Values of Train.Search.
const (
	SearchNone Search = "none"
	SearchAuto Search = "auto"
)

// Reporting holds the options for the parts of a model directory that are for people.
type Reporting struct {
	// Whether to write report.html, a report in one HTML file, into the model directory: auto (yes) or
	// none.
	Report Reports `flag:"report" group:"Model and output" default:"auto" values:"auto,none"` // "" is auto

	// Command is a command that makes the model, for its lineage; "" if there is none.
	Command string
}

// Reports selects whether a model directory gets a report.
type Reports string

// Values of Reporting.Report.
const (
	ReportsAuto Reports = "auto"
	ReportsNone Reports = "none"
)

// Decision chooses probabilities, the threshold between two classes, and intervals.
type Decision struct {
	// Probabilities from scores: platt (a sigmoid per class), isotonic (an increasing step function
	// per class), none, or auto. auto is isotonic if every class has 1,000 held-out rows, and
	// otherwise platt; it adds probabilities to classifiers that hold out rows anyway; they do, unless
	// --lambda is one number. The curves are fitted to scores of the first of --folds (default 5), by
	// a model not trained on it; the final model is trained on all rows. platt and isotonic hold out
	// rows if nothing else does, and replace the probabilities of --loss softmax and logistic. With
	// --recipe, platt works as in fit. With retrain and ridge, auto means none.
	Calibrate Calibration `flag:"calibrate,common" default:"auto" values:"auto,none,platt,isotonic"` // "" is auto

	// For two classes, the positive class: --threshold refers to it, and so do precision, recall, F1
	// and the areas under curves of evaluate. The default is the rarer class; of equally frequent
	// classes, the second in order.
	Positive string `flag:"positive"`

	// For two classes, predict the positive one at or above this threshold, not the class with the
	// larger score or probability. A number, as for predict; or error, f1 (of the positive class) or
	// balanced (accuracy), for the threshold with the best such score on the first fold, predicted by
	// a model not trained on it. The summary says what to expect on other rows.
	//
	// It is a number, as in models.Applier, or a score.Criterion; "" is none.
	Threshold string `flag:"threshold,common" group:"Model and output"`

	// Intervals of predict --interval, from held-out rows: scaled (wider for rows far from the
	// training rows, by the leverage of ridge), plain (equally wide; saves a solve), or none. none
	// also leaves out predict --novelty, which needs 256 bytes for each feature.
	Intervals Intervals `flag:"intervals" default:"scaled" values:"scaled,plain,none"` // "" is scaled
}

// Calibration is how scores become probabilities.
type Calibration = score.Method

// Values of Decision.Calibrate; CalibrationAuto gives probabilities if rows are held out anyway. Fits to sums
// allow CalibrationNone and CalibrationPlatt.
const (
	CalibrationAuto     Calibration = "auto"
	CalibrationNone     Calibration = "none"
	CalibrationPlatt    Calibration = score.Platt
	CalibrationIsotonic Calibration = score.Isotonic
)

// Intervals selects the prediction intervals that are measured.
type Intervals string

// Values of Decision.Intervals.
const (
	IntervalsScaled Intervals = "scaled"
	IntervalsPlain  Intervals = "plain"
	IntervalsNone   Intervals = "none"
)

// Lambda holds the values of the regularisation λ to try, and the options for the choice among them.
type Lambda struct {
	// Regularisation λ, relative to the mean loss: a number, several separated by commas, or auto. Of
	// several, the one with the smallest held-out error is chosen. auto tries powers of ten: for ridge
	// 1e-8 to 1e-1 (on a 16-bit grid down to 1e-12, while smaller ones do better), for cg 1e-7 to
	// 1e-3, for sgd and svm 1e-6 to 1e-3. With sums, the recipe sets auto.
	Path []float64 `flag:"lambda,common" placeholder:"LIST" values:"auto"`

	// Alternative to --lambda: C = 1/(λn), where n is the number of rows.
	C float64 `flag:"C"`

	// Folds of the cross-validation; 0 means 5 if lambda is chosen, and none with a single --lambda.
	// Iterative learners and --calibrate hold out the first fold.
	Folds int `flag:"folds,common"`

	// Loss that chooses among several values of lambda for classes: mse (of scores against ±1 codes,
	// on the rows of all folds, after a search usually of the first), or error or log_loss (on the
	// rows of the first fold). With --calibrate, error and log_loss score each half of these rows by
	// probabilities fitted to the other half. Otherwise error takes the largest score, and log_loss
	// the softmax of the scores times the best of 15 factors. The default is error for iterative
	// learners, and mse for ridge. After a search for features on 1,500 rows or more, ridge chooses by
	// log_loss among the values that were tried by mse, except with class weights or in retrain. Sums
	// allow only mse, because the others need rows.
	Select Select `flag:"select" values:"mse,error,log_loss"`
}

// Select is a loss that chooses λ.
type Select string

// Values of Lambda.Select.
const (
	SelectMSE     Select = "mse"
	SelectError   Select = "error"
	SelectLogLoss Select = "log_loss"
)

// Selects reports whether the held-out rows of one fold choose λ.
func (l Lambda) Selects() bool { return l.Select != "" && l.Select != SelectMSE }

// Auto reports whether neither λ nor C was given.
func (l Lambda) Auto() bool { return l.C == 0 && len(l.Path) == 0 }

// Size holds the options for the choice of the number of features. The zero value leaves the number as given.
type Size struct {
	// Choose the number of features: train with 512, 1024, … up to --features (16384 if that is not
	// given) as long as doubling them reduces the held-out squared error by this share, such as 0.1%
	// or 0.001, and by more than chance does. The model is the same as from training with the chosen
	// --features and otherwise the same recipe. Ridge only.
	Worth Share `flag:"worth" placeholder:"SHARE"` // 0 for no such limit

	// Time for the whole training, such as 60s or 10m. A search for features ends with its best
	// candidate after two thirds of this time. For ridge, small trainings predict how many features
	// the time allows, up to --features (16384 if that is not given); iterative learners get the time
	// that is left for their rounds (see --max_time). The model then depends on the machine, and is
	// the same as from training with the printed flags and otherwise the same recipe.
	Time time.Duration `flag:"time"` // 0 means any
}

// Chooses reports whether the number of features is to be chosen.
func (o Size) Chooses() bool { return o.Worth > 0 || o.Time > 0 }

// Share is a fraction, 0.01 for 1%. Its text may be a percentage.
type Share float64

// String returns the share as a percentage with two digits.
func (s Share) String() string { return fmt.Sprintf("%.2g%%", 100*float64(s)) }

// MarshalText returns the share as a percentage; "" for 0.
func (s Share) MarshalText() ([]byte, error) {
	if s == 0 {
		return nil, nil
	}
	return []byte(strconv.FormatFloat(100*float64(s), 'g', 12, 64) + "%"), nil
}

// UnmarshalText reads a percentage or a fraction: "0.1%", "0.1 %" or "0.001". An empty text is 0.
func (s *Share) UnmarshalText(text []byte) error {
	word, by := strings.TrimSpace(string(text)), 1.0
	if word == "" {
		*s = 0
		return nil
	}
	if number, ok := strings.CutSuffix(word, "%"); ok {
		word, by = strings.TrimSpace(number), 100
	}
	v, err := strconv.ParseFloat(word, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("%q is not a share: want a number such as 0.1%% or 0.001", text)
	}
	*s = Share(v / by)
	return nil
}

// TrainAndTest holds the options of pipelines.TrainAndTest: what to train, and the rows on which the model is then
// evaluated. These are the rows of files, or a share of the rows of Data. Training does not read them. NewTrain
// returns the defaults of Train.
type TrainAndTest struct {
	Train
	TestFiles []string
	TestShare float64 // above 0 and below 1; 0 to use TestFiles
}
