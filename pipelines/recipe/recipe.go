// Package recipe makes the recipe of features for a data set, from the options of a kernel,
// a chain of scalings, and what a profile found.
package recipe

import (
	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/exit"

	"errors"
)

// Recipe is the recipe that was chosen for a data set.
type Recipe struct {
	Sealed features.Sealed
	Dim    int     // number of features
	Width  float64 // of the kernel; 0 for one without
	Name   string  // for people: "gaussian kernel, width 7"
	Reach  float64 // how many times the bound of the grid features may be; 0 is once
	// files are what the recipe needs beside itself, for the directory of a model.
	Files []storage.File
	// origin is that of learned features which were not found in this job; else nil.
	Origin *Origin

	// Scaling and Choice are what the recipe was made of; nil where it was taken over whole.
	Scaling *scaling
	Choice  *kernel.Choice
	data    *kernel.Data
}

// Scaled returns the recipe of features of rows that have been scaled as those of the recipe are.
func (r Recipe) Scaled(last features.Recipe) features.Recipe {
	return features.Chain{Steps: append(r.Scaling.Steps[:len(r.Scaling.Steps):len(r.Scaling.Steps)], last)}
}

// Choose makes the recipe of scalings and kernel, with the statistics that
// the profile found.
func Choose(k kernel.Options, chain []string, seed uint64, schema dataset.Schema, p *profile.Profile, sum *profile.Sum) (r Recipe, err error) {
	if r.Scaling, err = chooseScale(chain, schema, p, sum); err != nil {
		return r, err
	}
	r.data = r.Scaling.data(p.Rows, seed)
	if r.Choice, err = r.Of(k); err != nil {
		return r, err
	}
	r.Name, r.Width, r.Reach = r.Choice.Summary, r.Choice.Width, r.Choice.Reach
	whole := r.Scaled(r.Choice.Recipe)
	if r.Sealed, err = features.Seal(whole); err != nil {
		return r, &exit.UsageError{Err: err}
	}
	_, r.Dim, err = features.Dims(whole)
	return r, err
}

// Of returns what another kernel chooses for the same data.
func (r Recipe) Of(k kernel.Options) (*kernel.Choice, error) {
	c, err := k.Choose(r.data)
	if err != nil {
		return nil, refused(err)
	}
	return c, nil
}

// refused returns the error of a choice as one of the command line if it is about an
// option, else as one of the data.
func refused(err error) error {
	if _, ok := errors.AsType[*option.Error](err); ok {
		return &exit.UsageError{Err: err}
	}
	return &exit.DataError{Err: err}
}

// Origin tells from which rows learned features were found.
type Origin struct {
	HeldOut int    // parts the rows were cut into, the first of which was not looked at; 0 for none
	Seed    uint64 // of the parts
	Rows    string // a digest of the rows, whatever the seed; "" of older versions

	Fingerprint string // of the rows by that seed
}
