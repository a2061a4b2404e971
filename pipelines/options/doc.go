// Package options has the options of the jobs in package pipelines: a struct for each job, and structs that
// several jobs share, such as Job, Prepare and SumDirs.
//
// The tags of a field describe a flag of the command. The first paragraph of its comment is the help of the
// flag, and names other options by their flags: --lambda is Lambda.Path. The zero value of a field is the
// default, unless its comment says otherwise; a tag default is what the command sets. Jobs check their options
// before they read data, and return an *exit.UsageError that names the flag.
package options
