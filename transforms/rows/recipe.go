package rows

import (
	"context"
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/records"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
	"github.com/bochner-ml/bochner/transforms/gram"
)

// Recipe determines how rows are summed: as in the training of a model. ReadRecipe makes one.
//
// A recipe does not depend on the rows to sum, so that one pass over them is enough. The first pass
// of bochner sum would find new classes; here the classes that the recipe lacks must be listed in
// Classes, and rows of other classes are rejected.
type Recipe struct {
	Dir    string // directory of the model, which workers read
	Digest string // sums.Recipe.Digest; "" accepts the model that is in Dir when rows arrive
	// Classes lists classes that rows may have in addition to the recipe's.
	Classes []string
	// Shards, unless 0, is the number of groups into which the rows of a window are put, each of
	// which is summed on one worker when the window ends. 0 sums the rows of a window in every
	// bundle, without a shuffle of rows: each makes a file of about 4·D² bytes for each fold, D
	// being the number of features. Choose 0 for bounded collections, whose bundles are large, and
	// a few shards for streams and for sessions: until rows are grouped, each is a session of its own.
	Shards int
	// Threads compute one block; 0 is 1. Sums do not depend on it.
	Threads int
}

// ReadRecipe returns the recipe of a model directory or alias, which must have been trained by exact
// sums: by the learners ridge or pca. The program must import the package of the format of the
// training data, or io/formats.
func ReadRecipe(ctx context.Context, model string) (Recipe, error) {
	dir, err := models.Resolve(ctx, model)
	if err != nil {
		return Recipe{}, err
	}
	if dir, err = storage.Abs(dir); err != nil {
		return Recipe{}, err
	}
	r, _, err := sums.ReadRecipe(ctx, dir)
	if err != nil {
		return Recipe{}, err
	}
	if split := r.Rule.Split; split != nil {
		return Recipe{}, fmt.Errorf("rows: %s: the recipe assigns rows to folds by %s, which rows of a PCollection do not "+
			"have: sum files with bochner sum, or train the recipe without them", model, strings.Join(split.Columns, ", "))
	}
	return Recipe{Dir: dir, Digest: r.Digest}, nil
}

// recipe is a Recipe that was loaded in this process.
type recipe struct {
	*sums.Recipe
	pass gram.Pass
}

// load reads the recipe, once in a process.
func (r Recipe) load(ctx context.Context, w *transforms.Worker) (*recipe, error) {
	return transforms.Cached(w, 2, fmt.Sprint(r.Digest, r.Dir, r.Classes), func() (*recipe, error) {
		read, _, err := sums.ReadRecipe(ctx, r.Dir)
		if err == nil && r.Digest != "" && read.Digest != r.Digest {
			err = fmt.Errorf("rows: the model %s was replaced since the pipeline was built; start again", r.Dir)
		}
		if err != nil {
			return nil, fault.Wrap(fault.Model, err)
		}
		c := &recipe{Recipe: read}
		c.pass.Seed = read.Seed
		classes := 0
		switch read.Task {
		case models.Classification:
			v, err := read.Union(r.Classes)
			if err != nil {
				return nil, fault.Wrap(fault.Data, err)
			}
			classes = len(v.Classes)
			c.pass.Target = &transforms.Labeling{Classes: v}
		case models.Regression:
			// With several targets, check needs to know which one a number belongs to.
			c.pass.Target = &transforms.Labeling{Grid: read.TargetGrid, Within: len(read.TargetGrid) == 1}
		}
		c.pass.Spec = gram.SpecOf(read, classes)
		c.pass.Spec.RowHashes = true
		return c, nil
	})
}

// classes returns the classes of sums; nil if there are none.
func (r *recipe) classes() *schema.Vocabulary {
	if r.pass.Target == nil {
		return nil
	}
	return r.pass.Target.Classes
}

// check returns the reason why a row with these labels, and a weight or none, cannot be used; "" if
// it can.
func (r *recipe) check(y, weight []float64) string {
	if grids := r.TargetGrid; len(grids) > 1 {
		for c, g := range grids {
			if !g.Contains(y[c]) {
				return fmt.Sprintf("the label %g in column %q is beyond the grid of targets of the recipe, %g to %g; a recipe "+
					"with more room for targets takes it", y[c], r.Input.Labels[c], g.Low, g.High)
			}
		}
	}
	if len(weight) > 0 {
		return r.Rule.CheckWeight(weight[0])
	}
	return ""
}

// reader returns a Reader of rows with labels and weights.
func (r *recipe) reader() *records.Reader {
	rule := &r.Rule
	var label dataset.Label
	if r.Task != models.Embedding {
		label = r.pass.Target.Label()
	}
	columns := r.Input.Labels
	if len(columns) == 0 {
		columns = []string{r.Input.Label}
	}
	return records.New(r.Schema, records.Options{
		Label: label, LabelColumns: columns, Weighted: rule.WeightColumn != "", WeightColumn: rule.WeightColumn,
	})
}
