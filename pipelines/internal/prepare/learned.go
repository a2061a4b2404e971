package prepare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Files of a directory of learned features, and of a model that uses them. Learned frequencies are in
// learned.FileName.
const (
	LearnedFile = "align.json" // a Learned
	GameFile    = "game.json"  // the log of the game: a list of align.Report
)

// LearnedFormat is the version of LearnedFile.
const LearnedFormat = 1

// LearnedName describes the kernel.
func LearnedName(f *results.Learned, recipe features.Recipe) string {
	steps := features.StepsOf(recipe)
	r, ok := steps[len(steps)-1].(learned.Recipe)
	if !ok {
		return "harmonic kernel, " + report.Counted(f.Features, "harmonic")
	}
	text := fmt.Sprintf("learned kernel, %d frequencies", r.Count)
	if f.Game == nil {
		return text + " of large weight"
	}
	return text
}

// takeLearned reads the recipe that Align wrote to a directory, for rows of d numbers, and shares its files.
func takeLearned(ctx context.Context, j *job.Job, dir string, d int) (r Recipe, err error) {
	data, err := readLearned(ctx, dir, LearnedFile, maxLearned)
	if err != nil {
		return r, err
	}
	bad := func(format string, args ...any) (Recipe, error) {
		return r, models.NewError(dir, fmt.Errorf(format, args...))
	}
	var f results.Learned
	if err := json.Unmarshal(data, &f); err != nil {
		return bad("%s is damaged (%w); run bochner align again", LearnedFile, err)
	}
	if f.Format < 1 || f.Format > LearnedFormat {
		return bad("format version %d, this program reads up to %d; upgrade bochner", f.Format, LearnedFormat)
	}
	files := new(features.Files)
	for _, sum := range f.Files {
		file, err := takeFile(ctx, j, dir, sum, files)
		if err != nil {
			return r, err
		}
		r.Files = append(r.Files, file)
	}
	r.Files = append(r.Files, storage.File{Name: LearnedFile, Data: data})
	f.Recipe = f.Recipe.WithFiles(files)
	opened, err := f.Recipe.Open()
	if err != nil {
		return bad("%s: %w", LearnedFile, err)
	}
	made, err := opened.New()
	if err != nil {
		return bad("%s: %w", LearnedFile, err)
	}
	in, out := made.Dims()
	if in != d {
		return r, exit.Dataf("--frequencies %s: the features are for rows of %d numbers, the data has %d", dir, in, d)
	}
	_, name := storage.Split(strings.TrimRight(dir, "/"))
	r.Sealed, r.Dim, r.Width, r.Name = f.Recipe, out, f.Width, LearnedName(&f, opened)
	r.Origin = &RecipeOrigin{Name: name, SHA256: models.NewFileEntry(LearnedFile, data).SHA256, HeldOut: f.HeldOut,
		Seed: f.Seed, Rows: f.Data, Fingerprint: f.Fingerprint}
	return r, nil
}

// takeFile reads a file of learned features. It shares frequencies with workers, and adds them to files.
func takeFile(ctx context.Context, j *job.Job, dir string, sum models.FileEntry, files *features.Files) (storage.File,
	error) {
	file := storage.File{Name: sum.Name}
	if sum.Name != learned.FileName && sum.Name != GameFile {
		return file, models.NewError(dir,
			fmt.Errorf("%s names the file %q, which learned features do not have", LearnedFile, sum.Name))
	}
	var err error
	if file.Data, err = readLearned(ctx, dir, sum.Name, sum.Size); err != nil {
		return file, err
	}
	if err := sum.Check(file.Data); err != nil {
		return file, models.NewError(dir, err)
	}
	if sum.Name == GameFile {
		return file, nil
	}
	if _, err := files.Add(file.Name, file.Data); err != nil {
		return file, models.NewError(dir, err)
	}
	return file, j.ShareFile(ctx, file, sum.SHA256)
}

// maxLearned is the largest size of LearnedFile in bytes, enough for a million columns.
const maxLearned = 64 << 20

func readLearned(ctx context.Context, dir, name string, limit int64) ([]byte, error) {
	data, err := storage.ReadFile(ctx, storage.Join(dir, name), limit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, models.NewError(dir, fmt.Errorf("%s is missing; did bochner align create this directory?", name))
	case errors.Is(err, fs.ErrInvalid):
		return nil, models.NewError(dir, err)
	}
	return data, err
}
