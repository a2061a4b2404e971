// Package results has the results of the jobs in package pipelines. The tags of fields are those of the JSON
// that the command prints with --json, and WriteTo prints a result for people.
package results
