// Package report prints results as text: progress (Progress), tables (Table), numbers and plots, pages in HTML (Page),
// and facts about models, such as their errors by λ (PathTable).
package report
