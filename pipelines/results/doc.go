// Package results has the results of the jobs in package pipelines: a struct for each job, and structs that several
// jobs share, such as RowCounts and ScoredRows.
//
// The command prints a result as JSON by the tags of its fields, or for people by WriteTo.
package results
