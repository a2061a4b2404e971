package evaluate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
)

// TwoSampleFeatures is the number of features where options leave the kernel open.
const TwoSampleFeatures = 512

// TwoSampleOptions says which two tables to compare, and in which features.
type TwoSampleOptions struct {
	A, B string // names or patterns of the files of the two tables
	// Recipe is the model whose recipe is used: of the other options only A, B, Data, Group, MinP,
	// MaxDrift, MaxBadFraction and Job are then used. "" makes a recipe from the rows of both tables.
	Recipe       string          `flag:"recipe,common" group:"Model and output" placeholder:"DIR" help:"Directory of a model in whose features the tables are compared, or an alias such as DIR@champion. Its columns are compared. The default is to choose columns, scaling and width from the rows of both tables."`
	Data         dataset.Options `group:"Data" omit:"Data,Label,LabelText,Weight"`
	prepare.Spec `omit:"Data,Task,Split,Room"`
	// Group has columns that together name what a row belongs to; rows of a group depend on each other.
	Group []string `flag:"group_column" group:"Data" list:"commas" placeholder:"COLUMNS" help:"Columns, separated by commas, that together name what a row belongs to, such as a patient. Rows of a group may depend on each other, so the test takes a group as one row, which is the safe side. The columns are not compared. The default is the --group_column of --recipe."`
	// MinP is the least p-value, and MaxDrift the largest certain distance of a column and of the features,
	// with which the tables pass; 0 for no bound.
	MinP     float64 `flag:"min_p,common" group:"Model and output" help:"Least p-value: with a smaller one the exit code is 4. With equal distributions this happens with that probability. 0 is no bound."`
	MaxDrift float64 `flag:"max_drift,common" group:"Model and output" help:"Largest distance, from 0 to 1, by which a column or the features may have moved: if one has certainly moved further, the exit code is 4. Unlike --min_p it lets small differences of large tables pass. 0 is no bound."`
}

// TwoSampleResult says whether two tables are drawn from the same distribution.
type TwoSampleResult struct {
	A job.Counts `json:"a"`
	B job.Counts `json:"b"`
	// DriftReport has the p-value in Features, and the columns of B that have certainly moved from those
	// of A.
	*sums.DriftReport
	Kernel string `json:"kernel"`    // in words
	Dim    int    `json:"dimension"` // number of features
	// Groups are the columns of groups, and Cluster is how many rows count as one because of them.
	Groups  []string           `json:"groups,omitempty"`
	Cluster float64            `json:"cluster"`
	Notes   []string           `json:"notes,omitempty"`
	Seconds map[string]float64 `json:"seconds"` // wall time by part of the job

	names [2]string
}

// TwoSample tests whether the rows of two tables are drawn from the same distribution, by their mean
// features. If a bound is not kept, the error is an *exit.GateError and the result is complete.
func TwoSample(ctx context.Context, o TwoSampleOptions) (result *TwoSampleResult, err error) {
	if err := o.prepared(ctx); err != nil {
		return nil, err
	}
	dir, remove, err := engine.NewTemp(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	result = &TwoSampleResult{Seconds: map[string]float64{}, names: [2]string{o.A, o.B}}
	recipe, err := o.recipe(ctx, dir, result)
	if err != nil {
		return nil, err
	}
	a, ofA, err := o.sum(ctx, storage.Join(dir, "a"), recipe, o.A)
	if err != nil {
		return nil, err
	}
	// B is compared with A as a part with the rows of its recipe.
	of := *recipe
	of.Profile = &sums.Profile{Rows: a.Statistics}
	b, ofB, err := o.sum(ctx, storage.Join(dir, "b"), &of, o.B)
	if err != nil {
		return nil, err
	}
	result.A, result.B, result.Kernel, result.Dim = a.Counts, b.Counts, recipe.Kernel, recipe.Dim
	result.Seconds["a"], result.Seconds["b"] = a.Seconds["profile"]+a.Seconds["sum"], b.Seconds["profile"]+b.Seconds["sum"]
	if s := recipe.Rule.Split; s != nil {
		result.Groups = s.Columns
	}
	result.Cluster = max(a.Cluster, b.Cluster)
	if result.DriftReport = b.Drift; b.Drift == nil { // there are too many columns
		result.DriftReport = &sums.DriftReport{Rows: b.Counts.Used, Reference: a.Counts.Used}
	}
	f := sums.TwoSampleOf(ofA, ofB, result.Cluster, o.Job.Engine.WithDefaults().Threads)
	result.Features = &f
	failed := result.Exceeds(o.MaxDrift, o.MaxDrift)
	if f.P < o.MinP {
		failed = append([]string{fmt.Sprintf("%s, below %g", pText(f.P), o.MinP)}, failed...)
	}
	return result, exit.NotPassed(failed)
}

// prepared completes the options, and returns a usage error for those that no tables can have.
func (o *TwoSampleOptions) prepared(ctx context.Context) error {
	switch {
	case o.A == "" || o.B == "":
		return exit.Usage("no two tables: give the files of both")
	case !(o.MinP >= 0 && o.MinP < 1):
		return exit.Usage("--min_p must be from 0 to below 1 (have %g)", o.MinP)
	case o.MinP > 0 && o.MinP < sums.MostCertain:
		return exit.Usage("--min_p %g: p-values below %g are not told apart; give at least that", o.MinP, sums.MostCertain)
	}
	if err := prepare.ValidDrift(o.MaxDrift); err != nil {
		return err
	}
	if o.Kernel == nil {
		o.Kernel = &fourier.GaussianOptions{Features: TwoSampleFeatures}
	}
	if err := o.LoadKernel(ctx); err != nil {
		return err
	}
	o.Data.Data, o.Data.Ignore = []string{o.A, o.B}, unlikePaths(o.A, o.B)
	o.Spec.Data = o.Data
	o.Split.Group = o.Group
	o.Split.Into(&o.Spec.Data)
	if _, err := dataset.List(ctx, o.Data.Data); err != nil { // a file that is in both is refused
		return err
	}
	if err := o.Job.Validate(o.Data, "", job.Place{Flag: "recipe", Name: o.Recipe}); err != nil {
		return err
	}
	return o.Spec.Validate()
}

// unlikePaths returns the names of columns in paths, such as dt of dt=2026-11-20, that two patterns give
// different values: they tell the tables apart.
func unlikePaths(a, b string) (names []string) {
	for _, in := range [][2]string{{a, b}, {b, a}} {
		for dir := range strings.SplitSeq(in[0], "/") {
			name, _, found := strings.Cut(dir, "=")
			if found && !slices.Contains(strings.Split(in[1], "/"), dir) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// jobOf returns the options of a job that would create out.
func (o *TwoSampleOptions) jobOf(out string) job.Options {
	j := o.Job
	if _, name := storage.Split(out); j.Work != "" {
		j.Work = storage.Join(j.Work, name)
	}
	return j
}

// recipe returns the recipe of the model, or one that is a symmetric function of the rows of both
// tables, so that the test is valid.
func (o *TwoSampleOptions) recipe(ctx context.Context, dir string, result *TwoSampleResult) (_ *sums.Recipe,
	err error) {
	if o.Recipe != "" {
		r, err := training.ReadRecipe(ctx, o.Recipe, o.Job.Log)
		if err != nil {
			return nil, err
		}
		if c := r.Rule.WeightColumn; c != "" {
			result.Notes = append(result.Notes, fmt.Sprintf("weights in column %s do not count: rows are compared as they are",
				c))
		}
		groups := o.Group
		if s := r.Rule.Split; s != nil && s.By == profile.ByGroup && groups == nil {
			groups = s.Columns
		}
		if label := strings.Join(append(r.Input.Labels, r.Input.Label), ", "); label != "" {
			result.Notes = append(result.Notes, fmt.Sprintf("labels (%s) are not compared", strings.Trim(label, ", ")))
		}
		result.Notes = append(result.Notes, "p takes the features as given: with a model that was trained on rows of one of "+
			"the tables it is approximate")
		return r.Unlabelled(groups)
	}
	s, out := o.Spec, storage.Join(dir, "both")
	s.Job = o.jobOf(out)
	t, err := training.Begin(ctx, training.Options{Spec: s}, out, func(d *dataset.Dataset) error {
		if d.Labeled {
			result.Notes = append(result.Notes, "labels are not compared")
		}
		d.Labeled = false
		return nil
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = t.Close(ctx, err) }()
	t.Work.Temporary = o.Job.Work == ""
	result.Notes = slices.Concat(result.Notes, t.Data.Notes, t.Notes)
	result.Seconds["recipe"] = t.Seconds["profile"]
	return t.RecipeOfRows(o.Group)
}

// sum sums a table by the recipe, in a job that would create out. It returns the closed job.
func (o *TwoSampleOptions) sum(ctx context.Context, out string, r *sums.Recipe, files string) (_ *training.Training,
	features sums.FeatureSum, err error) {
	data := o.Data
	data.Data, data.Columns, data.Drop, data.ID, data.Time = []string{files}, nil, nil, "", ""
	t, err := training.ByRecipe{Recipe: r, Data: data, MaxBadFraction: o.MaxBadFraction, Job: o.jobOf(out)}.Begin(ctx, out)
	if err != nil {
		return nil, features, err
	}
	defer func() { err = t.Close(ctx, err) }()
	t.Work.Temporary = o.Job.Work == ""
	if n := float64(t.Counts.Used) / t.Cluster; n < sums.LeastRows {
		grouped := ""
		if t.Cluster > 1 {
			grouped = fmt.Sprintf(" in groups, which count as %.3g", n)
		}
		return nil, features, exit.Refuse("pipelines: %s has %s%s; a test needs %d", files,
			report.Counted64(t.Counts.Used, "row"), grouped, sums.LeastRows)
	}
	m := t.Memory(1)
	m.Peak = max(m.Peak, job.ProgramBytes+job.SlackBytes+sums.TwoSampleBytes(r.Dim))
	if err := t.Fits(m); err != nil {
		return nil, features, err
	}
	err = t.Timed(ctx, "sum", func(ctx context.Context) error {
		summed, err := t.SumRows(ctx)
		if err != nil {
			return err
		}
		features, err = summed.Features(ctx)
		return err
	})
	return t, features, err
}

// pText says what a p-value is, as far as it is known.
func pText(p float64) string {
	if p <= sums.MostCertain {
		return fmt.Sprintf("p < %g", sums.MostCertain)
	}
	return fmt.Sprintf("p = %.2g", p)
}

// WriteTo prints the result for people.
func (r *TwoSampleResult) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	f := r.Features
	fmt.Fprintf(&b, "rows      %s: %s\n          %s: %s\n", r.names[0], r.A.WithList(), r.names[1], r.B.WithList())
	if r.Cluster > 1 {
		fmt.Fprintf(&b, "groups    by %s: %.3g rows count as one\n", strings.Join(r.Groups, ", "), r.Cluster)
	}
	fmt.Fprintf(&b, "features  %d of the %s\n", r.Dim, r.Kernel)
	fmt.Fprintf(&b, "test      %s that both are drawn alike (MMD² = %.3g)\n", pText(f.P), f.Squared)
	fmt.Fprintf(&b, "distance  %.3g, for certain %.3g (0: alike, 1: nothing in common)\n", f.Distance, f.AtLeast)
	report.Drift(&b, r.DriftReport, "columns   ")
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note      %s\n", note)
	}
	fmt.Fprintf(&b, "seconds   %.1f for the recipe, %.1f and %.1f to sum\n", r.Seconds["recipe"], r.Seconds["a"],
		r.Seconds["b"])
	return b.WriteTo(w)
}
