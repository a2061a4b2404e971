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
	last := recipe
	if chain, ok := recipe.(features.Chain); ok {
		last = chain.Steps[len(chain.Steps)-1]
	}
	r, ok := last.(learned.Recipe)
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
func takeLearned(ctx context.Context, j *job.Job, dir string, d int) (Recipe, error) {
	bad := func(format string, args ...any) (Recipe, error) {
		return Recipe{}, models.NewError(dir, fmt.Errorf(format, args...))
	}
	data, err := readLearned(ctx, dir, LearnedFile, maxLearned)
	if err != nil {
		return Recipe{}, err
	}
	var f results.Learned
	if err := json.Unmarshal(data, &f); err != nil {
		return bad("%s is damaged (%w); run bochner align again", LearnedFile, err)
	}
	if f.Format < 1 || f.Format > LearnedFormat {
		return bad("format version %d, this program reads up to %d; upgrade bochner", f.Format, LearnedFormat)
	}
	var files []storage.File
	for _, sum := range f.Files {
		if sum.Name != learned.FileName && sum.Name != GameFile {
			return bad("%s names the file %q, which learned features do not have", LearnedFile, sum.Name)
		}
		content, err := readLearned(ctx, dir, sum.Name, sum.Size)
		if err != nil {
			return Recipe{}, err
		}
		if err := sum.Check(content); err != nil {
			return bad("%w", err)
		}
		file := storage.File{Name: sum.Name, Data: content}
		files = append(files, file)
		if sum.Name != learned.FileName {
			continue
		}
		if _, err := learned.Provide(content); err != nil {
			return bad("%w", err)
		}
		if err := j.ShareFile(ctx, file, sum.SHA256); err != nil {
			return Recipe{}, err
		}
	}
	files = append(files, storage.File{Name: LearnedFile, Data: data})
	opened, err := f.Recipe.Open()
	if err != nil {
		return bad("%s: %w", LearnedFile, err)
	}
	if _, err := opened.New(); err != nil {
		return bad("%s: %w", LearnedFile, err)
	}
	in, out, err := features.Dims(opened)
	if err != nil {
		return bad("%s: %w", LearnedFile, err)
	}
	if in != d {
		return Recipe{}, exit.Dataf("pipelines: --frequencies %s: the features are for rows of %d numbers, the data has %d",
			dir, in, d)
	}
	_, name := storage.Split(strings.TrimRight(dir, "/"))
	return Recipe{
		Sealed: f.Recipe, Dim: out, Width: f.Width, Name: LearnedName(&f, opened), Files: files,
		Origin: &RecipeOrigin{Name: name, SHA256: models.NewFileEntry(LearnedFile, data).SHA256, HeldOut: f.HeldOut,
			Seed: f.Seed, Rows: f.Data, Fingerprint: f.Fingerprint},
	}, nil
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
