// Package twosample tests whether two tables are drawn from the same distribution. Test sums both tables by one
// recipe, as training does, and compares their mean features. The statistic is the squared maximum mean
// discrepancy (Gretton et al. 2012, JMLR 13:723) in the features of a kernel. Its p-value is from moments over
// all permutations of the rows: see drift.TwoSample.
package twosample

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Features is the default number of features.
const Features = 512

// Test compares the rows of two tables by their mean features. If a bound is exceeded, the error is an
// *exit.GateError and the result is complete.
func Test(ctx context.Context, o options.TwoSample) (result *results.TwoSample, err error) {
	if err := complete(ctx, &o); err != nil {
		return nil, err
	}
	dir, remove, err := engine.NewTemp(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	result = &results.TwoSample{Names: [2]string{o.A, o.B}}
	recipe, err := recipeOf(ctx, &o, storage.Join(dir, "both"), result)
	if err != nil {
		return nil, err
	}
	a, ofA, err := sumTable(ctx, &o, storage.Join(dir, "a"), recipe, o.A)
	if err != nil {
		return nil, err
	}
	// The statistics in the recipe are the reference for drift, so use the statistics of A.
	recipeB := *recipe
	recipeB.Profile = &sums.Profile{Rows: a.Statistics}
	b, ofB, err := sumTable(ctx, &o, storage.Join(dir, "b"), &recipeB, o.B)
	if err != nil {
		return nil, err
	}
	result.A, result.B = a.Counts, b.Counts
	result.Kernel, result.Dim = recipe.Kernel, recipe.Dim
	result.Report = b.Drift
	if b.Drift == nil { // there are too many columns
		result.Report = &drift.Report{Rows: b.Counts.Used, Reference: a.Counts.Used}
	}
	f := drift.TwoSample(ofA, ofB, o.Job.Engine.WithDefaults().Threads)
	result.Features = &f
	failed := result.Exceeds(o.MaxDrift, o.MaxDrift)
	if f.P < o.MinP {
		failed = append([]string{fmt.Sprintf("%s, below %g", report.PText(f.P), o.MinP)}, failed...)
	}
	return result, exit.NotPassed(failed)
}

// complete sets defaults, and returns an error for invalid options, or for a file that is in both tables.
func complete(ctx context.Context, o *options.TwoSample) error {
	switch {
	case o.A == "" || o.B == "":
		return exit.Usagef("test needs two tables: name the files of both")
	case o.Data.Files != nil:
		return exit.Usagef("test takes the files from A and B, not from Data")
	case o.MinP != 0 && !(o.MinP >= drift.MinP && o.MinP < 1):
		return exit.Usagef("--min_p must be 0, or at least %g and below 1 (have %g)", drift.MinP, o.MinP)
	}
	if err := prepare.CheckDrift(o.MaxDrift); err != nil {
		return err
	}
	if o.Recipe != "" {
		if err := spec.CheckByRecipe(o, new(options.NewTwoSample()), o.Kernel, spec.TwoSampleByRecipe); err != nil {
			return err
		}
	}
	if o.Kernel == nil {
		o.Kernel = &fourier.GaussianOptions{Features: Features}
	}
	if err := prepare.LoadKernel(ctx, &o.Prepare); err != nil {
		return err
	}
	o.Data.Files = []string{o.A, o.B}
	o.Data.Ignore = unlikePaths(o.A, o.B)
	if _, err := dataset.List(ctx, o.Data.Files); err != nil { // returns an error for a file that is in both
		return err
	}
	return cmp.Or(job.Validate(o.Job, o.Data, "", job.Dir{Flag: "recipe", Name: o.Recipe}), prepare.Validate(o.Prepare))
}

// unlikePaths returns the names of columns in paths, such as dt of dt=2026-11-20, to which two patterns give
// different values. Such columns would distinguish the tables.
func unlikePaths(a, b string) (names []string) {
	for part := range strings.SplitSeq(a, "/") {
		if name, _, found := strings.Cut(part, "="); found && !slices.Contains(strings.Split(b, "/"), part) {
			names = append(names, name)
		}
	}
	return names
}
