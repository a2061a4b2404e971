package prepare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms"
)

// OpenByRecipe opens data for training with a recipe, with the columns and types of the recipe.
func OpenByRecipe(ctx context.Context, j options.Job, o dataset.Options, r *sums.Recipe) (*dataset.Dataset, error) {
	if len(o.Columns)+len(o.Drop) > 0 {
		return nil, exit.Usagef("the recipe says which columns are features: leave out --columns and --drop")
	}
	o.Like = r.Schema
	if o.Label == "" && r.Schema.Traits().Columns && r.Task != models.Embedding {
		o.Label = r.Input.Label
	}
	switch column := r.Rule.WeightColumn; {
	case o.Weight == "":
		o.Weight = column
	case column == "":
		return nil, exit.Usagef("--weight_column %s: the rows of the recipe had no weights; train a new recipe with weights",
			o.Weight)
	}
	split, timeColumn := splitOf(r.Rule.Split)
	split.Into(&o)
	if split.Time {
		o.Time = timeColumn
	}
	d, err := job.OpenData(ctx, o, j.Log)
	if err != nil {
		return nil, err
	}
	if r.Task == models.Embedding {
		d.Labeled = false
		return d, nil
	}
	if !slices.Equal(d.Targets, r.Input.Labels) {
		names := r.Input.Labels
		if len(names) == 0 {
			names = []string{r.Input.Label}
		}
		return nil, exit.Usagef("--label: %d targets are chosen, but the recipe has %d (%s); leave the flag out",
			max(1, len(d.Targets)), len(names), report.SomeOf(names))
	}
	return d, CheckLabeled(d)
}

// ProfileByRecipe profiles data for training with a recipe. Everything else in the result comes from the
// recipe.
func ProfileByRecipe(ctx context.Context, j *job.Job, d *dataset.Dataset, maxBad float64,
	r *sums.Recipe) (*Prepared, error) {
	j.Progress.Phase("reading", 0)
	defer j.Progress.Done()
	target := &transforms.Labeling{Open: true}
	if r.Task == models.Regression {
		target = targetByRecipe(r)
	}
	profiled, _, err := ProfileRows(ctx, j, d, maxBad, r.Seed, target)
	if err != nil {
		return nil, err
	}
	p := &Prepared{PassResult: *profiled, Statistics: statisticsOf(d, profiled.Sum), Rule: r.Rule.Split}
	if err := checkWeights(p.Profile.Weights, &r.Rule); err != nil {
		return nil, d.Errorf("%w", err)
	}
	if len(r.TargetGrid) > 1 {
		if err := inRange(d, p.Profile.Targets, r.TargetGrid); err != nil {
			return nil, d.Errorf("%w", err)
		}
	}
	var others []string
	if r.Task == models.Classification {
		var counts []int64
		var counted bool
		counts, others, counted = profiled.Sum.Labels().In(r.Classes)
		if !counted {
			return nil, d.Errorf("has too many different labels for classes; the recipe has %d",
				len(r.Classes.Classes))
		}
		if n := len(others); n > fewRows && 2*int64(n) > p.Counts.Used && slices.Max(counts) == 0 {
			return nil, d.Errorf("has %d different labels, such as %.40q, none of them a class of the recipe; "+
				"name the column of the classes with --label", n, others[0])
		}
		if err := schema.NewVocabulary(others).Check(); err != nil {
			return nil, d.Errorf("%w", err)
		}
	}
	if len(r.Profile.Rows.Columns) == p.Profile.Dim {
		p.Drift = drift.CompareSum(r.Profile.Rows, p.Sum, p.cluster(), drift.NamesOf(d))
		p.Drift.Schema = drift.SchemaChangesOf(r.Input, d)
	}
	if err := p.TakeRecipe(r, others); err != nil {
		return nil, d.Errorf("%w", err)
	}
	if r.Task == models.Classification {
		counts, _, _ := profiled.Sum.Labels().In(p.Target.Classes)
		p.Profile.Labels.Vocabulary, p.Profile.Labels.Counts, p.Profile.Labels.Weights = p.Target.Classes, counts, nil
	}
	return p, nil
}

// ClassWeightSums returns the sum of the weights of the rows of each class; nil if rows have no weights or no classes.
func (p *Prepared) ClassWeightSums() []float64 {
	if p.Target == nil || p.Target.Classes == nil {
		return nil
	}
	l := p.Sum.Labels().Summary()
	if l.Weights == nil {
		return nil
	}
	sums := make([]float64, len(p.Target.Classes.Classes))
	for i, name := range l.Vocabulary.Classes {
		if c, ok := p.Target.Classes.Index([]byte(name)); ok {
			sums[c] += l.Weights[i]
		}
	}
	return sums
}

// targetByRecipe returns the target of a regression with a recipe. A single target is checked against its grid
// while it is read, several are checked by inRange.
func targetByRecipe(r *sums.Recipe) *transforms.Labeling {
	return &transforms.Labeling{Grid: r.TargetGrid, Within: len(r.TargetGrid) == 1}
}

// inRange returns an error if targets with these ranges are not within their grids.
func inRange(d *dataset.Dataset, ranges []profile.Range, grids linear.Grids) error {
	if len(ranges) != len(grids) {
		return errors.New("has no labels")
	}
	for c, g := range grids {
		for _, y := range []float64{ranges[c].Min, ranges[c].Max} {
			if !g.Contains(y) {
				return fmt.Errorf("has the label %g in column %q, beyond the grid of targets of the recipe, %g to %g; train "+
					"--target_room makes room", y, d.Targets[c], g.Low, g.High)
			}
		}
	}
	return nil
}

// checkWeights returns an error if rows with these weights cannot be summed by the recipe.
func checkWeights(w *profile.Weights, r *sums.Rule) error {
	switch g := r.Weights; {
	case w == nil:
		return nil
	case g == nil && (w.Min != r.Weight || w.Max != r.Weight):
		return fmt.Errorf("has weights from %g to %g, but all rows of the recipe had the weight %g; train a new recipe",
			w.Min, w.Max, r.Weight)
	case g == nil:
		return nil
	case w.Max > g.MaxWeight():
		return fmt.Errorf("has the weight %g, more than %g, the largest that the recipe can sum; train a new recipe", w.Max,
			g.MaxWeight())
	case g.Exact && math.Mod(w.Unit, g.Unit) != 0:
		return fmt.Errorf("has weights that are multiples of %g, but not of %g as those of the recipe; train a new recipe",
			w.Unit, g.Unit)
	}
	return nil
}

// TakeRecipe sets the target and the recipe of features from r. The classes of r come first, then others.
func (p *Prepared) TakeRecipe(r *sums.Recipe, others []string) error {
	switch r.Task {
	case models.Classification:
		v, err := r.Union(others)
		if err != nil {
			return err
		}
		p.Target = &transforms.Labeling{Classes: v}
	case models.Regression:
		p.Target = targetByRecipe(r)
	}
	opened, err := r.Features.Open()
	if err != nil {
		return err
	}
	_, out, err := features.Dims(opened)
	if err != nil {
		return err
	}
	p.Recipe = Recipe{
		Sealed: r.Features, Dim: out, Width: r.Width, Name: r.Kernel, Files: r.ExtraFiles,
		Recodes: preprocess.TargetEncoderOf(opened) != nil,
	}
	p.copiesCounted = true // the recipe lists the frequent rows, whose copies sums count
	return nil
}
