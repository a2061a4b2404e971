package sums

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
)

// RecipeFile is the file of a part that holds its recipe.
const RecipeFile = "recipe.json"

// Recipe determines how rows become sums and sums a model, without reading the rows again. It is part of a model
// directory, and shared by all models that are trained by it. Parts hold a copy.
type Recipe struct {
	Format   int             `json:"format"`
	Task     models.Task     `json:"task"`
	Seed     uint64          `json:"seed,string"`
	Features features.Sealed `json:"recipe"`
	Kernel   string          `json:"kernel"` // in words
	Width    float64         `json:"width,omitempty"`
	Learner  string          `json:"learner"`
	Input    models.Input    `json:"input"`
	// Classes of a classification. Parts may have further classes.
	Classes *schema.Vocabulary `json:"classes,omitempty"`
	// TargetGrid is the grid of the targets of a regression. Rows with targets outside it cannot be used.
	TargetGrid linear.Grids `json:"target_grid,omitempty"`
	Rule       Rule         `json:"rule"`
	// Files are the files of a model trained by the recipe, except its manifest and weights.
	Files []models.FileEntry `json:"files"`

	Opened `json:"-"`
}

// Opened holds the fields of a recipe that follow from its JSON and its files.
type Opened struct {
	Schema     *dataset.Schema // decoded from Input
	Profile    *Profile        // from ProfileFile
	ExtraFiles []storage.File  // the content of Files
	Dim        int             // number of features
	Digest     string          // SHA-256 of the recipe's file. Equal recipes have equal digests.
}

// maxRecipe limits the size of RecipeFile.
const maxRecipe = models.MaxManifest

// ReadRecipe returns the recipe of a model directory and the model's manifest. The error is a models.ErrBadModel if
// the directory has no usable model, and ErrNotBySums if the model was not trained by sums.
func ReadRecipe(ctx context.Context, dir string) (*Recipe, *models.Manifest, error) {
	m, err := models.ReadManifest(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	if m.Learner.Log != nil {
		return nil, nil, fmt.Errorf("%w: %s was fitted by the iterative learner %s; train it again on all rows "+
			"(--init begins with its weights, which is not exact)", ErrNotBySums, dir, m.Learner.Kind)
	}
	p, err := ReadProfile(ctx, dir, m)
	if err != nil {
		return nil, nil, err
	}
	if p.Rule == nil {
		return nil, nil, fmt.Errorf("%w: %s", ErrNotBySums, dir)
	}
	r := &Recipe{
		Task: m.Task, Seed: m.Seed, Features: m.Recipe, Kernel: p.Kernel, Width: m.Profile.Width, Learner: m.Learner.Kind,
		Input: m.Input, TargetGrid: m.TargetGrid, Rule: *p.Rule,
	}
	if m.Task == models.Classification {
		r.Classes = schema.NewVocabulary(p.Classes)
	}
	for _, f := range m.Files {
		if slices.Contains([]string{models.WeightsFile, models.SegmentsFile, models.SketchFile}, f.Name) {
			continue
		}
		data, err := models.ReadFile(ctx, dir, m, f.Name)
		if err != nil {
			return nil, nil, err
		}
		r.Files, r.ExtraFiles = append(r.Files, f), append(r.ExtraFiles, storage.File{Name: f.Name, Data: data})
	}
	data, err := r.encode()
	if err != nil {
		return nil, nil, err
	}
	// Decode it again, so that it is what parts hold, byte for byte.
	if r, err = decodeRecipe(data, r.ExtraFiles); err != nil {
		return nil, nil, models.NewError(dir, err)
	}
	return r, m, nil
}

// Unlabelled returns a recipe for one sum of rows without labels, weights and groups. It keeps only the
// features, their grid, the input and the files.
func (r *Recipe) Unlabelled() (*Recipe, error) {
	u := &Recipe{Task: models.Embedding, Seed: r.Seed, Features: r.Features, Kernel: r.Kernel, Width: r.Width,
		Learner: r.Learner, Input: r.Input, Rule: Rule{Folds: 1, Steps: r.Rule.Steps, Components: 1}}
	for _, f := range r.ExtraFiles {
		u.Files = append(u.Files, models.NewFileEntry(f.Name, f.Data))
	}
	data, err := u.encode()
	if err != nil {
		return nil, err
	}
	return decodeRecipe(data, r.ExtraFiles)
}

// ErrNotBySums is returned for a model that was not trained by sums.
var ErrNotBySums = errors.New("only models trained by exact sums (learners ridge and pca) are recipes for later data")

// encode returns the content of RecipeFile. A recipe may be encoded by several goroutines at once.
func (r *Recipe) encode() ([]byte, error) {
	current := *r
	current.Format = Format
	data, err := json.MarshalIndent(&current, "", " ")
	return append(data, '\n'), err
}

// decodeRecipe decodes what encode returns, and registers the files that it names for the recipes of this process.
func decodeRecipe(data []byte, kept []storage.File) (*Recipe, error) {
	r := &Recipe{Opened: Opened{ExtraFiles: kept}}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s: %w", RecipeFile, err)
	}
	if r.Format < 1 || r.Format > Format {
		return nil, fmt.Errorf("%s: format version %d, this program reads up to %d; upgrade bochner", RecipeFile, r.Format,
			Format)
	}
	if err := r.complete(); err != nil {
		return nil, fmt.Errorf("%s: %w", RecipeFile, err)
	}
	sum := sha256.Sum256(data)
	r.Digest = hex.EncodeToString(sum[:])
	return r, nil
}

// complete checks the recipe and sets the fields that follow from its files.
func (r *Recipe) complete() error {
	if err := r.takeFiles(); err != nil {
		return err
	}
	if err := r.Rule.validate(); err != nil {
		return err
	}
	if err := r.checkTask(); err != nil {
		return err
	}
	opened, err := r.Features.Open()
	if err != nil {
		return err
	}
	in, out, err := features.Dims(opened)
	if err != nil {
		return err
	}
	if in != r.Input.Dim || out > ridge.MaxDim || r.Rule.Components > out {
		return fmt.Errorf("%d features of %d numbers, and %d components, for rows of %d", out, in, r.Rule.Components,
			r.Input.Dim)
	}
	r.Dim = out
	if r.Schema, err = dataset.SchemaOf(r.Input.Options); err != nil {
		return err
	}
	// Whitespace is not part of the recipe.
	var compact bytes.Buffer
	if err := json.Compact(&compact, r.Input.Options); err != nil {
		return err
	}
	r.Input.Options = compact.Bytes()
	return nil
}

// takeFiles checks the files, attaches the files that the feature recipe refers to, and sets Profile.
func (r *Recipe) takeFiles() (err error) {
	if len(r.ExtraFiles) != len(r.Files) {
		return fmt.Errorf("%d files, want %d", len(r.ExtraFiles), len(r.Files))
	}
	files := new(features.Files)
	for i, f := range r.Files {
		data := r.ExtraFiles[i].Data
		if r.ExtraFiles[i].Name != f.Name {
			return fmt.Errorf("%s is missing", f.Name)
		}
		if err := f.Check(data); err != nil {
			return err
		}
		if slices.Contains(features.FileNames(), f.Name) {
			if _, err := files.Add(f.Name, data); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		}
		if f.Name == ProfileFile {
			if r.Profile, err = decodeProfile(data); err != nil {
				return err
			}
		}
	}
	if r.Profile == nil {
		return fmt.Errorf("%s is missing", ProfileFile)
	}
	r.Features = r.Features.WithFiles(files)
	return nil
}

// checkTask returns an error if the task is unknown, or the targets do not fit it.
func (r *Recipe) checkTask() error {
	switch {
	case r.Task == models.Classification && (r.Classes == nil || r.TargetGrid != nil):
		return errors.New("classification without classes")
	case r.Task == models.Classification && r.Profile.Shapes != nil && (r.Rule.Folds < 2 ||
		len(r.Profile.Shapes) != len(r.Classes.Classes) ||
		slices.ContainsFunc(r.Profile.Shapes, func(s ridge.CurveShape) bool { return !s.Valid() })):
		return fmt.Errorf("invalid shapes of curves: %v", r.Profile.Shapes)
	case r.Task == models.Regression && (len(r.TargetGrid) == 0 || r.Classes != nil):
		return errors.New("regression without a grid")
	case r.Task == models.Embedding && (r.Rule.Components == 0 || r.Classes != nil || r.TargetGrid != nil):
		return errors.New("embedding without components")
	case r.Task != models.Classification && r.Task != models.Regression && r.Task != models.Embedding:
		return fmt.Errorf("unknown task %q", r.Task)
	}
	return r.TargetGrid.Validate()
}

// Shape returns the shape of sums with the given number of classes, which a regression ignores.
func (r *Recipe) Shape(classes int) ridge.Shape {
	s := ridge.Shape{Dim: r.Dim, Outputs: classes, Weighted: r.Rule.Weights != nil}
	switch r.Task {
	case models.Regression:
		s.Regression, s.Outputs = true, len(r.TargetGrid)
	case models.Embedding:
		s.Outputs = 1
	}
	return s
}

// Curves returns Platt's sigmoids for the classes of rows with these discriminants. Classes that are not in
// the recipe get the mean shape.
func (r *Recipe) Curves(classes []string, all []ridge.Discriminant) (curves []score.CalibrationCurve) {
	var mean ridge.CurveShape
	shapes := r.Profile.Shapes
	for _, s := range shapes {
		mean.Slope += s.Slope / float64(len(shapes))
		mean.Offset += s.Offset / float64(len(shapes))
	}
	for c, d := range all {
		shape := mean
		if i, known := r.Classes.Index([]byte(classes[c])); known {
			shape = shapes[i]
		}
		curves = append(curves, shape.Curve(d))
	}
	return curves
}

// Union returns the classes of the recipe and others. It fails if others cannot be classes together with
// the recipe's.
func (r *Recipe) Union(others []string) (*schema.Vocabulary, error) {
	var more []string
	for _, name := range others {
		if _, known := r.Classes.Index([]byte(name)); !known {
			more = append(more, name)
		}
	}
	if len(more) == 0 {
		return r.Classes, nil
	}
	if r.Rule.Weights != nil && r.Rule.Weights.Classes != nil {
		return nil, fmt.Errorf(
			"the label %.40q is not a class of the recipe, which has weights for its %d classes; train a new recipe",
			more[0], len(r.Classes.Classes))
	}
	v := schema.NewVocabulary(slices.Concat(r.Classes.Classes, more))
	if v.Numeric != r.Classes.Numeric {
		for _, name := range more {
			if !schema.NewVocabulary([]string{name}).Numeric {
				return nil, fmt.Errorf(
					"the label %.40q is not a number, and the classes of the recipe are numbers; drop such rows, or train a new "+
						"recipe", name)
			}
		}
	}
	return v, nil
}
