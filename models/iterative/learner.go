package iterative

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models/loss"
)

// Options is a pointer to a struct with the options of one learner. Each field has the tag flag, and its help as a doc
// comment or in the tag help. Methods must not change the struct.
type Options interface {
	// Validate returns an error if an option is out of range.
	Validate() error
}

// Definition describes a learner, for Register.
type Definition struct {
	Name    string   // one word in lower case, as in manifests
	Aliases []string // other names, such as those in other programs
	Summary string   // for help: "least squares, in one pass"
	// New returns a pointer to options with their defaults.
	New func() Options
	// Open makes an iterative learner from what LearnerOptions.Seal returned, in JSON.
	Open Opener
	// Unlabeled says that rows need no labels; training cannot choose such a learner.
	Unlabeled bool
	// Weighted says that rows may have weights: Block.Weights counts in all that is learned and measured.
	Weighted bool
	// Joint says that all values of λ are fitted in the same rounds, with a sample that Learner.Open reads
	// from a file. Detail of the last report then has the reports of all λ, in their order, and the model
	// is the best one.
	Joint bool
}

// LearnerOptions are the options of a Learner.
type LearnerOptions interface {
	Options
	// Common returns the options that all iterative learners share.
	Common() *Shared
	// WithDefaults returns a copy with the learner's own defaults instead of zeros; see Shared.WithRounds.
	WithDefaults() LearnerOptions
	// DefaultLoss returns the name of the default loss, for classes or for targets.
	DefaultLoss(classes bool) string
	// Needs returns what training at that size needs.
	Needs(s Size) Needs
	// Seal returns the options for Definition.Open, to be encoded in JSON. The error is about the user's
	// options.
	Seal(p loss.Problem, s Setting) (any, error)
}

// Augmented are the options of an iterative learner that accepts images that are changed at random in each
// round. Other learners need the same rows in all rounds.
type Augmented interface {
	LearnerOptions
	// Augmentation returns the changes by the names of the flag augment; empty for none.
	Augmentation() []string
}

// Setting is what Seal gets in addition to the problem.
type Setting struct {
	Seed uint64
	// Heaviest is the largest weight of a training row, in units of the mean weight.
	Heaviest float64
	Sample   Block // training rows, as many as Needs.Sample

	// The rest is for a Joint learner: all values of λ that are fitted together, including the problem's;
	// whether they are only compared on held-out rows; and the file with the sample (EncodeSample), "" in
	// the options of a manifest.
	Path       []float64
	Trial      bool
	SampleFile string
}

// Size is the size of a training run. Features is at least 1; the other numbers are 0 if they are not known yet.
type Size struct {
	Rows              int64
	Outputs, Features int
	Partitions        int
	Lambdas           int // number of λ that a Joint learner fits together
}

// Needs is what a learner needs to train on a Size of data.
type Needs struct {
	Sample int // number of rows in Setting.Sample; 0 if none
	// AnyStart says that the fit for one λ may start from the weights for another, because the result does not depend
	// on the initial weights. Otherwise each λ starts from zero weights and has as many rounds as the others.
	AnyStart bool
	// Steps is about how many steps a fit of all rounds takes for each row and output, besides scoring it. A step
	// multiplies a row by the weights and changes them.
	Steps  float64
	Memory Memory
}

// Memory is the most memory of an iterative learner, in bytes, besides rows and features.
type Memory struct {
	Worker    int64 // for each worker
	Partition int64 // for each partition that a worker has open
	Update    int64 // in Round.Update
	Row       int64 // for each row, over all partitions
}

var learners = option.NewRegistry[Definition]("learner")

// Register makes a learner available. Packages call it from init. It panics if a name or the type of the
// options is taken, if the options are not a pointer to a struct, or if they are LearnerOptions and Open is nil.
func Register(l Definition) {
	o := l.New()
	option.List(o) // panics unless it is a struct of options
	if _, ok := o.(LearnerOptions); ok != (l.Open != nil) {
		panic(fmt.Sprintf("iterative: Register %q: Open is for LearnerOptions, and they need it", l.Name))
	}
	learners.Add(l, o, l.Name, l.Aliases...)
	if l.Open != nil {
		RegisterOpener(l.Name, l.Open)
	}
}

// Learners returns the registered learners that training can choose, one-pass learners first, each kind
// sorted by name.
func Learners() []Definition {
	var list, iterative []Definition
	for _, l := range learners.All() {
		switch {
		case l.Unlabeled:
		case l.Open != nil:
			iterative = append(iterative, l)
		default:
			list = append(list, l)
		}
	}
	return append(list, iterative...)
}

// Names returns the names of Learners.
func Names() []string {
	var names []string
	for _, l := range Learners() {
		names = append(names, l.Name)
	}
	return names
}

// Lookup returns the learner with a name or alias.
func Lookup(name string) (Definition, error) { return learners.Lookup(name, Names()) }

// DefinitionOf returns the learner whose options have the type of o. It panics if there is none.
func DefinitionOf(o Options) Definition { return learners.Of(o) }

// Shared has the options of every iterative learner, and default methods. A learner embeds it in its own
// options.
type Shared struct {
	Objective

	// Directory of a model with the same features and classes, or an alias such as DIR@champion; its
	// weights are the initial weights.
	Init string `flag:"init" placeholder:"DIR"`

	// File for a plot of the training log, .png or .svg.
	Curve   string `flag:"curve" group:"Model and output" placeholder:"FILE"`
	Stop    `group:"Iterative learners"`
	Running `group:"Iterative learners"`
}

// Defaults returns the default options.
func Defaults() Shared { return Shared{Running: Running{Keep: DefaultKeep}} }

// Common returns s. It and Needs are defaults for LearnerOptions, for options that embed Shared.
func (s *Shared) Common() *Shared { return s }

// WithRounds returns a copy with the given rounds if none are set, for LearnerOptions.WithDefaults.
// Running.SetDefaults completes the options of Running.
func (s *Shared) WithRounds(rounds int) Shared {
	c := *s
	c.Rounds = cmp.Or(c.Rounds, rounds)
	return c
}

// Needs assumes a learner that holds ten float32 arrays of the size of its weights, or five float64 arrays, and
// needs nothing else.
func (s *Shared) Needs(size Size) Needs {
	weights := 4 * int64(size.Outputs) * int64(size.Features)
	return Needs{Memory: Memory{Worker: 10 * weights, Partition: 10 * weights, Update: 10 * weights}}
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
	// Partitions that the rows are assigned to. Readers share the rows by partitions, and svm takes
	// many more rounds with several. 0 is 1 on one machine, and on a cluster one for each reader
	// (--readers) that has a shard; to learn features it is 8. A parameter of the model: give it to
	// get the same model on any runner.
	Partitions int `flag:"partitions"`

	// Rounds in one job of the runner; 0 is 20 on Dataflow, where a job takes minutes to start, and 1
	// elsewhere; to learn features it is 5. Does not change results.
	PerJob int `flag:"rounds_per_job"`

	// Bytes of features, or of rows to learn features from, that each worker process caches between
	// rounds, as a number or as 8GB. Does not change results.
	Keep int64 `flag:"keep_bytes" unit:"bytes"`
}

// DefaultKeep is the default of Running.Keep.
const DefaultKeep = 1 << 30

// startedRounds is the default of Running.PerJob if each job starts machines. 100 rounds then wait for
// machines six times, which takes less than half an hour.
const startedRounds = 20

// SetDefaults sets defaults: as many partitions as readers, and rounds per job, depending on whether each
// job starts machines.
func (r *Running) SetDefaults(readers int, starts bool) {
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
		return option.Errorf("partitions", "must be 1 to %d (have %d)", MaxPartitions, r.Partitions)
	case r.PerJob < 0 || r.PerJob > 100:
		return option.Errorf("rounds_per_job", "must be 1 to 100 (have %d)", r.PerJob)
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
	// Loss of an iterative learner: for classes squared, logistic, softmax, hinge, squared_hinge; for
	// numbers squared, huber, epsilon_insensitive. Defaults (classes; numbers): svm hinge;
	// epsilon_insensitive. sgd softmax; squared. cg squared.
	Loss string `flag:"loss" placeholder:"NAME"`

	// Half width of the zone around the target, for the losses huber and epsilon_insensitive, in units
	// of the spread of the targets (interquartile range / 1.349, the standard deviation of normal
	// targets); 0 is 0.1.
	Epsilon float64 `flag:"epsilon"`

	// Class weights in the loss: balanced, or a list of NAME=WEIGHT separated by commas.
	Weights []string `flag:"class_weight" placeholder:"LIST" values:"balanced" list:"commas"`
}

// Problem completes p, which has Dim, Rows and Lambda. counts are the numbers of rows of the classes, or the sums of
// their weights. Without classes, labels are targets. byDefault is the loss if none is set.
func (o Objective) Problem(p loss.Problem, byDefault string, classes []string, counts []float64) (loss.Problem, error) {
	p.Loss, p.Epsilon = cmp.Or(o.Loss, byDefault), o.Epsilon
	p.Regression, p.Outputs = classes == nil, max(1, len(classes))
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
		if weights[c] > 0 {
			return nil, option.Errorf(name, "class %q is given twice", classes[c])
		}
		weights[c] = w
	}
	for c, w := range weights {
		weights[c] = cmp.Or(w, 1)
	}
	return weights, nil
}

// Solver is how ridge solves its equations.
type Solver string

// Solvers of ridge: exact sums (the Gram matrix of the features), or the learner cg.
const (
	AutoSolver Solver = "auto"
	Gram       Solver = "gram"
	CG         Solver = "cg"
)

// CheckSolver returns an error unless s is the name of a solver, or "" for auto.
func CheckSolver(s Solver) error {
	if !slices.Contains([]Solver{"", AutoSolver, Gram, CG}, s) {
		return option.Errorf("solver", "must be %s, %s or %s (have %q)", AutoSolver, Gram, CG, s)
	}
	return nil
}
