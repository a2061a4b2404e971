package days

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms/gram"
)

// Sum sums rows by the recipe of a model in two passes, a profile and the sums, and publishes a directory of
// sums. An existing directory with the sums of the same files by the same recipe is left as it is.
func Sum(ctx context.Context, o options.Sum) (*results.Sum, error) {
	r, _, err := sumRows(ctx, o, nil)
	return r, err
}

func validateSum(o options.Sum) error {
	switch {
	case o.Recipe == "":
		return exit.Usagef("--recipe is missing: name the directory of a model")
	case o.Out == "":
		return exit.Usagef("--out is missing: name the directory to create")
	}
	if err := cmp.Or(prepare.CheckFraction(o.MaxBadFraction), prepare.CheckDrift(o.MaxDrift)); err != nil {
		return err
	}
	if len(o.By) == 0 && o.MinRows != 0 || o.MinRows < 0 {
		return exit.Usagef("--min_rows pools the segments of --by, and is not negative")
	}
	return job.Validate(o.Job, o.Data, o.Out, job.Dir{Flag: "out", Name: o.Out},
		job.Dir{Flag: "recipe", Name: o.Recipe})
}

// sumRows implements Sum. If recipe is not nil, it uses that recipe and also returns the rows.
func sumRows(ctx context.Context, o options.Sum, recipe *sums.Recipe) (result *results.Sum, rows []row, err error) {
	o.Data.Segments = o.By
	byRecipe := training.ByRecipe{Recipe: recipe, Data: o.Data, MinRows: o.MinRows, MaxBadFraction: o.MaxBadFraction,
		Job: o.Job, RowHashes: true, Positions: recipe != nil}
	if recipe == nil {
		if err := validateSum(o); err != nil {
			return nil, nil, err
		}
		if byRecipe.Recipe, err = training.ReadRecipe(ctx, o.Recipe, o.Job.Log); err != nil {
			return nil, nil, err
		}
	}
	leaf, files, err := leafOf(ctx, o, byRecipe.Recipe)
	if err != nil {
		return nil, nil, err
	}
	if existing, err := existingSum(ctx, o, byRecipe.Recipe, leaf); err != nil {
		return nil, nil, err
	} else if existing != nil {
		return existing, nil, checkDrift(o.MaxDrift, existing.Drift)
	}
	t, err := byRecipe.Begin(ctx, o.Out)
	if err != nil {
		return nil, nil, err
	}
	j, p := t.Training.Job, t.Training.Prepared
	defer func() { err = j.Close(ctx, err) }()
	for i := range files {
		if len(files) != len(p.Data.Files) || files[i].URI != p.Data.Files[i].URI ||
			files[i].Version != p.Data.Files[i].Version {
			return nil, nil, exit.Dataf(
				"the files of the data have changed since they were listed; start again when no process writes to them")
		}
	}
	if err := checkDrift(o.MaxDrift, p.Drift); err != nil {
		return nil, nil, err
	}
	s := &sumRun{job: t, recipe: byRecipe.Recipe, leaf: leaf, listsRows: recipe != nil,
		result: &results.Sum{Out: o.Out, Seconds: j.Seconds, Kernel: byRecipe.Recipe.Kernel}}
	if err := s.sum(ctx); err != nil {
		return nil, nil, err
	}
	s.result.Notes = t.Training.Notes
	return s.result, s.rows, nil
}

// sumRun sums the rows of a job, and publishes the sums.
type sumRun struct {
	job       *training.RecipeJob
	recipe    *sums.Recipe
	leaf      sums.Leaf // of the files
	listsRows bool      // the caller needs the rows
	rows      []row     // nil unless listsRows is set
	result    *results.Sum
}

// sum sums the rows in a pass, and describes and publishes the result.
func (s *sumRun) sum(ctx context.Context) error {
	t := s.job.Training
	defer t.Job.Time("sum")()
	summed, err := s.job.SumRows(ctx)
	if err != nil {
		return err
	}
	p, files, err := s.job.Manifest(ctx, summed, true)
	if err != nil {
		return err
	}
	for _, r := range summed.Reports {
		s.rows = append(s.rows, rowsOfSum(r, t.Prepared.Data.Files)...)
	}
	if p.Rows.Used <= sums.MaxRowHashes {
		files = append(files, setRowHashes(p, summed))
	} else if !s.listsRows {
		t.Notes = append(t.Notes, unlisted)
	}
	s.leaf.Rows = p.Rows
	markEmpty(s.leaf.Files, t.Prepared.Data.Files, summed.Reports)
	p.Leaves = []sums.Leaf{s.leaf}
	p.Drift = t.Prepared.Drift
	describeSum(s.result, p, s.recipe)
	if files, err = p.Files(s.recipe, append(files, job.SetAsideFiles(t.Prepared.Counts)...)); err != nil {
		return err
	}
	return t.Job.Publish(ctx, s.result.Out, files)
}

// markEmpty sets Empty of the inputs without rows. inputs are what sums.InputsOf returns for the files.
func markEmpty(inputs []sums.Input, files []dataset.File, reports []gram.ShardReport) {
	rows := make([]int64, len(files))
	for _, r := range reports {
		rows[r.Shard.File] += r.Rows
	}
	next := 0
	for i, f := range files {
		inputs[next].Empty = rows[i] == 0
		next++
		if f.Labels != nil {
			next++
		}
	}
}

// setRowHashes sets the hashes of the summed rows in p, and returns the file with them.
func setRowHashes(p *sums.Manifest, s *training.WorkSums) (all storage.File) {
	if s.Segments == nil {
		var hashes [][]byte
		for _, r := range s.Reports {
			hashes = append(hashes, r.RowHashes)
		}
		return p.SetRowHashes(sums.DecodeRowHashes(hashes...))
	}
	for i := range s.Segments {
		f := p.Segments[i].SetRowHashes(sums.DecodeRowHashes(s.Segments[i].RowHashes...))
		all.Name, all.Data = f.Name, append(all.Data, f.Data...)
	}
	return all
}

func describeSum(r *results.Sum, p *sums.Manifest, recipe *sums.Recipe) {
	r.Manifest, r.Bytes = p, p.Bytes()
	if recipe.Classes == nil {
		return
	}
	for _, c := range p.Classes {
		if _, known := recipe.Classes.Index([]byte(c)); !known {
			r.NewClasses = append(r.NewClasses, c)
		}
	}
}

// leafOf describes the files of the data, and returns the listed files.
func leafOf(ctx context.Context, o options.Sum, r *sums.Recipe) (sums.Leaf, []dataset.File, error) {
	d, err := prepare.OpenByRecipe(ctx, options.Job{}, o.Data, r)
	if err != nil {
		return sums.Leaf{}, nil, err
	}
	files, err := sums.InputsOf(ctx, d, math.MaxInt64)
	if err != nil {
		return sums.Leaf{}, nil, err
	}
	_, name := storage.Split(strings.TrimRight(o.Out, "/"))
	label := ""
	if d.Labeled {
		label = d.Label
	}
	return sums.NewLeaf(name, r.Digest, label, o.Data.Weight, files), d.Files, nil
}

// existingSum returns the result of an existing directory with sums of the same rows; nil if none.
func existingSum(ctx context.Context, o options.Sum, r *sums.Recipe, leaf sums.Leaf) (*results.Sum, error) {
	if o.Job.Resume {
		return nil, nil // the job continues, and publishing compares its result with the directory
	}
	p, err := sums.ReadManifest(ctx, o.Out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // if something else is there, publishing fails
	}
	if err != nil {
		return nil, err
	}
	switch {
	case p.Recipe != r.Digest:
		return nil, exit.Dataf(
			"%s has sums by another recipe than %s; remove it, or name another directory with --out", o.Out, o.Recipe)
	case !slices.Equal(p.SegmentColumns, o.By) || p.MinRows != o.MinRows:
		return nil, exit.Dataf("%s has sums by other segments: --by %s and --min_rows %d; remove it, or "+
			"name another directory with --out",
			o.Out, cmp.Or(strings.Join(p.SegmentColumns, ","), "''"), p.MinRows)
	case len(p.Leaves) != 1 || len(p.Forgotten) > 0 || p.Leaves[0].Digest != leaf.Digest:
		return nil, exit.Dataf(
			"%s has the sums of other files: %s; remove it if the files have been replaced, or name "+
				"another directory with --out", o.Out, filesText(p))
	}
	result := &results.Sum{Out: o.Out, Found: true, Kernel: r.Kernel}
	describeSum(result, p, r)
	return result, nil
}

// filesText names some of the files of a part.
func filesText(p *sums.Manifest) string {
	var names []string
	for _, l := range p.Leaves {
		for _, f := range l.Files {
			names = append(names, f.Name)
		}
	}
	return report.SomeOf(names)
}
