// Package report prints for people: progress (Progress), tables (Table), numbers and plots. It also
// measures how the predictions of any model depend on each column (EffectsOf, DependenceOf).
package report
