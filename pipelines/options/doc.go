// Package options has the options of the jobs in package pipelines: a struct for each job, and structs that
// several jobs share, such as Job, Prepare and SumDirs.
//
// The tags of a field describe a flag of the command. The first paragraph of its comment is the help of the
// flag, and names other options by their flags: --lambda is Lambda.Path. A function such as NewTrain
// returns the defaults of the command; where there is none, they are the zero value of the struct, and of
// structs in it their own. Jobs check their options before they read data, and return an *exit.UsageError
// that names the flag.
package options

import "github.com/bochner-ml/bochner/internal/option"

// defaults returns options with the defaults in their tags.
func defaults[O any]() (o O) {
	option.List(&o)
	return o
}
