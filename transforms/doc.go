// Package transforms holds what all passes over the data share: readers, pass files, the worker
// of a job in a process, sums and their merging, and metrics. A pass is one Beam pipeline that
// reads all rows. The passes themselves are in the packages below: survey, gram, learn, scoring
// and rows. Only Featurize, the pass that writes features, is here. Passes know no formats, which
// package dataset reads, and no formulas, which are in the packages of models and features.
//
// All passes have one form:
//
//	readers → read the reader's shards in blocks → add each block to a sum → merge the sums
//
// A reader reads some of the shards: it is a separate chain of the graph or an element of one,
// which a runner may split while it is read. The number of readers and the places where they are
// split do not change results. StorePass writes what the readers need into a pass file of the work
// directory, which each process reads once (LoadPass). A DoFn embeds Splittable and calls RunReader,
// which gives it a Reader; Reader.Each reads the rows.
package transforms
