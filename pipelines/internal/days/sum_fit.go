package days

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/parts"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/segments"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
)

// FitOptions says which sums to fit a model to, and how.
type FitOptions struct {
	parts.Parts `group:"Model and output"`
	// Lambda says how λ is chosen; the recipe has the defaults. The recipe determines the folds.
	Lambda training.LambdaOptions `group:"Learner" omit:"Folds"`
	// Calibrate is score.Platt for probabilities, which needs a recipe with shapes of curves; none or
	// "" for no probabilities.
	Calibrate string `flag:"calibrate,common" group:"Learner" default:"none" values:"none,platt" help:"Probabilities from scores: none, or platt, a sigmoid per class. Its shape comes from the recipe (train --calibrate platt), its midpoint and slope from the sums of the first fold."`
	// Each is a column of the model by which the sums are divided, to fit weights for each of its
	// values; "" for none.
	Each  string `flag:"each,common" group:"Learner" placeholder:"COLUMN" help:"Column whose values have weights of their own, shrunk toward the weights of all rows by as much as is best on held-out folds. The sums must be divided by this column (sum --by), and it must be an input of the model."`
	Model string `flag:"model,common" group:"Model and output" placeholder:"DIR" help:"Directory to create; it must not exist."`
	// SaveSums is a directory to create with the total of the sums, so that a later fit reads one
	// directory instead of many; "" for none. If it exists, it must have the same sums.
	SaveSums string `flag:"save_sums" group:"Model and output" placeholder:"DIR" help:"Directory to create with all of the sums in one, for later fits."`
	parent   string // name of the model with the recipe, for the lineage; "" if unknown
	// MaxDrift is the largest distance, from 0 to 1, of added sums: of a column, the labels or the
	// share of repeated rows from the rows of the recipe, and of the features from all other sums. 0
	// means no bound. If the lower 95% bound of a distance is larger, nothing is written and the error
	// is an *exit.GateError that names the directory.
	MaxDrift float64 `flag:"max_drift,common" group:"Model and output" help:"Largest distance allowed, from 0 to 1, of the columns and labels of a directory of sums from the rows of the recipe, and of its features from the other directories; 0 turns the check off. If the lower 95% bound of a distance is larger, nothing is written, the exit code is 4, and the message names the directory."`
	spec.Reporting
	Job job.Options `group:"Job"`
}

// Fit adds and subtracts sums of one recipe, fits a model to them, and publishes its directory. The model has
// the same bytes as one that is trained with the recipe on the rows of the sums. While Fit adds, it holds one
// part of the sums per thread; the sums of all folds are in the work directory.
func Fit(ctx context.Context, o FitOptions) (result *training.Result, err error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	terms, err := o.Open(ctx)
	if err != nil {
		return nil, err
	}
	if o.Model == "" {
		return nil, exit.Usage("--model is missing: name the directory to create")
	}
	if o.MaxDrift > 0 {
		failed, err := driftedParts(ctx, terms, o.MaxDrift, o.Job.Engine.WithDefaults().Threads)
		if err != nil {
			return nil, err
		}
		if err := exit.NotPassed(failed); err != nil {
			return nil, err
		}
	}
	_, result, err = o.run(ctx, terms, nil)
	return result, err
}

// AddSums adds and subtracts sums of one recipe, and publishes a directory with the result. If all
// subtracted rows are among the added ones, it is the same as from summing the remaining rows at once.
func AddSums(ctx context.Context, o FitOptions) (*SumResult, error) {
	if o.SaveSums == "" {
		return nil, exit.Usage("no directory for the sums: name one with --out")
	}
	o.Model = ""
	if err := o.validate(); err != nil {
		return nil, err
	}
	terms, err := o.Open(ctx)
	if err != nil {
		return nil, err
	}
	p, _, err := o.run(ctx, terms, nil)
	if err != nil {
		return nil, err
	}
	result := &SumResult{Out: o.SaveSums, kernel: terms[0].Recipe.Kernel}
	result.describe(p, terms[0].Recipe)
	return result, nil
}

func (o FitOptions) validate() error {
	if err := o.checkChoices(); err != nil {
		return err
	}
	return o.Job.Validate(dataset.Options{}, o.out(), job.Place{Flag: "model", Name: o.out()})
}

// checkChoices returns an error for invalid options, among them those that need the scores of rows: sums only
// give squared errors.
func (o FitOptions) checkChoices() error {
	if err := o.Lambda.Validate(); err != nil {
		return err
	}
	switch l := o.Lambda; {
	case l.Folds != 0:
		return exit.Usage("--folds cannot be used with sums: the recipe determines their folds")
	case o.Model != "" && o.Model == o.SaveSums:
		return exit.Usage("--model and --save_sums name the same directory, %s; name two", o.Model)
	case o.Each != "" && o.Calibrate == score.Platt:
		return exit.Usage("--each cannot be used with --calibrate: the scores of segments have other curves")
	case l.Select != "" && l.Select != spec.SelectMSE:
		return exit.Usage("--select %s needs the scores of rows, and sums have only the squared errors of all "+
			"folds, by which --select mse chooses; train on the rows for it", l.Select)
	}
	return prepare.ValidDrift(o.MaxDrift)
}

// out returns the directory that the job creates.
func (o FitOptions) out() string {
	if o.Model != "" {
		return o.Model
	}
	return o.SaveSums
}

// run adds up the terms, writes the total to SaveSums and fits Model, unless these are "".
// forgotten has the HMACs that identify subtracted rows: see Certificate.SumsOfRows.
func (o FitOptions) run(ctx context.Context, terms []parts.Term, forgotten []string) (p *sums.Part, result *training.Result,
	err error) {
	all, err := parts.Add(ctx, terms)
	if err != nil {
		return nil, nil, err
	}
	all.Forgotten = append(all.Forgotten, forgotten...)
	again := training.ByRecipe{Recipe: all.Recipe, Parent: o.parent, Lambda: o.Lambda, Calibrate: o.Calibrate,
		Reporting: o.Reporting, Job: o.Job}
	t, err := again.BeginAdded(ctx, o.out(), all.Added)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = t.Close(ctx, err) }()
	if o.Model != "" {
		m := spec.MemoryOfSums(all.Recipe, all.ClassCount(), all.Added.Rows.Used, o.listedRows(all), t.Engine.Threads)
		if o.Each != "" {
			m.Peak = max(m.Peak, job.ProgramBytes+job.SlackBytes+segments.Bytes(all, t.Engine.Threads))
		}
		if err := t.Reserve(m); err != nil {
			return nil, nil, err
		}
	}
	t.Lineage = all.Lineage()
	p, fit, err := o.fit(ctx, t, all)
	if err != nil || o.Model == "" {
		return p, nil, err
	}
	result, err = t.Finish(ctx, fit)
	if err == nil {
		result.Sums = len(all.Leaves)
	}
	return p, result, err
}

// fit adds up the sums and, if there is a model to create, solves for its weights.
func (o FitOptions) fit(ctx context.Context, t *training.RecipeJob, all *parts.Total) (p *sums.Part, fit *training.Fit,
	err error) {
	var (
		summed *training.Summed
		files  []storage.File
		rows   sums.RowHashes
	)
	err = t.Timed(ctx, "add", func(ctx context.Context) error {
		// The name of the state depends on the content of the sums, not on their directories.
		digest := ""
		for _, d := range all.Terms {
			digest += d.Part.Sums + map[bool]string{true: "+", false: "-"}[d.Sign > 0]
		}
		listed := o.listedRows(all)
		if listed > 0 {
			if rows, err = all.Contents(ctx, listed); err != nil {
				return err
			}
		}
		summed = t.NewSummed(digest)
		if o.SaveSums != "" && slices.ContainsFunc(all.Terms, func(d parts.Term) bool { return d.Members != nil }) {
			t.Progress.Note("%s has one sum of all values of sum --by: --where and --each need the sums that were added",
				o.SaveSums)
		}
		t.Progress.Note("adding up %s: %s in all, a thread has %s of them in memory", report.Counted(len(all.Terms), "sum"),
			report.Bytes(int64(summed.Folds)*summed.Shape.Bytes()), report.Bytes(partBytes))
		if err := all.Write(ctx, summed, t.Engine.Threads); err != nil {
			return err
		}
		p, files, err = t.Part(ctx, summed, o.SaveSums != "")
		if err != nil || o.SaveSums == "" {
			return err
		}
		if listed > 0 {
			files = append(files, p.List(rows))
		} else {
			t.Progress.Note("%s", unlisted)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	p.Leaves, p.Forgotten, p.Rows = all.Leaves, all.Forgotten, models.Rows(all.Added.Rows)
	if o.Model != "" {
		err = t.Timed(ctx, "solve", func(ctx context.Context) (err error) {
			if fit, err = t.SolveSums(ctx, summed, p.Sums); err != nil || o.Each == "" {
				return err
			}
			s, err := segments.Fit(ctx, all, o.Each, fit.Learner.Lambda, t.Engine.Threads)
			if err == nil {
				fit.Segments, t.Notes = s.Segments, append(t.Notes, s.Notes...)
			}
			return err
		})
	}
	if err != nil || o.SaveSums == "" {
		return p, fit, err
	}
	return p, fit, t.Timed(ctx, "add", func(ctx context.Context) error { return o.save(ctx, t, all, p, files) })
}

// partBytes is the approximate size of a part of sums in memory, with its encoded form.
const partBytes = 3 * ridge.MaxPartBytes

// save publishes the sums.
func (o FitOptions) save(ctx context.Context, t *training.RecipeJob, all *parts.Total, p *sums.Part,
	files []storage.File) error {
	files, err := p.Files(all.Recipe, files)
	if err != nil {
		return err
	}
	if o.Model == "" {
		return t.Job.Publish(ctx, o.SaveSums, files)
	}
	err = storage.Publish(ctx, o.SaveSums, files)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if there, readErr := sums.ReadPart(ctx, o.SaveSums); readErr == nil && there.Sums == p.Sums &&
		len(there.Leaves) == len(p.Leaves) {
		t.Progress.Note("%s already has these sums", o.SaveSums)
		return nil
	}
	return exit.Refuse("pipelines: %s exists and has other sums; remove it, or name another directory with --save_sums",
		o.SaveSums)
}

// Facts describes a fit to sums by the manifests of their directories.
type Facts struct {
	Recipe      *sums.Recipe
	Directories int // of sums that are read
	Parts       int // of the data
	Classes     int // 0 if there are none
	Rows        int64
	Bytes       int64 // of the sums
	Listed      int64 // rows whose hashes are read
}

// FactsOf reads the manifests of the sums that a fit adds and subtracts, and checks that it can.
func FactsOf(ctx context.Context, o FitOptions) (*Facts, error) {
	if err := o.checkChoices(); err != nil {
		return nil, err
	}
	terms, err := o.Open(ctx)
	if err != nil {
		return nil, err
	}
	all, err := parts.Add(ctx, terms)
	if err != nil {
		return nil, err
	}
	f := &Facts{
		Recipe: all.Recipe, Directories: len(terms), Parts: len(all.Leaves),
		Classes: all.ClassCount(), Rows: all.Added.Rows.Used, Listed: o.listedRows(all),
	}
	for _, d := range terms {
		f.Bytes += d.Bytes()
	}
	return f, nil
}
