package training

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
)

// fitSize fits the weights. If the number of features is to be chosen, it chooses it first.
func (t *Training) fitSize(ctx context.Context) error {
	clock := func() time.Duration { return time.Since(t.begun) }
	limit := t.opts.Size.Time
	if l := t.opts.Iterative(); l != nil && limit > 0 {
		// Subtract the time that has passed, and time for the steps after the last round.
		l.Common().Time = max((limit*95/100 - clock()).Round(time.Millisecond), time.Millisecond)
		err := t.fit(ctx)
		if over := clock() - limit; err == nil && over > limit*15/100 {
			t.Notes = append(t.Notes, fmt.Sprintf("the training took %s longer than --time %s, because the first rounds, "+
				"without which there are no weights, take that long; fewer --features or --search none take less time",
				over.Round(time.Second/10), limit))
		}
		return err
	}
	if !t.opts.Resizes() {
		return t.fit(ctx)
	}
	if t.opts.Parts() > 1 {
		if err := t.CountCopies(ctx); err != nil { // it may add a note
			return err
		}
	}
	sizes := &sizes{Training: t, all: t.Recipe, grid: t.opts.Ridge().Grid, notes: t.Notes}
	most, err := sizes.most()
	if err != nil {
		return err
	}
	search := &tuning.SizeSearch{
		SizeOptions: t.opts.Size, Least: sizes.all.Least(tuning.LeastFeatures, most), Most: most, Train: sizes.train,
		Expect: sizes.expect, Clock: clock,
	}
	chosen, err := search.Run(ctx)
	if err != nil {
		return err
	}
	if last := chosen.Trials[len(chosen.Trials)-1]; last.Features != chosen.Features {
		// The fit of this size is in the work directory.
		if _, err := sizes.train(ctx, chosen.Features, chosen.Once); err != nil {
			return err
		}
	}
	t.Sized = chosen
	return nil
}

// sizes fits models with different numbers of features.
type sizes struct {
	*Training
	all   prepare.Recipe // with the largest number of features
	grid  features.Bits  // as the user set it
	notes []string       // notes of the steps before
}

// resize sets the recipe to that number of features.
func (s *sizes) resize(features int) (err error) {
	s.Recipe, err = s.all.Resized(features)
	return err
}

// most returns the largest number of features for which there is memory: the given number, or a half of it, a
// quarter, ….
func (s *sizes) most() (int, error) {
	features := s.opts.Kernel.Size(1).Features
	for {
		if err := s.resize(features); err != nil {
			return 0, err
		}
		m := s.Memory(0)
		_, err := m.Fits(s.opts)
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
func (s *sizes) expect(t tuning.SizeTrial) tuning.Cost {
	d := float64(t.Features)
	rows, _ := s.Training.sizes()
	lambda, folds := s.opts.Values(rows)
	shape := ridge.Shape{Dim: t.Features, Outputs: s.Outputs(), Regression: s.Target.Grid != nil}
	cost := tuning.Cost{Map: d, Sum: d * d, Solve: ridge.Work(shape, s.Counts.Used, folds, len(lambda), s.firstJudges())}
	steps := s.grid.Steps(products(rows, t.Features), smallProducts, s.columnRanges(), s.fineSteps())
	switch {
	case steps != blas.MostByte:
		cost.Sum *= 4
	case s.grid != features.Bits8 && !t.Once && t.Lambda <= likelyFloor(t) && rows <= maxResumRows &&
		products(rows, t.Features) <= maxQuickProducts:
		// A grid of 16 bits tries smaller values, too.
		cost = tuning.Cost{Map: 2 * cost.Map, Sum: 5 * cost.Sum, Solve: 4 * cost.Solve}
	}
	return cost
}

// likelyFloor returns the λ up to which atFloor is true for features of norm 1. For a trial that has not run it
// is ten times as large, because the trial may choose a smaller λ than expected.
func likelyFloor(t tuning.SizeTrial) float64 {
	least := 1.01 * ridge.FloorFactor * ridge.Floor(math.Sqrt(2/float64(t.Features))/blas.MostByte)
	if t.Cost == (tuning.Cost{}) {
		least *= 10
	}
	return least
}

// train fits a model with that many features. With once, it sums rows only once, on 8 bits.
func (s *sizes) train(ctx context.Context, dim int, once bool) (trial tuning.SizeTrial, err error) {
	begun, before := time.Now(), s.Worker.Seconds()
	if err := s.resize(dim); err != nil {
		return trial, err
	}
	grid := &s.opts.Ridge().Grid
	if *grid = s.grid; once && s.Steps(s.grid, smallProducts) == blas.MostByte {
		*grid = features.Bits8
	}
	trial.Once = *grid != s.grid
	if err := s.Fits(s.Memory(0)); err != nil {
		return trial, err
	}
	s.Notes = slices.Clone(s.notes)
	if err := s.fit(ctx); err != nil {
		return trial, err
	}
	after := s.Worker.Seconds()
	spent := func(stages ...string) (seconds float64) {
		for _, name := range stages {
			seconds += after[name] - before[name]
		}
		return seconds
	}
	trial.Lambda = s.Learner.Lambda
	trial.Cost = tuning.SplitCost(time.Since(begun).Seconds(), spent("map"), spent("fold", "merge", "store"),
		spent("solve"))
	at := slices.IndexFunc(s.Learner.Table, func(r ridge.Row) bool { return r.Lambda == trial.Lambda && r.Failed == "" })
	if at >= 0 {
		row := s.Learner.Table[at]
		trial.Loss, trial.Folds, trial.Rows = row.MSE, s.summed.fit.FoldErrors[at],
			max(row.HeldOutRows, s.summed.fit.FirstRows)
	}
	return trial, nil
}
