// Package iterative is the common part of iterative learners, which make repeated passes over the rows, and
// the registry of all learners: their names, their options, and what they need for training.
//
// # Rounds
//
// The rows are assigned to a fixed number of partitions. A Learner makes the first state. In each round, Learner.Open
// makes a Round from the state, a Worker for each partition takes the rows of the partition in order (Worker.Take,
// Worker.End), and Round.Update combines the partial results, in the order of the partitions, into the next state. A
// state follows only from the one before it and the rows, so a round can be run again anywhere.
//
// The learners (sgd, svm, cg, align) work on plain slices. They do not know who reads the rows, where
// workers run, or where states are stored. Fit runs the rounds on rows in memory.
//
// # Registry
//
// A learner is a package that registers itself:
//
//	func init() {
//		iterative.Register(iterative.Definition{Name: "svm",
//			New: func() iterative.Options { return NewLearnerOptions() }, Open: iterative.OpenerOf(New)})
//	}
//
// A program that imports the package has the learner in training, in its command line and in the help.
// There are two kinds. The options of an iterative learner are LearnerOptions. A one-pass learner adds up exact
// sums and solves (package ridge).
package iterative
