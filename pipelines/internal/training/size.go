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
	if m.opts.ChoosesSize() {
		return m.chooseSize(ctx)
	}
	l, limit := m.opts.Iterative(), m.opts.Size.Time
	if l == nil || limit == 0 {
		m.Fit, err = m.fit(ctx, m.Found)
		return err
	}
	// Subtract the time that has passed, and time for the steps after the last round.
	l.Common().Time = max((limit*95/100 - m.clock()).Round(time.Millisecond), time.Millisecond)
	m.Fit, err = m.fit(ctx, m.Found)
	if over := m.clock() - limit; err == nil && over > limit*15/100 {
		m.AddNote("the training took %s longer than --time %s, because the first rounds, without which there are no "+
			"weights, take that long; fewer --features or --search none take less time", over.Round(time.Second/10), limit)
	}
	return err
}

// clock returns the time since the training run began.
func (t *Training) clock() time.Duration { return time.Since(t.begun) }

// chooseSize chooses the number of features, and fits the weights.
func (m *Model) chooseSize(ctx context.Context) error {
	if m.opts.FoldCount() > 1 {
		if err := m.CountCopies(ctx); err != nil { // it may add a note
			return err
		}
	}
	l := m.opts.Ridge()
	sums, err := m.newSums(l.Grid, l.Weights, smallProducts, m.Found)
	if err != nil {
		return err
	}
	s := &sizes{sumsTraining: sums, all: m.Recipe, given: l.Grid, notes: m.Notes}
	most, err := s.most()
	if err != nil {
		return err
	}
	search := &tuning.SizeSearch{Size: m.opts.Size, Least: s.all.Least(tuning.LeastFeatures, most), Most: most,
		Train: s.train, Expect: s.expect, Clock: m.clock}
	if m.Sized, err = search.Run(ctx); err != nil {
		return err
	}
	if last := m.Sized.Trials[len(m.Sized.Trials)-1]; last.Features != m.Sized.Features {
		// The fit of this size is in the work directory.
		if _, err := s.train(ctx, m.Sized.Features, m.Sized.Once); err != nil {
			return err
		}
	}
	m.Fit = s.last
	return nil
}

// sizes fits models with different numbers of features.
type sizes struct {
	*sumsTraining
	all   prepare.Recipe // with the largest number of features
	given features.Bits  // grid that the user asks for
	notes []string       // notes of the steps before
	last  *Fit
}

// most returns the largest number of features for which there is memory: the given number, or a half of it, a
// quarter, ….
func (s *sizes) most() (int, error) {
	features := s.opts.Kernel.Size(1).Features
	for {
		r, err := s.all.WithFeatures(features)
		if err != nil {
			return 0, err
		}
		_, err = s.opts.CheckMachine(s.memoryWith(r, 0))
		if err == nil || !s.Engine.InProcess() {
			return features, nil
		}
		if features/2 < s.all.Least(tuning.LeastFeatures, features) {
			return 0, err
		}
		s.Progress.Note("%v: trying up to %d features", err, features/2)
		features /= 2
	}
}

// expect returns the cost of a trial by the model of the plan. Products on 16 bits cost four times as much as
// on 8 bits. Unless t.Once is set, it assumes that rows are summed again if λ is at the floor of 8 bits; see
// ridge.TooCoarse.
func (s *sizes) expect(t results.SizeTrial) results.SizeCost {
	d := float64(t.Features)
	lambda, folds := s.opts.Values(s.rows)
	plan := ridge.FoldPlan{Folds: folds}
	if s.onlyFirst {
		plan.Judge = ridge.JudgeFirst
	}
	shape := ridge.Shape{Dim: t.Features, Outputs: s.Outputs(), Regression: s.regression()}
	cost := results.SizeCost{Map: d, Sum: d * d, Solve: ridge.Work(shape, plan, s.Counts.Used, len(lambda))}
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
	least := 1.01 * ridge.FloorFactor * ridge.Floor(math.Sqrt(2/float64(t.Features))/features.ByteSteps)
	if t.Cost == (results.SizeCost{}) {
		least *= 10
	}
	return least
}

// train fits a model with dim features. With once, it sums rows only once, on 8 bits.
func (s *sizes) train(ctx context.Context, dim int, once bool) (trial results.SizeTrial, err error) {
	begun, before := time.Now(), s.Worker.Seconds()
	if s.Recipe, err = s.all.WithFeatures(dim); err != nil {
		return trial, err
	}
	s.bits = s.given
	if once && s.steps(s.given, dim) == features.ByteSteps {
		s.bits = features.Bits8
	}
	s.opts.Ridge().Grid = s.bits // memory depends on it
	trial.Once = s.bits != s.given
	if err := s.Reserve(s.Memory(0)); err != nil {
		return trial, err
	}
	s.Notes = slices.Clone(s.notes)
	fit, err := s.fit(ctx)
	if err != nil {
		return trial, err
	}
	s.last = fit.Fit
	after := s.Worker.Seconds()
	spent := func(stages ...string) (seconds float64) {
		for _, name := range stages {
			seconds += after[name] - before[name]
		}
		return seconds
	}
	trial.Lambda = fit.Learner.Lambda
	trial.Cost = tuning.SplitCost(time.Since(begun).Seconds(), spent("map"), spent("fold", "merge", "store"),
		spent("solve"))
	at := slices.IndexFunc(fit.Learner.Table, func(r ridge.Row) bool { return r.Lambda == trial.Lambda && r.Failed == "" })
	if at >= 0 {
		row := fit.Learner.Table[at]
		trial.Loss, trial.Folds, trial.Rows = row.MSE, fit.report.FoldErrors[at], max(row.HeldOutRows, fit.report.FirstRows)
	}
	return trial, nil
}
