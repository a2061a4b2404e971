// Package tuning chooses the features of a training run, after the rows were profiled and before
// they are summed. It has three independent parts; package training decides which of them a run
// uses.
//
//   - Search looks for better features. It takes a pilot, a sample of the training rows, runs
//     package models/search on it, and replaces the recipe of the training session
//     (prepare.Session). Kernels, Features, Unsearchable and Memory tell beforehand what a search
//     will do.
//   - Game learns the features of the kernels "learned" and "harmonic" from labelled rows:
//     Game.Learn, with options.Game, runs package models/align over the data of a session.
//   - SizeSearch chooses the number of features: SizeSearch.Run doubles it as long as the held-out
//     error falls (options.Size.Worth), or takes the number that the given time allows
//     (options.Size.Time).
//
// Each size that SizeSearch tries is a complete fit, so the model is byte for byte the model of a
// run with the chosen number. The time for sums of products grows with the square of the number, so
// all smaller sizes together take about a third of the time of the last. A single pass with the
// largest number would contain the sums of all smaller ones, but the largest number may be many
// times what is needed.
package tuning
