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

// fitSize fits the weights, after it has chosen the number of features if that is to be chosen.
func (t *Training) fitSize(ctx context.Context) error {
	clock := func() time.Duration { return time.Since(t.begun) }
	limit := t.opts.Size.Time
	if l := t.opts.Iterative(); l != nil && limit > 0 {
		// What has passed, and what is done after the last round.
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
		if err := t.CountCopies(ctx); err != nil { // which may add a note
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
		// All of it is in the work directory.
		if _, err := sizes.train(ctx, chosen.Features, chosen.Once); err != nil {
			return err
		}
	}
	t.Sized = chosen
	return nil
}

// sizes are trainings with different numbers of features.
type sizes struct {
	*Training
	all   prepare.Recipe // of the largest number
	grid  features.Bits  // that was given
	notes []string       // from before
}

// resize changes the recipe to that number of features.
func (s *sizes) resize(features int) (err error) {
	s.Recipe, err = s.all.Resized(features)
	return err
}

// most returns the largest number of features for which there is memory: half of the number that
// was given, or a quarter, …, if that is too large.
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

// expect returns what a training costs by the model of the plan: products on 16 bits cost four
// times those on 8, and unless rows are summed once, a λ at the floor of 8 bits is summed and
// solved for again, which it may not be: see ridge.TooCoarse.
func (s *sizes) expect(t tuning.SizeTrial) tuning.Cost {
	d := float64(t.Features)
	rows, _ := s.Training.sizes()
	lambda, folds := s.opts.Values(rows)
	shape := ridge.Shape{Dim: t.Features, Outputs: s.Outputs(), Regression: s.Target.Grid != nil}
	cost := tuning.Cost{Map: d, Sum: d * d, Solve: ridge.Work(shape, s.Counts.Used, folds, len(lambda), s.firstJudges())}
	steps := s.grid.Steps(products(rows, t.Features), smallGram, s.wide(), s.fine())
	switch {
	case steps != blas.MostByte:
		cost.Sum *= 4
	case s.grid != features.Bits8 && !t.Once && t.Lambda <= likelyFloor(t) && rows <= againRows &&
		products(rows, t.Features) <= quickGram:
		// A grid of 16 bits tries smaller values, too.
		cost = tuning.Cost{Map: 2 * cost.Map, Sum: 5 * cost.Sum, Solve: 4 * cost.Solve}
	}
	return cost
}

// likelyFloor is the λ up to which rounding features of norm 1 to 8 bits matters, as atFloor has it: of a
// training that was measured, and ten times the λ of another, which may choose a smaller λ.
func likelyFloor(t tuning.SizeTrial) float64 {
	least := 1.01 * ridge.FloorFactor * ridge.Floor(math.Sqrt(2/float64(t.Features))/blas.MostByte)
	if t.Cost == (tuning.Cost{}) {
		least *= 10
	}
	return least
}

// train trains with that many features, and sums rows once on 8 bits if it is told to.
func (s *sizes) train(ctx context.Context, dim int, once bool) (trial tuning.SizeTrial, err error) {
	begun, before := time.Now(), s.Worker.Seconds()
	if err := s.resize(dim); err != nil {
		return trial, err
	}
	grid := &s.opts.Ridge().Grid
	if *grid = s.grid; once && s.Steps(s.grid, smallGram) == blas.MostByte {
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
