package training

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// fitSize fits the weights, and sets Fit. If the number of features is to be chosen, it chooses it first, and sets
// Sized.
func (m *Model) fitSize(ctx context.Context) (err error) {
	t := m.Training
	defer t.Job.Time("train")()
	if t.spec.ChoosesSize() {
		return m.chooseSize(ctx)
	}
	l, limit := t.spec.Iterative(), t.spec.Size.Time
	limited := l != nil && limit > 0
	if limited {
		// Subtract the time that has passed, and time for the steps after the last round.
		l.Common().Time = max((limit*95/100 - t.clock()).Round(time.Millisecond), time.Millisecond)
	}
	m.Fit, err = t.fit(ctx, m.Features)
	if over := t.clock() - limit; limited && err == nil && over > limit*15/100 {
		t.AddNotef("the training took %s longer than --time %s, because the first rounds, without which there are no "+
			"weights, take that long; fewer --features or --search none take less time", over.Round(time.Second/10), limit)
	}
	return err
}

// clock returns the time since the training run began.
func (t *Training) clock() time.Duration { return time.Since(t.begun) }

// chooseSize chooses the number of features, and fits the weights.
func (m *Model) chooseSize(ctx context.Context) error {
	t := m.Training
	if t.spec.FoldCount() > 1 {
		if err := t.CountCopies(ctx); err != nil { // it may add a note
			return err
		}
	}
	l := t.spec.Ridge()
	sums, err := t.newSumsPlan(l.Grid, l.Weights, smallProducts, m.Features)
	if err != nil {
		return err
	}
	s := &sizes{sumsPlan: sums, all: t.Prepared.Recipe, given: l.Grid, notes: t.Notes}
	largest, err := s.largest()
	if err != nil {
		return err
	}
	search := &tuning.SizeSearch{Size: t.spec.Size, Min: s.all.Least(tuning.MinFeatures, largest), Max: largest,
		Train: s.train, Expect: s.expect, Clock: t.clock}
	if m.Sized, err = search.Run(ctx); err != nil {
		return err
	}
	if last := m.Sized.Trials[len(m.Sized.Trials)-1]; last.Features != m.Sized.Features {
		// The fit of this size is in the work directory.
		if _, err := s.train(ctx, results.SizeTrial{Features: m.Sized.Features, Once: m.Sized.Once}); err != nil {
			return err
		}
	}
	m.Fit = s.last
	return nil
}

// sizes fits models with different numbers of features.
type sizes struct {
	*sumsPlan
	all   prepare.Recipe // with the largest number of features
	given features.Bits  // grid that the user asks for
	notes []string       // notes of the steps before
	last  *Fit
}

// largest returns the largest number of features for which there is memory: the given number, or a half of it, a
// quarter, ….
func (s *sizes) largest() (int, error) {
	t := s.training
	features := t.spec.Kernel.Size(1).Features
	for {
		r, err := s.all.WithFeatures(features)
		if err != nil {
			return 0, err
		}
		_, err = t.spec.CheckMachine(t.memoryWith(r, 0))
		if err == nil || !t.Job.Engine.InProcess() {
			return features, nil
		}
		if features/2 < s.all.Least(tuning.MinFeatures, features) {
			return 0, err
		}
		t.Job.Progress.Notef("%v: trying up to %d features", err, features/2)
		features /= 2
	}
}

// expect returns the cost of a trial by the model of the plan. Products on 16 bits cost four times as much as
// on 8 bits. Unless t.Once is set, it assumes that rows are summed again if λ is the smallest for 8 bits; see
// ridge.TooCoarse.
func (s *sizes) expect(t results.SizeTrial) results.SizeCost {
	d := float64(t.Features)
	lambda, folds := s.training.spec.Values(s.rows)
	plan := ridge.FoldPlan{Folds: folds}
	if s.onlyFirst {
		plan.Validation = ridge.FirstFold
	}
	shape := ridge.Shape{Dim: t.Features, Outputs: s.training.Prepared.Outputs(), Regression: s.training.regression()}
	cost := results.SizeCost{Map: d, Sum: d * d,
		Solve: ridge.SolveSeconds(shape, plan, s.training.Prepared.Counts.Used, len(lambda))}
	switch {
	case s.steps(s.given, t.Features) != features.ByteSteps:
		cost.Sum *= 4
	case s.given != features.Bits8 && !t.Once && t.Lambda <= likelyFloor(t) && s.rows <= maxResumRows &&
		products(s.rows, t.Features) <= maxCheapProducts:
		// A grid of 16 bits tries smaller values, too.
		cost = results.SizeCost{Map: 2 * cost.Map, Sum: 5 * cost.Sum, Solve: 4 * cost.Solve}
	}
	return cost
}

// likelyFloor returns the λ up to which rounding to 8 bits matters (ridge.FloorFactor), for features of norm 1. For
// a trial that has not run it is ten times as large, because the trial may choose a smaller λ than expected.
func likelyFloor(t results.SizeTrial) float64 {
	least := 1.01 * ridge.FloorFactor * ridge.LambdaFloor(math.Sqrt(2/float64(t.Features))/features.ByteSteps)
	if t.Cost == (results.SizeCost{}) {
		least *= 10
	}
	return least
}

// train implements tuning.SizeSearch.Train.
func (s *sizes) train(ctx context.Context, planned results.SizeTrial) (trial results.SizeTrial, err error) {
	t := s.training
	begun, before := time.Now(), t.Job.Worker.Seconds()
	if t.Prepared.Recipe, err = s.all.WithFeatures(planned.Features); err != nil {
		return trial, err
	}
	s.bits = s.given
	if planned.Once && s.steps(s.given, planned.Features) == features.ByteSteps {
		s.bits = features.Bits8
	}
	l := *t.spec.Ridge()
	l.Grid = s.bits // memory depends on it
	t.spec.Learner = &l
	trial.Once = s.bits != s.given
	if err := t.Reserve(t.Memory(0)); err != nil {
		return trial, err
	}
	t.Notes = slices.Clone(s.notes)
	f, err := s.fit(ctx)
	if err != nil {
		return trial, err
	}
	s.last = f.fit
	after := t.Job.Worker.Seconds()
	spent := func(stages ...string) (seconds float64) {
		for _, name := range stages {
			seconds += after[name] - before[name]
		}
		return seconds
	}
	trial.Lambda = f.fit.Learner.Lambda
	trial.Cost = tuning.SplitCost(time.Since(begun).Seconds(), spent("map"), spent("fold", "merge", "store"),
		spent("solve"))
	table := f.fit.Learner.Table
	at := slices.IndexFunc(table, func(r ridge.CVResult) bool { return r.Lambda == trial.Lambda && r.Failed == "" })
	if at >= 0 {
		row := table[at]
		trial.Loss, trial.Folds, trial.Rows = row.MSE, f.report.FoldErrors[at], max(row.HeldOutRows, f.report.FirstRows)
	}
	return trial, nil
}
