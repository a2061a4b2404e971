// Package segments fits separate weights to the rows with each value of a column, from sums that are divided by
// this column. Weights that are fitted to few rows are noisy, and weights that are fitted to all rows ignore
// differences. So Fit shrinks the weights of a segment toward the weights of all rows, by a strength that
// held-out folds choose for each segment.
package segments

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/sumdirs"
	"github.com/bochner-ml/bochner/transforms"
)

// strengths holds the strengths to try. The weights of all rows together count as much as this many rows.
var strengths = [...]float64{1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1e3}

// fitter fits the segments of a total.
type fitter struct {
	total     *sumdirs.Total
	features  features.Gridded
	shape     ridge.Shape
	lambda    float64
	evaluator *ridge.Evaluator
	scratch   *ridge.Sum
}

// Bytes returns the approximate memory of Fit in bytes.
func Bytes(t *sumdirs.Total, threads int) int64 {
	sums := 2*t.Recipe.Rule.Folds + 1 + min(threads, len(strengths))
	return int64(sums) * t.Recipe.Shape(t.ClassCount()).Bytes()
}

// Fit fits weights with λ to the rows with each value of a column. To choose strengths, it scores weights on
// folds to which they were not fitted, the same folds by which λ was chosen. The result is nil if the weights of all
// rows predict each segment best. The notes have the errors that chose.
func Fit(ctx context.Context, total *sumdirs.Total, column string, lambda float64,
	threads int) (s *models.Segments, notes []string, err error) {
	folds := judging(total)
	if total.Recipe.Rule.Components > 0 {
		return nil, nil, exit.Dataf("--each %s: these sums are for an embedding, which has no target", column)
	}
	if len(folds) == 0 {
		return nil, nil, exit.Dataf("--each %s: the recipe has no folds that could choose how far weights of segments "+
			"are shrunk; train the recipe without --lambda, or with more folds", column)
	}
	groups, notes, err := groupsOf(total, column)
	if err != nil {
		return nil, nil, err
	}
	f := &fitter{total: total, shape: total.Recipe.Shape(total.ClassCount()), lambda: lambda}
	f.scratch = ridge.NewSum(f.shape)
	worker := transforms.NewWorker("")
	defer worker.Close()
	if f.features, err = worker.Gridded(total.Recipe.Features); err != nil {
		return nil, nil, err
	}
	all, err := f.load(ctx, total.Terms)
	if err != nil {
		return nil, nil, err
	}
	sum := f.sum(all, allFolds)
	if f.evaluator, err = ridge.NewEvaluator(sum, total.Units(f.features, sum.Part(0)), threads); err != nil {
		return nil, nil, err
	}
	prior := f.evaluator.Fit(sum, []float64{lambda})
	note, err := f.choose(ctx, all, groups, folds)
	if err != nil {
		return nil, nil, err
	}
	s = &models.Segments{Column: column, Slot: groups[0].slot}
	var fits []*linear.Model
	for _, g := range groups {
		if math.IsInf(g.strength, 1) {
			continue
		}
		all, err := f.load(ctx, g.terms)
		if err != nil {
			return nil, nil, err
		}
		sum := f.sum(all, allFolds)
		m, err := f.evaluator.FitShrunk(sum, prior, []float64{g.strength})[0].Model()
		if err != nil {
			return nil, nil, fmt.Errorf("%s=%s: %w", column, g.name, err)
		}
		fits = append(fits, m)
		s.Of = append(s.Of, models.Segment{Name: g.name, Value: g.value, Rows: sum.Rows(), Shrinkage: g.strength})
	}
	s.SetWeights(fits)
	if len(fits) == 0 {
		s = nil
	}
	return s, append(notes, note), nil
}

// fold is a held-out fold, with the folds to which weights are fitted to be scored on it.
type fold struct {
	judge  int
	trains func(fold int) bool
}

// judging returns the held-out folds that choose λ for such sums.
func judging(t *sumdirs.Total) (all []fold) {
	r := &t.Recipe.Rule
	folds, step := r.Folds, 0
	if r.Split.Ordered() { // folds follow in time, the latest first
		step = 1
		if r.Split.Gap {
			step = 2
		}
	}
	for f := 0; f < folds-step && folds > 1; f += max(1, step) {
		all = append(all, fold{f, func(g int) bool { return g != f && (step == 0 || g >= f+step) }})
		if r.First || r.Cut > 0 {
			break
		}
	}
	return all
}

func allFolds(int) bool { return true }

// load returns the sums of all folds of some terms.
func (f *fitter) load(ctx context.Context, terms []sumdirs.Term) ([]*ridge.Sum, error) {
	all := make([]*ridge.Sum, f.total.Recipe.Rule.Folds)
	for k := range all {
		all[k] = ridge.NewSum(f.shape)
		for _, t := range terms {
			if err := f.total.AddFold(ctx, all[k], t, k, f.features); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// sum adds up the folds for which in is true. The result is valid until the next call.
func (f *fitter) sum(folds []*ridge.Sum, in func(fold int) bool) *ridge.Sum {
	f.scratch.Clear()
	for k, s := range folds {
		if in(k) {
			f.scratch.Merge(s)
		}
	}
	return f.scratch
}

// pooledRows is the weight, in rows, of the mean errors of all segments when the strength of a segment is
// chosen: errors on few rows depend on chance.
const pooledRows = 30

// choose sets the strength of each segment to the one with the least squared error on held-out folds, where
// +Inf means the weights of all rows, and returns a note with the errors.
func (f *fitter) choose(ctx context.Context, all []*ridge.Sum, groups []group, folds []fold) (note string, err error) {
	var priors []*ridge.Fits
	for _, k := range folds {
		priors = append(priors, f.evaluator.Fit(f.sum(all, k.trains), []float64{f.lambda}))
	}
	const values = len(strengths) + 1 // the last one is +Inf
	errors, rows := make([][values]float64, len(groups)), 0.0
	var total [values]float64
	for g := range groups {
		terms, err := f.load(ctx, groups[g].terms)
		if err != nil {
			return "", err
		}
		for i, k := range folds {
			judged := terms[k.judge]
			rows += judged.Weight()
			fits := f.evaluator.FitShrunk(f.sum(terms, k.trains), priors[i], strengths[:])
			for j, fit := range append(fits, priors[i]) {
				e := fit.Squares(judged)[0]
				errors[g][j] += e
				total[j] += e
			}
		}
	}
	kept, shrunk := 0, 0.0
	for g := range groups {
		least := values - 1
		score := func(j int) float64 { return errors[g][j] + float64(pooledRows*total[j]/max(rows, 1)) }
		for j := least; j >= 0; j-- {
			if score(j) < score(least) {
				least = j
			}
		}
		shrunk += errors[g][least]
		groups[g].strength = math.Inf(1)
		if least < len(strengths) {
			groups[g].strength = strengths[least]
			kept++
		}
	}
	measure := "MSE" // of codes −1 and 1 for classes
	if len(f.total.Recipe.TargetGrid) > 1 {
		measure = "share of the variance"
	}
	return fmt.Sprintf("%d of %s have weights of their own: held-out %s of the rows of segments %.4g, against %.4g "+
		"with the weights of all rows (the shrinkage was chosen on these rows)", kept, report.Counted(len(groups), "segment"),
		measure, shrunk/max(rows, 1), total[values-1]/max(rows, 1)), nil
}

// group holds the sums for one value of the column.
type group struct {
	name  string
	value float32 // value in a row, at position slot
	slot  int
	terms []sumdirs.Term

	strength float64 // of the shrinkage; +Inf for the weights of all rows
}

// groupsOf returns the sums for each value of a column, sorted by value, and notes on values that are left out.
func groupsOf(t *sumdirs.Total, column string) (all []group, notes []string, err error) {
	c, err := newCoder(t.Recipe, column)
	if err != nil {
		return nil, nil, err
	}
	var pooled, unknown int64
	for _, d := range t.Terms {
		if d.Sign < 0 {
			return nil, nil, exit.Usagef("--each cannot subtract sums (%s); create the difference with sum --of first", d.Path)
		}
		name, pools := "", false
		for member := range max(1, len(d.Members)) {
			value, ok := d.LabelsOf(member)[column]
			if !ok {
				return nil, nil, exit.Dataf("--each %s: %s is not by that column; sum the rows with --by %s", column,
					d.Path, column)
			}
			pools = pools || member > 0 && value != name
			name = value
		}
		if pools {
			pooled += d.Rows.Used
			continue
		}
		value, ok, err := c.code(name)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			unknown += d.Rows.Used
			continue
		}
		i, found := slices.BinarySearchFunc(all, value, func(g group, v float32) int { return cmp.Compare(g.value, v) })
		if !found {
			all = slices.Insert(all, i, group{name: name, value: value, slot: c.slot})
		}
		all[i].terms = append(all[i].terms, d)
	}
	for _, n := range []struct {
		rows int64
		why  string
	}{{pooled, "segments that were pooled (sum --min_rows)"}, {unknown, "missing values, or levels that the " +
		"recipe does not know"}} {
		if n.rows > 0 {
			notes = append(notes, fmt.Sprintf("%s of %s have the weights of all rows", report.Counted64(n.rows, "row"), n.why))
		}
	}
	switch {
	case len(all) == 0:
		return nil, nil, exit.Dataf("--each %s: no value can have weights of its own: all are pooled "+
			"(sum --min_rows), missing or unknown to the recipe", column)
	case len(all) > models.MaxSegments:
		return nil, nil, exit.Dataf("--each %s: it has %d values; the limit is %d", column, len(all),
			models.MaxSegments)
	}
	return all, notes, nil
}

// coder finds the number in a row for a text in a column.
type coder struct {
	*schema.Decoder
	row    []float32
	column int
	typed  *schema.Column
	slot   int
}

// newCoder returns a coder of the values of a column of rows by the recipe.
func newCoder(r *sums.Recipe, column string) (*coder, error) {
	t := r.Schema.Table
	if t == nil {
		t = &schema.Table{}
		for _, name := range r.Schema.Columns {
			t.Columns = append(t.Columns, schema.Column{Name: name, Type: schema.Number})
		}
	}
	i := slices.IndexFunc(t.Columns, func(c schema.Column) bool { return c.Name == column })
	if i < 0 {
		return nil, exit.Usagef("--each %s: the model has no input column of that name", column)
	}
	c := &coder{Decoder: schema.NewDecoder(t, r.Schema.Centre), column: i, typed: &t.Columns[i]}
	c.row, c.slot = make([]float32, c.Width()), c.Slot(i)
	if c.typed.Width() > 1 || c.typed.Buckets > 0 {
		return nil, exit.Usagef("--each %s: cannot be a time or a category that is hashed; use a category or a number", column)
	}
	return c, nil
}

// code returns the number in a row for a text. ok is false if the text is a missing value, or stands for
// several texts.
func (c *coder) code(text string) (v float32, ok bool, err error) {
	if reason := c.Text(c.row, c.column, []byte(text)); reason != "" {
		return 0, false, exit.Dataf("column %q: %s", c.typed.Name, reason)
	}
	v = c.row[c.slot]
	return v, !math.IsNaN(float64(v)) && (c.typed.Type != schema.Category || int(v) < len(c.typed.Levels)), nil
}
