package iterative

import (
	"fmt"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models/loss"
)

// Options are the options of one learner: a pointer to a struct whose fields have the tags
// flag and help. Methods do not change them.
type Options interface {
	// Validate returns an error if an option is out of range.
	Validate() error
}

// Definition describes a learner. Its package registers it.
type Definition struct {
	Name    string   // one word in lower case, which manifests hold
	Aliases []string // other names, of other programs
	Summary string   // for help: "least squares, in one pass"
	// New returns a pointer to options with their defaults.
	New func() Options
	// Open makes an iterative learner from the JSON of what Iterative.Seal returned.
	Open Opener
	// Unlabeled says that it takes rows without labels; trainings cannot choose it.
	Unlabeled bool
	// Weighted says that it takes rows with weights: iterative.Block.Weights counts in all that it
	// learns and measures.
	Weighted bool
	// Joint says that it fits all values of λ in the same rounds, from a sample that Learner.Open
	// reads from a file. The report that ends the rounds has the reports of all λ in Detail, in their
	// order, and the model is the best one.
	Joint bool
}

// Iterative are the options of an iterative learner.
type Iterative interface {
	Options
	// Common returns the options that all iterative learners have.
	Common() *Shared
	// Complete returns a copy in which the learner has replaced zeros by its own defaults;
	// see Shared.Chosen.
	Complete() Iterative
	// DefaultLoss returns the name of the default loss for classes, or for targets.
	DefaultLoss(classes bool) string
	// Samples returns how many rows of so many features Seal needs in Setting.Sample; 0 if none.
	Samples(features int) int
	// Seal returns the options that Learner.Open takes in JSON. The
	// error is about the user's options.
	Seal(p loss.Problem, s Setting) (any, error)
	// Resumes tells whether the fit for one λ should start from the weights for another,
	// because the result does not depend on the initial weights.
	Resumes() bool
	// Steps returns about how many steps a fit of all rounds takes at each row and output, besides
	// scoring it. A step is a product with the weights and a change of them.
	Steps() float64
	// Memory returns the most memory that a training of that size takes.
	Memory(s Size) Memory
}

// Augmented are the options of an iterative learner that accepts images which are changed
// at random in each round. Other learners need the same rows in all rounds.
type Augmented interface {
	Iterative
	// Augmentation returns the changes, as the flag augment names them; none if empty.
	Augmentation() []string
}

// Setting is what Seal gets in addition to the problem.
type Setting struct {
	Seed uint64
	// Heaviest is the largest weight of a row to learn from, in units of their mean.
	Heaviest float64
	Sample   Block // of rows to learn from, as many as Samples says

	// The rest is for a Joint learner: all values of λ that are fitted together, the problem's
	// among them; whether they are only compared on held-out rows; and the file that has what
	// EncodeSample returns of the sample, "" in the options of a manifest.
	Path       []float64
	Trial      bool
	SampleFile string
}

// Size is the size of a training.
type Size struct {
	Rows              int64 // 0 if it is not known
	Outputs, Features int
	Partitions        int
	Lambdas           int // values of λ that a Joint learner fits together
}

// Memory is the most memory of an iterative learner, in bytes, without rows and features.
type Memory struct {
	Worker    int64 // of a worker, whatever it works on
	Partition int64 // for each partition that the worker works on at the same time
	Update    int64 // of Round.Update
	Row       int64 // that each row adds, over all partitions
}

var learners = option.NewRegistry[Definition]("learner")

// Register makes a learner available. Packages call it from init. It panics if a name or
// the type of the options is taken, if the options are not a pointer to a struct, or if
// they are Iterative and nothing opens them.
func Register(l Definition) {
	o := l.New()
	option.List(o) // panics if it is not a struct of options
	if _, ok := o.(Iterative); ok != (l.Open != nil) {
		panic(fmt.Sprintf("learner: Register %q: Open is for Iterative options, and they need it", l.Name))
	}
	learners.Add(l, o, l.Name, l.Aliases...)
	if l.Open != nil {
		RegisterOpener(l.Name, l.Open)
	}
}

// Learners returns the registered learners that a training can choose from, first the ones of
// one pass before the iterative ones, and sorted by name.
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

// Lookup returns the learner of a name or alias.
func Lookup(name string) (Definition, error) { return learners.Lookup(name, Names()) }

// DefinitionOf returns the learner with options of the type of o. It panics if there is none.
func DefinitionOf(o Options) Definition { return learners.Of(o) }
