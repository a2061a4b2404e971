// Package results has the results of the jobs in package pipelines: a struct for each job, and structs that several
// jobs share, such as RowCounts and ScoredRows. Package pipelines has the names that programs use:
// pipelines.TrainResult is Train.
//
// The tags of fields are those of the JSON that the command prints, and WriteTo prints a result for people.
package results
