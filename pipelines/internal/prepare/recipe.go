package prepare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/search"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/transforms/survey"
)

// Recipe is a recipe of features with the choices that led to it.
type Recipe struct {
	Sealed features.Sealed
	Dim    int     // number of features
	Width  float64 // of the kernel; 0 if it has none
	Name   string  // as text: "gaussian kernel, width 7"
	// Recodes is true if training rows are encoded in another way than rows to predict: see
	// preprocess.TargetEncoder.
	Recodes bool
	Reach   float64 // largest feature as a multiple of the grid's bound; 0 means 1
	// Files are files that the recipe needs in a model directory.
	Files []storage.File
	// Origin is set for features that another job has learned.
	Origin *RecipeOrigin

	// Scaling and Choice are the sources of the recipe; nil if it was read from a directory.
	Scaling *Scaling
	Choice  *kernel.Choice
	data    *kernel.Data
	kernel  kernel.Options // options that Choice is made from
}

// Scaled returns the chain of this recipe's scaling and the given last step.
func (r Recipe) Scaled(last features.Recipe) features.Recipe {
	return features.Chain{Steps: append(r.Scaling.Steps[:len(r.Scaling.Steps):len(r.Scaling.Steps)], last)}
}

// ChoiceFor returns the choice for another kernel on the same data.
func (r Recipe) ChoiceFor(k kernel.Options) (*kernel.Choice, error) {
	c, err := k.Choose(r.data)
	if err != nil {
		return nil, refusal(err)
	}
	return c, nil
}

// WithFeatures returns the recipe with another number of features.
func (r Recipe) WithFeatures(features int) (Recipe, error) {
	k, err := kernel.With(r.kernel, "features", strconv.Itoa(features))
	if err != nil {
		return r, refusal(err)
	}
	r.kernel = k
	if r.Choice, err = r.ChoiceFor(k); err != nil {
		return r, err
	}
	r.Reach = r.Choice.Reach
	return r.sealed()
}

// Least returns the first of the numbers of features from, 2·from, … below limit that the kernel allows, and
// limit if there is none.
func (r Recipe) Least(from, limit int) int {
	for ; from < limit; from *= 2 {
		if _, err := r.WithFeatures(from); err == nil {
			return from
		}
	}
	return limit
}

// sealed returns r with Sealed and Dim set from r.Choice. Name and Width stay as they are.
func (r Recipe) sealed() (Recipe, error) {
	whole := r.Scaled(r.Choice.Recipe)
	var err error
	if r.Sealed, err = features.Seal(whole); err != nil {
		if r.Scaling.hot() {
			err = fmt.Errorf("%w; or encode categories in fewer numbers: --encode target or count, or a smaller --max_levels", err)
		}
		return r, &exit.UsageError{Err: err}
	}
	_, r.Dim, err = features.Dims(whole)
	return r, err
}

// refusal makes an error of a choice a usage error if it is about an option, and otherwise a data error.
func refusal(err error) error {
	if _, ok := errors.AsType[*option.Error](err); ok {
		return &exit.UsageError{Err: err}
	}
	return &exit.DataError{Err: err}
}

// RecipeOrigin identifies the rows from which features were learned.
type RecipeOrigin struct {
	Name, SHA256 string // of the directory of features, and of its description
	HeldOut      int    // number of folds; the first was not used; 0 if all rows were used
	Seed         uint64 // of the folds
	Rows         string // digest of the rows, independent of the seed

	Fingerprint string // of the rows with that seed
}

// encoding turns typed columns into numbers.
type encoding struct {
	preprocess.ColumnOptions
	Labels *preprocess.LabelSums // sums of labels, if preprocess.NeedsLabelSums
	Counts *preprocess.LabelSums // counts of levels in rows that are not held out; nil for the profile's counts
}

// encode makes the encoding of a table's columns the first step, and sets the statistics of the resulting
// numbers.
func (sc *Scaling) encode(s dataset.Schema, o encoding, p *profile.Profile, sum *profile.Sum) error {
	t := s.Table
	slots := make([]preprocess.ColumnStatistics, len(p.Columns))
	for j, c := range p.Columns {
		slots[j] = preprocess.ColumnStatistics{
			Rows: p.Rows, Missing: c.Missing, Share: sum.MissingShare(j),
			Mean: c.Mean, Variance: float64(c.Dev * c.Dev), Low: c.Min, High: c.Max, Levels: sum.Levels(j),
		}
	}
	at := 0
	for i := range t.Columns {
		if v, ok := t.Columns[i].FillNumber(); ok {
			if s.Centre != nil {
				v -= s.Centre[at]
			}
			fill := float32(v)
			slots[at].Fill = &fill
		}
		at += t.Columns[i].Width()
	}
	r, numbers, err := preprocess.ChooseColumns(t, slots, o.ColumnOptions, o.Labels, o.Counts)
	if err != nil {
		return refusal(err)
	}
	sc.grow(len(numbers))
	for _, c := range numbers {
		sc.column(c.Mean, c.Variance, c.Low, c.High)
		sc.unscaled = append(sc.unscaled, c.Unscaled)
	}
	sc.Steps, sc.Dim, sc.encoded = append(sc.Steps, r), len(numbers), 1
	return nil
}

// hot reports whether some columns are encoded one-hot.
func (sc *Scaling) hot() bool {
	if sc.encoded == 0 {
		return false
	}
	r, ok := sc.Steps[0].(preprocess.Columns)
	return ok && slices.ContainsFunc(r.Slots, func(s preprocess.Slot) bool { return s.OneHot != nil })
}

// targetParts is the number of parts of the training rows for target statistics: rows of a part are encoded by
// the statistics of the other parts.
const targetParts = 5

// TargetSums returns the number of sums of labels for all parts, levels and outputs.
func TargetSums(levels, outputs int) int64 {
	return targetParts * int64(levels) * int64(max(outputs, 2))
}

// chooseRecipe makes the recipe. It leaves Recipe empty if categories are encoded by labels: Session.EncodeLabels then
// makes it.
func (p *Prepared) chooseRecipe(o Options) (err error) {
	if preprocess.NeedsLabelSums(p.Data.Schema.Table, o.Encode) {
		if o.LearnedKernel != "" {
			return exit.Usagef("--encode target cannot be used with --kernel %s, whose features are learned from labels too: "+
				"give another --encode, also in a schema", o.LearnedKernel)
		}
		if !o.Trains {
			return exit.Usagef("--encode target learns from labels, and only train does that: give another --encode")
		}
		if n := len(p.Data.Targets); n > 0 {
			return exit.Usagef("--encode target needs one label to take statistics of; rows have %d: give another --encode", n)
		}
		return nil
	}
	return p.setRecipe(o)
}

// setRecipe makes the recipe from the kernel, the chain of scalings and the encodings of columns, by the statistics
// of the profile.
func (p *Prepared) setRecipe(o Options) (err error) {
	var r Recipe
	encode := encoding{ColumnOptions: o.Encode, Labels: p.labelSums, Counts: p.valueCounts}
	if r.Scaling, err = chooseScale(o.Scale, encode, o.Seed, p.Data.Schema, &p.Profile, p.Sum); err != nil {
		return err
	}
	r.Recodes = preprocess.TargetEncoderOf(features.Chain{Steps: r.Scaling.Steps}) != nil
	r.data = r.Scaling.data(p.Profile.Rows, o.Seed)
	if r.Choice, err = r.ChoiceFor(o.Kernel); err != nil {
		return err
	}
	r.kernel = o.Kernel
	r.Name, r.Width, r.Reach = r.Choice.Summary, r.Choice.Width, r.Choice.Reach
	p.Recipe, err = r.sealed()
	return err
}

// RechooseRecipe makes the recipe again, after the encodings of columns have changed. If categories are encoded
// by counts and held is not 0, it counts their levels in one pass over the rows outside the first fold
// of held, because counts of new rows are not known either. With held 0, the counts of the profile over all rows
// are used.
func (s *Session) RechooseRecipe(ctx context.Context, held int) (err error) {
	s.Prepared.valueCounts = nil
	if held > 0 {
		if s.Prepared.valueCounts, err = s.sumLabels(ctx, preprocess.CountEncoding, held); err != nil {
			return err
		}
	}
	return s.Prepared.setRecipe(s.Options)
}

// CountsTrainingRows reports whether categories are encoded by counts of only the rows that are not held out.
func (s *Session) CountsTrainingRows() bool {
	return s.Prepared.valueCounts != nil && len(s.categories(preprocess.CountEncoding)) > 0
}

// categories returns the categories of the table with the given encoding.
func (s *Session) categories(by preprocess.Encoding) []preprocess.Category {
	return preprocess.Categories(s.Prepared.Data.Schema.Table, s.Options.Encode, by)
}

// EncodeLabels makes the recipe if categories are encoded by labels or counts, with one pass over the data for
// each. It leaves out the rows of the first fold of held; with held 0 it uses all rows. Call it once, after Data and
// before anything that uses the recipe.
func (s *Session) EncodeLabels(ctx context.Context, held int) (err error) {
	if s.Prepared.Recipe.Sealed.Kind == "" { // categories are encoded by labels: see chooseRecipe
		if s.Prepared.labelSums, err = s.sumLabels(ctx, preprocess.TargetEncoding, held); err != nil {
			return err
		}
	} else if held == 0 || len(s.categories(preprocess.CountEncoding)) == 0 {
		return nil
	}
	return s.RechooseRecipe(ctx, held)
}

// sumLabels sums the labels, or counts the rows, for each level of the categories with the given encoding. It
// returns nil if there are no such categories or no labels.
func (s *Session) sumLabels(ctx context.Context, by preprocess.Encoding, held int) (*preprocess.LabelSums, error) {
	p := s.Prepared
	pass := &survey.Targets{CrossFit: preprocess.CrossFit{Held: held, Parts: targetParts}, Categories: s.categories(by)}
	if len(pass.Categories) == 0 || p.Target == nil {
		return nil, nil
	}
	if err := s.CountCopies(ctx); err != nil {
		return nil, err
	}
	s.Job.Progress.Phase("summing categories", p.Counts.Used)
	defer s.Job.Progress.Done()
	pass.Pass = s.Pass(targetParts)
	pass.Counts = by == preprocess.CountEncoding
	if !pass.Counts {
		pass.Weights = profile.NewWeightGrid(p.Weights(), nil, nil)
	}
	if _, err := pass.Empty(); err != nil {
		return nil, &exit.DataError{Err: err}
	}
	sum := new(preprocess.LabelSums)
	reports, err := s.Job.ScanSum(ctx, pass, "targets", sum)
	if err != nil {
		return nil, err
	}
	if _, err := job.Count(p.Data, reports, s.Options.MaxBadFraction); err != nil {
		return nil, err
	}
	if pass.Weights != nil {
		sum.Unit = pass.Weights.Unit // the encoded sum lacks it
	}
	return sum, nil
}

const (
	// clipAt is the absolute value at which the view "clipped" clips standardised columns.
	clipAt = 3
	// knots is the largest number of quantiles of the view "normal scores".
	knots = preprocess.MaxKnots
)

// Views returns the preprocessing alternatives that a search tries, the recipe's own first. Unless the user
// chose scalings, these are a layer of patches for images, and for other columns: standardised, standardised
// and clipped, or replaced by normal scores with quantiles of the n encoded rows of x.
func (r Recipe) Views(chain []string, schema dataset.Schema, x []float32, n int) []search.View {
	sc := r.Scaling
	auto := AutoScale(chain)
	if auto {
		chain = []string{cmp.Or(schema.Traits().Scale, "standard")}
	}
	views := []search.View{{Name: strings.Join(chain, ","), Steps: sc.Steps[sc.encoded:]}}
	if !auto {
		return views
	}
	if PatchNumbers(nil, schema) > 0 {
		if v, ok := sc.patchView(views[0].Name, x, n); ok {
			views = append(views, v)
		}
		return views
	}
	if chain[0] != "standard" && chain[0] != "none" {
		return views
	}
	standard := sc.Steps[sc.encoded:]
	if chain[0] == "none" { // the statistics describe the unscaled numbers
		standard = []features.Recipe{preprocess.NewStandard(sc.toScale(sc.mean, 0), sc.toScale(sc.variance, 1))}
		views = append(views, search.View{Name: "standard", Steps: standard})
	}
	unscaled := func(j int) bool { return sc.unscaled != nil && sc.unscaled[j] }
	at := make([]float32, sc.Dim)
	for j := range at {
		if !unscaled(j) {
			at[j] = clipAt
		}
	}
	return append(views,
		search.View{Name: "clipped", Steps: append(slices.Clip(standard), preprocess.Clip{At: at})},
		search.View{Name: "normal scores", Steps: []features.Recipe{preprocess.NewNormalScores(x, n, sc.Dim, knots,
			unscaled)}},
	)
}

// Searched returns the recipe of a kernel after steps that a search chose instead of the scalings. files are
// the files that the steps name.
func (r Recipe) Searched(steps []features.Recipe, k kernel.Options, seed uint64, name string,
	files []storage.File) (Recipe, error) {
	sc := *r.Scaling
	sc.Steps = append(slices.Clone(sc.Steps[:sc.encoded]), steps...)
	sc.known, sc.unitNorm = false, false
	for _, step := range steps {
		_, out, err := features.Dims(step)
		if err != nil {
			return r, err
		}
		sc.Dim = out
	}
	r.Scaling, r.data = &sc, &kernel.Data{In: sc.Dim, Rows: r.data.Rows, Seed: seed}
	var err error
	if r.Choice, err = r.ChoiceFor(k); err != nil {
		return r, err
	}
	r.kernel = k
	r.Name, r.Width, r.Reach = name, r.Choice.Width, r.Choice.Reach
	r.Files = files
	return r.sealed()
}
