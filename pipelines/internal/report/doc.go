// Package report formats results for people, so that numbers, words and pages look the same in all jobs:
//
//   - text.go, path.go: counts, times, lists, and figures with their standard errors, such as Groups and Figure
//   - model_text.go, search_text.go, scores_text.go, columns_text.go, notes.go: sentences and tables about models,
//     searches, scores, columns and rows
//   - facts.go, columns.go: facts about a model, and about the columns of a table
//   - page.go, pictures.go: Page, which is a page in HTML with tables and plots, and files of single plots
//   - progress.go: Progress, the log of a running job
//
// Functions return a text or a Table. Those that begin with Write print to a writer.
package report
