package ask

import (
	"context"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// tally holds the squared errors on a judged unit, in the units of ridge.CVResult.MSE, and the head of its sum.
type tally struct {
	squares float64
	head    ridge.Head
}

// head returns the head of the sum of a unit.
func (d *data) head(u unit) ridge.Head {
	head := make(ridge.Head, len(d.parts[0].head))
	for _, i := range u.parts {
		for k, v := range d.parts[i].head {
			head[k] += v
		}
	}
	return head
}

// r2 returns R² over tallies, with times as their weights; nil counts each once. It is NaN if all targets are equal.
func (d *data) r2(all []tally, times []float64) float64 {
	head, squares := d.head(unit{}), 0.0
	for i, t := range all {
		n := 1.0
		if times != nil {
			n = times[i]
		}
		squares += float64(n * t.squares)
		for k, v := range t.head {
			head[k] += float64(n * v)
		}
	}
	if spread := d.spread(head); spread > 0 {
		return 1 - squares/spread
	}
	return math.NaN()
}

// spread returns the squared error of predicting the mean, 0 without rows.
func (d *data) spread(head ridge.Head) float64 {
	if !(head.Weight() > 0) {
		return 0
	}
	return d.evaluator.SquaresOfMean(head)
}

// score returns the score over judged units.
func (d *data) score(all []tally) (s results.Score) {
	if r2 := d.r2(all, nil); !math.IsNaN(r2) {
		s.R2 = &r2
	}
	head := d.head(unit{})
	for _, t := range all {
		s.Error += t.squares
		for k, v := range t.head {
			head[k] += v
		}
	}
	s.Error /= max(head.Weight(), 1)
	if d.units.Grid == nil {
		s.Error /= 4 // from codes −1 and 1 to shares
	}
	s.Rows, _ = d.total.Recipe.Rule.Weigh(head, nil, d.units.Grid != nil)
	s.Interval = d.interval(len(all), func(times []float64) float64 { return d.r2(all, times) })
	return s
}

var resample, shuffle = stream.PurposeOf("ask/bootstrap"), stream.PurposeOf("ask/order")

// interval returns a percentile bootstrap interval (Efron 1979) of a statistic of n units, from the samples for which
// it is defined.
func (d *data) interval(n int, statistic func(times []float64) float64) results.Interval {
	const least, samples, tail = 5, 1000, 0.025
	if n < least {
		return results.Interval{}
	}
	values, times := make([]float64, 0, samples), make([]float64, n)
	for b := range samples {
		clear(times)
		s := stream.New(d.options.Seed, resample, uint64(b))
		for range n {
			times[s.Below(uint64(n))]++
		}
		if v := statistic(times); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return results.Interval{}
	}
	slices.Sort(values)
	i := int(tail * float64(len(values)))
	return results.Interval{Low: &values[i], High: &values[len(values)-1-i]}
}

// squaresOn returns the squared errors of fits, for each λ, on the parts of a unit.
func (d *data) squaresOn(ctx context.Context, f *ridge.Fits, u unit, values int) ([]float64, error) {
	all := make([]float64, values)
	for _, i := range u.parts {
		s, err := d.part(ctx, i)
		if err != nil {
			return nil, err
		}
		for k, v := range f.Squares(s) {
			all[k] += v
		}
	}
	return all, nil
}

// scoredRow is a row of an answer, with a tally for each judged unit.
type scoredRow struct {
	results.AnswerRow
	tallies []tally
}

// fitAndScore fits a model to train and scores it on judged. Cross-validation inside train chooses
// λ if lambda is negative.
func (d *data) fitAndScore(ctx context.Context, name string, train, judged []unit, lambda float64) (scoredRow, error) {
	row, err := d.fitAndJudge(ctx, train, judged, lambda)
	if err != nil {
		return scoredRow{}, err
	}
	row.Name, row.Score = name, d.score(row.tallies)
	return row, nil
}

// fitAndJudge does the same as fitAndScore, but sets neither the name nor the score.
func (d *data) fitAndJudge(ctx context.Context, train, judged []unit, lambda float64) (scoredRow, error) {
	s, err := d.sum(ctx, trainSlot, train)
	if err != nil {
		return scoredRow{}, err
	}
	if lambda < 0 {
		if lambda, err = d.lambda(ctx, train, s); err != nil {
			return scoredRow{}, err
		}
	}
	row := scoredRow{AnswerRow: results.AnswerRow{Trained: spanOf(train), TrainedRows: s.Rows(), Lambda: lambda}}
	d.fits++
	fits := d.evaluator.Fit(s, []float64{lambda})
	for _, u := range judged {
		squares, err := d.squaresOn(ctx, fits, u, 1)
		if err != nil {
			return scoredRow{}, err
		}
		if math.IsInf(squares[0], 1) {
			return scoredRow{}, row.notDefinite()
		}
		row.tallies = append(row.tallies, tally{squares[0], d.head(u)})
		row.Seen = len(judged) == 1 && d.seen(u)
	}
	return row, nil
}

// notDefinite returns the error of a model whose matrix is not positive definite.
func (r *scoredRow) notDefinite() error {
	return exit.Dataf("trained on %s, the matrix is not positive definite at lambda %g; raise --lambda",
		r.Trained, r.Lambda)
}

// seen reports whether the recipe was drawn from files of a unit.
func (d *data) seen(u unit) bool {
	return slices.ContainsFunc(u.parts, func(i int) bool { return d.parts[i].seen })
}

// blocks is the largest number of blocks into which a training set is cut to choose λ.
const blocks = 5

// values returns the values of λ to try for a training set, the largest first. They are the same
// for all training sets, unless C is given: λ is then 1/(C·n), for n rows or their sum of weights.
func (d *data) values(train *ridge.Sum) []float64 {
	rule, l := &d.total.Recipe.Rule, d.options.Lambda
	if l.Auto() {
		l.Path, l.C = rule.Lambda, rule.C
	}
	mass, _ := rule.Weigh(slices.Clone(train.Part(0)), nil, d.units.Grid != nil)
	values, _ := spec.LambdaValues(l, mass)
	if l.Auto() && rule.Steps > features.ByteSteps && rule.Frequent == nil { // copies of a row have equal rounding errors
		values = append(values, ridge.SmallerLambda()...)
	}
	values = slices.Sorted(slices.Values(values))
	slices.Reverse(values)
	return slices.Compact(values)
}

// lambda chooses λ by cross-validation inside a training set, whose sum is whole. The folds are up
// to five blocks of consecutive units, or the directories of the only unit, or the folds of the
// only directory. If there is only one fold or one class, it returns the largest value.
func (d *data) lambda(ctx context.Context, train []unit, whole *ridge.Sum) (_ float64, err error) {
	if len(train) == 1 {
		train = d.directories(train[0])
	}
	rule, n := &d.total.Recipe.Rule, len(train)
	o := ridge.Options{Search: ridge.LambdaSearch{Lambda: d.values(whole)}, Return: ridge.Request{ChoiceOnly: true},
		Plan: ridge.FoldPlan{Folds: min(blocks, n)}, Units: d.units, Threads: d.options.Threads}
	if n == 1 {
		o.Plan.Folds = rule.Folds
	}
	if len(o.Search.Lambda) == 1 || o.Plan.Folds == 1 {
		return o.Search.Lambda[0], nil
	}
	sums := make([]*ridge.Sum, o.Plan.Folds)
	for b := range sums {
		if n > 1 {
			if sums[b], err = d.sum(ctx, blockSlot+b, train[b*n/o.Plan.Folds:(b+1)*n/o.Plan.Folds]); err != nil {
				return 0, err
			}
			continue
		}
		sums[b] = ridge.NewSum(whole.Shape())
		for _, i := range train[0].parts {
			if err := d.total.AddFold(ctx, sums[b], d.parts[i].term, b, d.features); err != nil {
				return 0, err
			}
		}
	}
	o.From.Sums = sums
	fit, err := ridge.Solve(o)
	if err != nil { // all rows belong to one class or one block
		return o.Search.Lambda[0], nil
	}
	return fit.Lambda, nil
}

// directories groups the parts of a unit by directory: segments of a directory are different rows by design, so
// none of them could judge the others.
func (d *data) directories(u unit) (all []unit) {
	for _, i := range u.parts {
		dir := d.parts[i].term.Path
		k := slices.IndexFunc(all, func(u unit) bool { return u.name == dir })
		if k < 0 {
			k, all = len(all), append(all, unit{name: dir})
		}
		all[k].parts = append(all[k].parts, i)
	}
	return all
}
