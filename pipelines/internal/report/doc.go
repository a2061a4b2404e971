// Package report prints for people: progress (Progress), tables (Table), numbers and plots,
// and facts about models, such as their errors by λ (PathTable).
package report
