package ask

import (
	"context"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// blocks is the most blocks of parts that a training set is cut into to choose λ.
const blocks = 5

// values returns the values of λ to try for a training set, the largest first. They are the same for all
// training sets, unless C was given, of which there is one.
func (d *data) values(train *ridge.Sum) []float64 {
	rule, l := &d.total.Recipe.Rule, d.Lambda
	if l.Auto() {
		l.Path, l.C = rule.Lambda, rule.C
	}
	mass, _ := rule.Weigh(slices.Clone(train.Part(0)), nil, d.units.Grid != nil)
	values, _ := l.Values(mass)
	values = slices.Clone(values)
	if l.Auto() && rule.Steps > features.ByteSteps {
		least := 0.0
		if rule.Frequent != nil { // copies are rounded alike
			floor := ridge.Floor(d.features.Step() * features.ByteSteps / float64(rule.Steps))
			least = ridge.FloorFactor * floor * max(1, float64(train.Shape().Dim)*rule.Frequent.Mean)
		}
		for _, v := range ridge.SmallerLambda() {
			if v >= least {
				values = append(values, v)
			}
		}
	}
	slices.Sort(values)
	slices.Reverse(values)
	return slices.Compact(values)
}

// lambda returns the value that has the least error in cross-validation inside a training set, whose sum is
// whole: over up to five blocks of units that follow each other, or of the parts of the only unit, or over the
// folds of the only part. If that is impossible, because there is one fold or one class, it is the largest.
func (d *data) lambda(ctx context.Context, train []unit, whole *ridge.Sum) (float64, error) {
	values := d.values(whole)
	if len(values) == 1 {
		return values[0], nil
	}
	if len(train) == 1 {
		train = d.singles(train[0])
	}
	rule := &d.total.Recipe.Rule
	plan, solve := ridge.FoldPlan{Folds: min(blocks, len(train))}, ridge.Solve
	o := ridge.Options{Choice: ridge.Choice{Lambda: values, Unfitted: true}, Units: d.units, Threads: d.Threads}
	if len(train) == 1 {
		if plan = rule.FoldPlan(); rule.Folds == 1 {
			return values[0], nil
		}
		if plan.Judge == ridge.JudgeNone {
			plan.Judge = ridge.JudgeAll
		}
		if o.Gap = rule.Split.Ordered() && rule.Split.Gap; rule.Split.Ordered() {
			solve = ridge.SolveChain
		}
	}
	sums := make([]*ridge.Sum, plan.Folds)
	for b := range sums {
		var err error
		if len(train) > 1 {
			sums[b], err = d.sum(ctx, train[b*len(train)/len(sums):(b+1)*len(train)/len(sums)])
		} else {
			sums[b] = ridge.NewSum(whole.Shape())
			err = d.addFold(ctx, sums[b], train[0].parts[0], b)
		}
		if err != nil {
			return 0, err
		}
	}
	o.FoldPlan, o.Load = plan, func(fold int) (*ridge.Sum, error) { return sums[fold], nil }
	fit, err := solve(o)
	if err != nil { // rows of one class, or of one block
		return values[0], nil
	}
	return fit.Lambda, nil
}

// singles returns the parts of a unit as units.
func (d *data) singles(u unit) (all []unit) {
	for _, i := range u.parts {
		all = append(all, unit{d.parts[i].Place, []int{i}})
	}
	return all
}

// model is a fit to a training set.
type model struct {
	fits   *ridge.Fits
	lambda float64
	rows   int64
	from   string // what it was trained on, in words
}

// fit fits to units, with the λ given, or chosen inside them if it is negative.
func (d *data) fit(ctx context.Context, train []unit, lambda float64) (*model, error) {
	s, err := d.sum(ctx, train)
	if err != nil {
		return nil, err
	}
	if lambda < 0 {
		if lambda, err = d.lambda(ctx, train, s); err != nil {
			return nil, err
		}
	}
	d.fits++
	return &model{d.Fit(s, []float64{lambda}), lambda, s.Rows(), spanOf(train)}, ctx.Err()
}

// squares returns the squared errors on the parts of a unit that judge.
func (d *data) squares(ctx context.Context, m *model, u unit) (tally, error) {
	all, err := d.judge(ctx, m.fits, u)
	if err != nil {
		return tally{}, err
	}
	t := tally{all[0], d.head(u)}
	if t.squares-t.squares != 0 {
		return t, exit.Refuse("ask: trained on %s, the matrix is not positive definite at lambda %g; raise --lambda", m.from, m.lambda)
	}
	return t, nil
}

// judge returns the squared errors of fits on the parts of a unit.
func (d *data) judge(ctx context.Context, f *ridge.Fits, u unit) (all []float64, err error) {
	for _, i := range u.parts {
		s, err := d.part(ctx, i)
		if err != nil {
			return nil, err
		}
		squares := f.Squares(s)
		if all == nil {
			all = make([]float64, len(squares))
		}
		for k, v := range squares {
			all[k] += v
		}
	}
	return all, nil
}
