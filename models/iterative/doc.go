// Package iterative is the common part of iterative learners, which make repeated
// passes over the rows: state → rounds over the partitions of the data → state → … → model.
// It has the registry of all learners, too: their names, their options, and what they need from a training.
//
// # Rounds
//
// The data are assigned to a fixed number of partitions, and a round gives each
// partition's rows, in their order, to a Worker of its own. Round.Update
// combines the workers' partial results, in the order of the partitions, into the state
// of the next round. A state follows from the one
// before it and the rows alone, so a round can be run again anywhere.
//
// The learners (sgd, svm, cg, align) work on plain slices; they do not know who
// reads the rows, where workers run, or where states are stored.
//
// # Registry
//
// A learner is a package of its own, which registers itself:
//
//	func init() {
//		iterative.Register(iterative.Definition{Name: "svm", New: func() iterative.Options { return NewTraining() }, Open: iterative.OpenerOf(New)})
//	}
//
// A program that imports the package has the learner in its trainings, in its command
// line and in the help. There are two kinds. Options of an iterative learner are
// Iterative: each pass over the rows starts from the state that the last one returned. A
// one-pass learner adds up exact sums and solves (package ridge).
package iterative
