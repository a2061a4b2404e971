package iterative

import (
	"fmt"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models/loss"
)

// Options are the options of one learner: a pointer to a struct whose fields have the tags flag and help.
// Methods do not change it.
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
	// Open makes an iterative learner from what Iterative.Seal returned, in JSON.
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

// Iterative are the options of an iterative learner.
type Iterative interface {
	Options
	// Common returns the options that all iterative learners share.
	Common() *Shared
	// Complete returns a copy with the learner's own defaults instead of zeros; see Shared.Chosen.
	Complete() Iterative
	// DefaultLoss returns the name of the default loss, for classes or for targets.
	DefaultLoss(classes bool) string
	// Samples returns the number of rows that Seal needs in Setting.Sample, given the number of features; 0
	// if none.
	Samples(features int) int
	// Seal returns the options for Definition.Open, to be encoded in JSON. The error is about the user's
	// options.
	Seal(p loss.Problem, s Setting) (any, error)
	// Resumes reports whether the fit for one λ may start from the weights for another, because the result
	// does not depend on the initial weights.
	Resumes() bool
	// Steps returns about how many steps a fit of all rounds takes for each row and output, besides scoring
	// it. A step multiplies a row by the weights and changes them.
	Steps() float64
	// Memory returns the most memory for training at that size.
	Memory(s Size) Memory
}

// Augmented are the options of an iterative learner that accepts images that are changed at random in each
// round. Other learners need the same rows in all rounds.
type Augmented interface {
	Iterative
	// Augmentation returns the changes by the names of the flag augment; empty for none.
	Augmentation() []string
}

// Setting is what Seal gets in addition to the problem.
type Setting struct {
	Seed uint64
	// Heaviest is the largest weight of a training row, in units of the mean weight.
	Heaviest float64
	Sample   Block // training rows, as many as Samples returns

	// The rest is for a Joint learner: all values of λ that are fitted together, including the problem's;
	// whether they are only compared on held-out rows; and the file with the sample (EncodeSample), "" in
	// the options of a manifest.
	Path       []float64
	Trial      bool
	SampleFile string
}

// Size is the size of a training.
type Size struct {
	Rows              int64 // 0 if unknown
	Outputs, Features int
	Partitions        int
	Lambdas           int // number of λ that a Joint learner fits together
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
// options is taken, if the options are not a pointer to a struct, or if they are Iterative and Open is nil.
func Register(l Definition) {
	o := l.New()
	option.List(o) // panics unless it is a struct of options
	if _, ok := o.(Iterative); ok != (l.Open != nil) {
		panic(fmt.Sprintf("iterative: Register %q: Open is for Iterative options, and they need it", l.Name))
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
