// Package report prints for people: progress (Progress), tables (Table), numbers and plots,
// and facts about models, such as their errors by λ (PathTable). It also
// measures how the predictions of any model depend on each column (EffectsOf, DependenceOf).
package report
