// Package results defines the results of the jobs in package pipelines: a struct for each job, such as Train, and
// structs that several jobs share, such as RowCounts and ScoredRows.
//
// A result is plain data. With --json the command prints its fields by their tags, so tags must not change; fields
// with the tag "-" are only for the text. Otherwise the command prints the text that WriteTo writes for people:
// lines with an item and its value, and tables (packages table and report).
//
// A nil pointer or an empty list means that the job was not asked for this part of the result, or that the data has
// none. Some errors come with a complete result, such as a missed gate: see exit.HasResult.
package results
