// Package report prints for people: progress (Progress), tables (Table), numbers and plots, pages in HTML (Page),
// and facts about models, such as their errors by λ (PathTable).
package report
