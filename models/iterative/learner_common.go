package iterative

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models/loss"
)

// Shared has the options of every iterative learner, and default methods. A learner embeds it in its own
// options.
type Shared struct {
	Objective
	Init    string `flag:"init" placeholder:"DIR" help:"Directory of a model with the same features and classes, or an alias such as DIR@champion; its weights are the initial weights."`
	Curve   string `flag:"curve" group:"Model and output" placeholder:"FILE" help:"File for a plot of the training log, .png or .svg."`
	Stop    `group:"Iterative learners"`
	Running `group:"Iterative learners"`
}

// Defaults returns the default options.
func Defaults() Shared { return Shared{Running: Running{Keep: DefaultKeep}} }

// Common returns s. It and the methods below are defaults for Iterative, for options that embed Shared.
func (s *Shared) Common() *Shared { return s }

// Chosen returns a copy with the given rounds if the user set none, for Iterative.Complete.
// Running.Complete completes the options of Running.
func (s *Shared) Chosen(rounds int) Shared {
	c := *s
	c.Rounds = cmp.Or(c.Rounds, rounds)
	return c
}

// Samples returns 0.
func (s *Shared) Samples(int) int { return 0 }

// Resumes returns false: each λ starts from zero weights and has as many rounds as the others.
func (s *Shared) Resumes() bool { return false }

// Steps returns 0.
func (s *Shared) Steps() float64 { return 0 }

// Memory assumes a learner that holds ten float32 arrays of the size of its weights, or five float64
// arrays.
func (s *Shared) Memory(size Size) Memory {
	weights := 4 * int64(size.Outputs) * int64(size.Features)
	return Memory{Worker: 10 * weights, Partition: 10 * weights, Update: 10 * weights}
}

// Validate returns an error if an option is out of range.
func (s *Shared) Validate() error {
	switch {
	case s.Rounds < 0:
		return option.Errorf("rounds", "must be 0 (chosen by bochner) or more (have %d)", s.Rounds)
	case !(s.Gap >= 0) || math.IsInf(s.Gap, 0):
		return option.Errorf("gap", "must be a number ≥ 0 (have %g)", s.Gap)
	case s.Patience < 0:
		return option.Errorf("patience", "must be 0 (none) or more rounds (have %d)", s.Patience)
	case s.Time < 0:
		return option.Errorf("max_time", "must be 0 (none) or longer (have %s)", s.Time)
	}
	return s.Running.Validate()
}

// Running has the options that say how rounds run.
type Running struct {
	Partitions int   `flag:"partitions" help:"Partitions that the rows are assigned to. Readers share the rows by partitions, and svm takes many more rounds with several. 0 is 1 on one machine, and on a cluster one for each reader (--lanes) that has a shard; to learn features it is 8. A parameter of the model: give it to get the same model on any runner."`
	PerJob     int   `flag:"rounds_per_job" help:"Rounds in one job of the runner; 0 is 20 on Dataflow, where a job takes minutes to start, and 1 elsewhere; to learn features it is 5. Does not change results."`
	Keep       int64 `flag:"keep_bytes" unit:"bytes" help:"Bytes of features, or of rows to learn features from, that each worker process caches between rounds, as a number or as 8GB. Does not change results."`
}

// DefaultKeep is the default of Running.Keep.
const DefaultKeep = 1 << 30

// startedRounds is the default of Running.PerJob if each job starts machines. 100 rounds then wait for
// machines six times, which takes less than half an hour.
const startedRounds = 20

// Complete sets defaults: partitions for that many readers, and rounds per job, depending on whether each
// job starts machines.
func (r *Running) Complete(readers int, starts bool) {
	r.Partitions = cmp.Or(r.Partitions, max(1, min(readers, MaxPartitions)))
	if starts {
		r.PerJob = cmp.Or(r.PerJob, startedRounds)
	}
	r.PerJob = cmp.Or(r.PerJob, 1)
}

// Validate returns an error if an option is out of range.
func (r *Running) Validate() error {
	switch {
	case r.Partitions < 0 || r.Partitions > MaxPartitions:
		return option.Errorf("partitions", "must be between 1 and %d (have %d)", MaxPartitions, r.Partitions)
	case r.PerJob < 0 || r.PerJob > 100:
		return option.Errorf("rounds_per_job", "must be between 1 and 100 (have %d)", r.PerJob)
	case r.Keep < 0:
		return option.Errorf("keep_bytes", "must be 0 (cache nothing) or more (have %d)", r.Keep)
	}
	return nil
}

// defaultEpsilon is the default ε of epsilon_insensitive and huber, in units of the spread of the targets.
// It is scikit-learn's for standardised targets.
const defaultEpsilon = 0.1

// Objective selects the loss to minimise.
type Objective struct {
	Loss    string   `flag:"loss" placeholder:"NAME" help:"Loss of an iterative learner: for classes squared, logistic, softmax, hinge, squared_hinge; for numbers squared, huber, epsilon_insensitive. Defaults (classes; numbers): svm hinge; epsilon_insensitive. sgd softmax; squared. cg squared."`
	Epsilon float64  `flag:"epsilon" help:"Half width of the zone around the target, for the losses huber and epsilon_insensitive, in units of the spread of the targets (interquartile range / 1.349, the standard deviation of normal targets); 0 is 0.1."`
	Weights []string `flag:"class_weight" placeholder:"LIST" values:"balanced" list:"commas" help:"Class weights in the loss: balanced, or a list of NAME=WEIGHT separated by commas."`
}

// Problem returns the problem for n rows of dim features. counts are the numbers of rows of the classes, or
// the sums of their weights. Without classes, labels are targets. byDefault is the loss if none is set.
func (o Objective) Problem(byDefault string, classes []string, counts []float64, dim int, n int64,
	lambda float64) (loss.Problem, error) {
	p := loss.Problem{Loss: cmp.Or(o.Loss, byDefault), Epsilon: o.Epsilon, Regression: classes == nil,
		Outputs: max(1, len(classes)), Dim: dim, Rows: n, Lambda: lambda}
	if o.Epsilon == 0 && (p.Loss == "huber" || p.Loss == "epsilon_insensitive") {
		p.Epsilon = defaultEpsilon
	}
	var err error
	p.Weights, err = ClassWeights(o.Weights, classes, counts)
	return p, err
}

// ClassWeights returns the weight of each class by the option class_weight, or nil if it is not given.
// Balanced weights give every class the same share: n/(k·n_c), where the n_c are counts, numbers of rows or
// sums of their weights. Nil classes mean that labels are targets.
func ClassWeights(given, classes []string, counts []float64) ([]float64, error) {
	const name = "class_weight"
	if len(given) == 0 {
		return nil, nil
	}
	if classes == nil {
		return nil, option.Errorf(name, "needs classes; the labels are numbers")
	}
	weights := make([]float64, len(classes))
	if given[0] == "balanced" && len(given) == 1 {
		var n float64
		for _, count := range counts {
			n += count
		}
		for c, count := range counts {
			weights[c] = 1
			if count > 0 {
				weights[c] = n / (float64(len(classes)) * count)
			}
		}
		return weights, nil
	}
	for c := range weights {
		weights[c] = 1
	}
	for _, text := range given {
		at := strings.LastIndexByte(text, '=')
		if at < 0 {
			return nil, option.Errorf(name, "%q is neither NAME=WEIGHT nor balanced", text)
		}
		c := slices.Index(classes, text[:at])
		if c < 0 {
			return nil, option.Errorf(name, "%q: no row is of class %q%s", text, text[:at],
				option.DidYouMean(text[:at], classes))
		}
		w, err := strconv.ParseFloat(text[at+1:], 64)
		if err != nil || !(w > 0) || math.IsInf(w, 0) {
			return nil, option.Errorf(name, "%q: want a number above 0 after the =", text)
		}
		weights[c] = w
	}
	return weights, nil
}

// Solvers of ridge: exact sums (the Gram matrix of the features), or the learner cg.
const (
	AutoSolver = "auto"
	Gram       = "gram"
	CG         = "cg"
)

// ValidSolver returns an error unless s is the name of a solver, or "" for auto.
func ValidSolver(s string) error {
	if !slices.Contains([]string{"", AutoSolver, Gram, CG}, s) {
		return option.Errorf("solver", "must be %s, %s or %s (have %q)", AutoSolver, Gram, CG, s)
	}
	return nil
}
