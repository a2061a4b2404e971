package days

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/segments"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/internal/sumdirs"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Fit adds and subtracts sums of one recipe, fits a model to them, and publishes its directory. The model has
// the same bytes as one that is trained with the recipe on the rows of the sums. While Fit adds, it holds one
// part of the sums per thread; the sums of all folds are in the work directory.
func Fit(ctx context.Context, o options.Fit) (result *results.Train, err error) {
	terms, err := openTerms(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.Model == "" {
		return nil, exit.Usagef("--model is missing: name the directory to create")
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
	_, result, err = fitTerms(ctx, o, "", terms, nil)
	return result, err
}

// AddSums adds and subtracts sums of one recipe, and publishes a directory with the result. If all
// subtracted rows are among the added ones, it is the same as from summing the remaining rows at once.
func AddSums(ctx context.Context, add options.AddSums) (*results.Sum, error) {
	if add.Out == "" {
		return nil, exit.Usagef("--out is missing: name the directory to create")
	}
	o := options.Fit{SumDirs: add.SumDirs, SaveSums: add.Out, Job: add.Job}
	terms, err := openTerms(ctx, o)
	if err != nil {
		return nil, err
	}
	p, _, err := fitTerms(ctx, o, "", terms, nil)
	if err != nil {
		return nil, err
	}
	result := &results.Sum{Out: o.SaveSums, Kernel: terms[0].Recipe.Kernel}
	describeSum(result, p, terms[0].Recipe)
	return result, nil
}

// openTerms checks the options of a fit and opens its directories of sums.
func openTerms(ctx context.Context, o options.Fit) ([]sumdirs.Term, error) {
	model := job.Dir{Flag: "model", Name: o.Model}
	out := job.Dir{Flag: "model", Name: outputOf(o)}
	if err := cmp.Or(checkChoices(o), job.CheckOutputs(model, job.Dir{Flag: "save_sums", Name: o.SaveSums}),
		job.Validate(o.Job, dataset.Options{}, out.Name, out)); err != nil {
		return nil, err
	}
	return sumdirs.Open(ctx, o.SumDirs)
}

// checkChoices returns an error for invalid options, among them those that need the scores of rows: sums only
// give squared errors.
func checkChoices(o options.Fit) error {
	if err := spec.ValidateLambda(o.Lambda); err != nil {
		return err
	}
	switch l := o.Lambda; {
	case l.Folds != 0:
		return exit.Usagef("--folds cannot be used with sums: the recipe determines their folds")
	case o.Model != "" && o.Model == o.SaveSums:
		return exit.Usagef("--model and --save_sums name the same directory, %s; name two", o.Model)
	case o.Each != "" && o.Calibrate == options.CalibrationPlatt:
		return exit.Usagef("--each cannot be used with --calibrate: the scores of segments have other curves")
	case l.Select != "" && l.Select != options.SelectMSE:
		return exit.Usagef("--select %s needs the scores of rows, and sums have only the squared errors of all "+
			"folds, by which --select mse chooses; train on the rows for it", l.Select)
	}
	return prepare.CheckDrift(o.MaxDrift)
}

// outputOf returns the directory that the job creates.
func outputOf(o options.Fit) string { return cmp.Or(o.Model, o.SaveSums) }

// fitTerms adds up the terms, writes the total to SaveSums and fits Model, unless these are "".
// forgotten holds the HMACs that identify subtracted rows: see results.Certificate.SumsOfRows. parent is the name of
// the model with the recipe, for the lineage; "" if unknown.
func fitTerms(ctx context.Context, o options.Fit, parent string, terms []sumdirs.Term,
	forgotten []string) (p *sums.Manifest, result *results.Train, err error) {
	all, err := sumdirs.Add(ctx, terms)
	if err != nil {
		return nil, nil, err
	}
	all.Forgotten = append(all.Forgotten, forgotten...)
	byRecipe := training.ByRecipe{Recipe: all.Recipe, Parent: parent, Lambda: o.Lambda, Calibrate: o.Calibrate,
		Reporting: o.Reporting, Job: o.Job}
	t, err := byRecipe.BeginAdded(ctx, outputOf(o), all.Added)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = t.Training.Job.Close(ctx, err) }()
	if o.Model != "" {
		m := spec.MemoryOfSums(all.Recipe, all.ClassCount(), all.Added.Rows.Used, listedRows(o, all),
			t.Training.Job.Engine.Threads)
		if o.Each != "" {
			m.PeakBytes = max(m.PeakBytes, job.ProgramBytes+job.SlackBytes+
				segments.Bytes(all, t.Training.Job.Engine.Threads))
		}
		if err := t.Training.Reserve(m); err != nil {
			return nil, nil, err
		}
	}
	t.Lineage = all.Lineage()
	f := &sumFit{options: o, job: t, total: all}
	if err := f.run(ctx); err != nil || o.Model == "" {
		return f.manifest, nil, err
	}
	if result, err = t.Finish(ctx, f.fit); err != nil {
		return f.manifest, nil, err
	}
	result.Sums = len(all.Leaves)
	return f.manifest, result, nil
}

// sumFit adds up sums and fits a model to the total.
type sumFit struct {
	options  options.Fit
	job      *training.RecipeJob
	total    *sumdirs.Total
	summed   *training.WorkSums
	manifest *sums.Manifest // of summed
	files    []storage.File // to save with it
	fit      *training.Fit  // nil if there is no model to create
}

// run adds up the sums, solves for the weights if there is a model to create, and saves the total if it is to be kept.
func (f *sumFit) run(ctx context.Context) error {
	if err := f.add(ctx); err != nil {
		return err
	}
	if f.options.Model != "" {
		if err := f.solve(ctx); err != nil {
			return err
		}
	}
	if f.options.SaveSums != "" {
		return f.save(ctx)
	}
	return nil
}

// partBytes is the approximate size of a part of sums in memory, with its encoded form.
const partBytes = 3 * ridge.MaxPartBytes

// add adds up the sums in the work directory, and describes them.
func (f *sumFit) add(ctx context.Context) (err error) {
	o, all, j := &f.options, f.total, f.job.Training.Job
	defer j.Time("add")()
	// The name of the state depends on the content of the sums, not on their directories.
	digest := ""
	for _, d := range all.Terms {
		digest += d.Manifest.Sums
		if d.Sign > 0 {
			digest += "+"
		} else {
			digest += "-"
		}
	}
	var rows sums.RowHashes
	listed := listedRows(*o, all)
	if listed > 0 {
		if rows, err = all.RowHashes(ctx, listed); err != nil {
			return err
		}
	}
	f.summed = f.job.NewWorkSums(digest)
	if o.SaveSums != "" && slices.ContainsFunc(all.Terms, func(d sumdirs.Term) bool { return d.Members != nil }) {
		j.Progress.Notef("%s has one sum of all values of sum --by: --where and --each need the sums that were added",
			o.SaveSums)
	}
	j.Progress.Notef("adding up %s: %s in all, a thread has %s of them in memory", report.Counted(len(all.Terms), "sum"),
		report.Bytes(int64(f.summed.Folds)*f.summed.Shape.Bytes()), report.Bytes(partBytes))
	if err := all.Write(ctx, f.summed, j.Engine.Threads); err != nil {
		return err
	}
	f.manifest, f.files, err = f.job.Manifest(ctx, f.summed, o.SaveSums != "")
	if err != nil {
		return err
	}
	switch {
	case o.SaveSums == "":
	case listed > 0:
		f.files = append(f.files, f.manifest.SetRowHashes(rows))
	default:
		j.Progress.Notef("%s", unlisted)
	}
	f.manifest.Leaves, f.manifest.Forgotten = all.Leaves, all.Forgotten
	f.manifest.Rows = models.RowCounts(all.Added.Rows)
	return nil
}

// solve fits a model to the total, and a linear model to the sums of each segment.
func (f *sumFit) solve(ctx context.Context) (err error) {
	t := f.job.Training
	defer t.Job.Time("solve")()
	f.fit, err = f.job.SolveSums(ctx, f.summed, f.manifest.Sums)
	if err != nil || f.options.Each == "" {
		return err
	}
	s, notes, err := segments.Fit(ctx, f.total, f.options.Each, f.fit.Learner.Lambda, t.Job.Engine.Threads)
	f.fit.Segments, t.Notes = s, append(t.Notes, notes...)
	return err
}

// save publishes the total.
func (f *sumFit) save(ctx context.Context) error {
	j, dir := f.job.Training.Job, f.options.SaveSums
	defer j.Time("save")()
	files, err := f.manifest.Files(f.total.Recipe, f.files)
	if err != nil {
		return err
	}
	if f.options.Model == "" {
		return j.Publish(ctx, dir, files)
	}
	err = storage.Publish(ctx, dir, files)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if stored, readErr := sums.ReadManifest(ctx, dir); readErr == nil && stored.Sums == f.manifest.Sums &&
		len(stored.Leaves) == len(f.manifest.Leaves) {
		j.Progress.Notef("%s already has these sums", dir)
		return nil
	}
	return exit.Dataf("%s exists and has other sums; remove it, or name another directory with --save_sums",
		dir)
}

// OpenFit opens the sums that a fit adds and subtracts, and checks that it can. It reads only their manifests.
// listed is the number of rows whose hashes the fit reads.
func OpenFit(ctx context.Context, o options.Fit) (all *sumdirs.Total, listed int64, err error) {
	if err := checkChoices(o); err != nil {
		return nil, 0, err
	}
	terms, err := sumdirs.Open(ctx, o.SumDirs)
	if err != nil {
		return nil, 0, err
	}
	if all, err = sumdirs.Add(ctx, terms); err != nil {
		return nil, 0, err
	}
	return all, listedRows(o, all), nil
}
