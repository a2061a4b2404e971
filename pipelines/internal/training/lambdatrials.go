package training

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/transforms/gram"
	"github.com/bochner-ml/bochner/transforms/scores"
)

// summed is a fit by sums: the pass that summed the rows, its files, and the results of the solve.
type summed struct {
	pass       *gram.Pass
	state      gram.State
	fit        gram.FitReport // for the λ that the solve has chosen
	heldOut    scorer         // weights to score held-out rows, if they calibrate or choose a threshold
	kept       *score.Kept    // held-out rows with scores by all fits, for probabilities; nil for none
	whyNotKept string         // why kept is nil
	groups     int64          // number of groups of dependent held-out rows; 0 if rows are independent
}

// checkSelect refuses values of Select that the data or the learner does not support.
func (t *Training) checkSelect() error {
	l := t.opts.Lambda
	if !l.Selects() {
		return nil
	}
	if t.Target.Classes == nil {
		return exit.Usage("--select %s is for classification; the labels are numbers (see --task)", l.Select)
	}
	if t.opts.Ridge() == nil {
		return nil // iterative learners check it in validate
	}
	lambda, _ := l.Values(1)
	shape := ridge.Shape{Dim: t.Recipe.Dim, Outputs: t.Outputs()}
	if bytes := ridge.TrialBytes(shape, len(lambda)+len(ridge.SmallerLambda())); bytes > ridge.MaxTrialBytes {
		return exit.Usage("--select %s keeps the weights of all values of lambda, which take %s, more than %s; use fewer "+
			"features, or --select mse",
			l.Select, report.Bytes(bytes), report.Bytes(ridge.MaxTrialBytes))
	}
	return nil
}

// leastForLogLoss is the number of rows from which on the log losses of one fold choose λ well.
const leastForLogLoss = 1500

// judgeByLogLoss makes the log loss choose λ for classes after a search, which also used it, unless the user
// chose otherwise. On many tables, squared errors of scores against ±1 codes choose too large or too small a λ,
// but log losses of few rows depend on chance. Squared errors still choose λ if they choose the number of
// features, and if classes have weights, which log losses of rows ignore.
func (t *Training) judgeByLogLoss() {
	l, o := &t.opts.Lambda, t.opts.Ridge()
	if l.Select == "" && l.Auto() && t.Target.Classes != nil && o != nil && len(o.Weights) == 0 && !t.opts.Resizes() &&
		t.Counts.Used >= leastForLogLoss {
		l.Select, t.lambdaByMSE = spec.SelectLogLoss, true
	}
}

// chooseLambda sets the learner's λ by Select, but not yet the weights: see finishChoice. It does nothing if
// the solve chooses λ.
func (t *Training) chooseLambda(ctx context.Context) error {
	by := t.opts.Lambda.Select
	if !t.opts.Lambda.Selects() {
		return nil
	}
	losses, err := t.scoreTrials(ctx)
	if err != nil {
		return err
	}
	best := -1
	for i, row := range t.Learner.Table {
		if row.HeldOutRows == 0 || math.IsInf(losses[i], 1) {
			continue
		}
		of := func(i int) float64 {
			if by == spec.SelectLogLoss {
				return losses[i]
			}
			if w := t.Learner.Table[i].HeldOutError; w > 0 {
				return w // share of the weight that errors have; 0 without weights or errors
			}
			return float64(t.Learner.Table[i].HeldOutErrors)
		}
		// Ties go to the least squared error over all folds, and then to the larger λ.
		if best < 0 || cmp.Or(cmp.Compare(of(i), of(best)), cmp.Compare(row.MSE, t.Learner.Table[best].MSE),
			cmp.Compare(t.Learner.Table[best].Lambda, row.Lambda)) < 0 {
			best = i
		}
	}
	if best < 0 {
		if t.lambdaByMSE {
			return nil // squared errors have chosen
		}
		return exit.Refuse("pipelines: no held-out row has scores of any lambda, so --select %s cannot choose; use more rows, or fewer folds", by)
	}
	t.Learner.Lambda, t.Learner.Select = t.Learner.Table[best].Lambda, by
	return nil
}

// finishChoice sets the weights to those for the learner's λ, and scores the trials if this has not been done.
func (t *Training) finishChoice(ctx context.Context) error {
	if !t.opts.Lambda.Selects() {
		if _, err := t.scoreTrials(ctx); err != nil {
			return err
		}
	} else if t.Learner.Lambda != t.summed.fit.Lambda {
		if err := t.solveFor(ctx, t.Learner.Lambda); err != nil {
			return err
		}
	}
	return t.fitProbabilities()
}

// scoreTrials scores the rows of the first fold for every tried λ, in a pass over the data, and adds the
// results to the table of the learner. Sums give squared errors of rounded features and no classification
// errors; this pass gives both as in predictions. It returns the log loss for each row of the table: that of
// probabilities if it keeps the scores; otherwise that of the pass if log losses choose λ, +Inf if there is none;
// otherwise 0.
func (t *Training) scoreTrials(ctx context.Context) (losses []float64, err error) {
	table, fit := t.Learner.Table, t.summed.fit
	losses = make([]float64, len(table))
	if fit.TrialsSHA256 == "" {
		return losses, nil
	}
	t.Progress.Phase("scoring held-out rows", t.Counts.Used)
	defer t.Progress.Done()
	var fits int
	for _, row := range table {
		if row.Failed == "" {
			fits++
		}
	}
	folds := t.opts.Parts()
	keep, _ := t.willCalibrate()
	keep = keep && t.Outputs() <= spec.MaxKept
	pass := &scores.Trials{Pass: t.Pass(folds), HeldOut: scores.HeldOut{
		Folds: folds, Recipe: t.Recipe.Sealed, Outputs: t.Outputs(), Fits: fits, Weights: t.summed.state.Trials,
		SHA256: fit.TrialsSHA256, Grid: t.scoring(),
	}, LogLoss: t.opts.Lambda.Select == spec.SelectLogLoss, Keep: keep, Grouped: t.Dependent()}
	if pass.Conformal = t.conformalScores(); fit.FirstSketch != nil {
		pass.Probes = fit.FirstSketch.Probes
	}
	var sum scores.TrialScores
	if _, err := t.ScanSum(ctx, pass, "trials", &sum); err != nil {
		return nil, err
	}
	if sum.Rows() != fit.FirstRows {
		return nil, fmt.Errorf("pipelines: %d rows were held out of the trials, %d were scored", fit.FirstRows, sum.Rows())
	}
	t.summed.groups = sum.Clusters()
	t.keepIntervals(sum.Conformal, t.summed.groups, folds, fit.FirstSketch != nil)
	trial := 0
	for i := range table {
		row := &table[i]
		if row.Failed != "" {
			continue
		}
		row.HeldOutRows = sum.Rows()
		if t.Target.Grid != nil {
			t.scoreTargets(row, &sum.Trials, trial)
		} else {
			row.HeldOutErrors, row.HeldOutMSE = sum.Of(trial)
			row.HeldOutEffective, row.HeldOutStdErr = sum.Effective(trial), sum.StdErr(trial)
		}
		if sum.Weighted() {
			row.HeldOutError = sum.Error(trial)
		}
		if sum.Losses != nil {
			if losses[i], _ = sum.Losses.Of(trial); !math.IsInf(losses[i], 1) {
				row.HeldOutLogLoss = losses[i]
			}
		}
		trial++
	}
	if !keep {
		return losses, nil
	}
	if t.summed.whyNotKept = t.tooFew(sum.Kept.Counts(0)); t.summed.whyNotKept != "" && !t.opts.Calibrates() {
		return losses, nil
	}
	t.summed.kept = sum.Kept
	return t.judgeProbabilities(sum.Kept)
}

// scoreTargets stores the held-out errors of a fit to targets.
func (t *Training) scoreTargets(row *ridge.Row, sum *score.Trials, trial int) {
	k, fit := len(t.Target.Grid), t.summed.fit
	for c, g := range t.Target.Grid {
		if far := sum.Far(trial*k+c).On(g.Low, g.High); far != nil && row.Lambda == t.Learner.Lambda {
			t.Notes = append(t.Notes, "held-out rows: "+far.Text(sum.Rows()))
		}
		_, mse := sum.Of(trial*k + c)
		mse *= g.Half() * g.Half()
		if k == 1 {
			row.HeldOutMSE, row.HeldOutStdErr = mse, g.Half()*g.Half()*sum.StdErr(trial)
			return
		}
		share := 0.0 // mean squared error as a share of the variance, as in ridge.Row
		if v := fit.Variance[c]; v > 0 {
			share = mse / v
		}
		row.HeldOutMSE += share / float64(k)
		if row.Lambda == t.Learner.Lambda {
			if c < len(fit.FoldVariance) && fit.FoldVariance[c] > 0 {
				share = mse / fit.FoldVariance[c]
			}
			t.Learner.TargetR2 = append(t.Learner.TargetR2, 1-share)
		}
	}
}
