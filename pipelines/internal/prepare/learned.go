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
	"github.com/bochner-ml/bochner/models/align"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// Files of a directory of learned features, and of a model that uses them. Learned frequencies are in
// learned.FileName.
const (
	LearnedFile = "align.json" // a Learned
	GameFile    = "game.json"  // the log of the game: a list of align.Report
)

// LearnedFormat is the version of LearnedFile.
const LearnedFormat = 1

// Learned describes learned features and how they were learned. It has no times and no paths, so equal features
// have equal files.
type Learned struct {
	Format  int    `json:"format"`
	Program string `json:"program"` // version of the program that wrote it
	LearnedFeatures
	Options json.RawMessage `json:"options"`          // all options of the learner
	Lambda  float64         `json:"lambda,omitempty"` // of the game
	Game    *align.Report   `json:"game,omitempty"`   // its last round
	Sample  int             `json:"sample"`           // number of rows that the chains searched on
	// Bound is the number of sampled rows that guarantees potentials with an error of at most 0.1.
	Bound float64 `json:"sample_bound,omitempty"`
	LearnedRows
	Files []models.FileEntry `json:"files,omitempty"` // the other files of the directory
}

// LearnedFeatures describes the map of learned features.
type LearnedFeatures struct {
	Kernel   string          `json:"kernel"` // in words
	Recipe   features.Sealed `json:"recipe"` // of the map, with the scaling of rows
	Features int             `json:"features"`
	Width    float64         `json:"width"` // of the Gaussian kernel that the search started from
	Seed     uint64          `json:"seed,string"`
}

// LearnedRows describes the rows that features were learned from.
type LearnedRows struct {
	Classes []string `json:"classes"`
	Rows    int64    `json:"rows"` // number of rows used for learning
	// HeldOut is the number of folds, by seed and content of the rows. The first was not used, so that it can
	// measure held-out errors. 0 means that all rows were used.
	HeldOut     int    `json:"held,omitempty"`
	Fingerprint string `json:"data_fingerprint"` // equal for equal rows and seeds
	// Data is equal for equal rows, whatever the seed.
	Data string `json:"data,omitempty"`
}

// Name describes the kernel.
func (f *Learned) Name(recipe features.Recipe) string {
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
	var f Learned
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
		if err := j.Share(ctx, file, sum.SHA256); err != nil {
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
		return Recipe{}, exit.Refuse("pipelines: --frequencies %s: the features are for rows of %d numbers, the data has %d",
			dir, in, d)
	}
	_, name := storage.Split(strings.TrimRight(dir, "/"))
	return Recipe{
		Sealed: f.Recipe, Dim: out, Width: f.Width, Name: f.Name(opened), Files: files,
		Origin: &RecipeOrigin{Name: name, SHA256: models.EntryOf(LearnedFile, data).SHA256, HeldOut: f.HeldOut,
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

// Write describes how the features were learned, for people.
func (f *Learned) Write(b *strings.Builder) {
	fmt.Fprintf(b, "learned   from %s rows", report.Groups(f.Rows))
	if f.HeldOut > 0 {
		fmt.Fprintf(b, "; %s held out of the search", report.OneIn(f.HeldOut))
	}
	fmt.Fprintln(b)
	if f.Sample > 0 {
		fmt.Fprintf(b, "sample    %s rows", report.Groups(int64(f.Sample)))
		if f.Bound > 0 {
			fmt.Fprintf(b, "; %.2g rows guarantee potentials within 0.1 everywhere, with probability 0.95", f.Bound)
		}
		fmt.Fprintln(b)
	}
	g := f.Game
	if g == nil {
		return
	}
	fmt.Fprintf(b, "game      %s, lambda %.4g\n", report.Counted(g.Round, "round"), f.Lambda)
	if g.Zeta > 0 {
		fmt.Fprintf(b, "search    step ζ %.4g, temperature ξ %.4g in the last round\n", g.Zeta, g.Xi)
	}
	fmt.Fprintf(b, "value     at least %.6g", g.Lower)
	if g.Proven {
		fmt.Fprintf(b, ", at most %.6g: the regret is at most %.4g", g.Upper, g.Upper-g.Lower)
	} else {
		fmt.Fprintf(b, "; without decreasing steps there is no upper bound")
	}
	fmt.Fprintln(b)
}
