package training

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

// leastForLogLoss is the least number of rows of which the log losses of one fold choose λ well.
const leastForLogLoss = 1500

// logLossChooses reports whether log losses are the default choice of λ for classes after a search,
// which also used them. On many tables, squared errors of scores against ±1 codes choose too large or
// too small a λ, but log losses of few rows depend on chance. Squared errors still choose λ if they
// choose the number of features, and if classes have weights, which log losses of rows ignore.
func (t *Training) logLossChooses() bool {
	l, o := t.spec.Lambda, t.spec.Ridge()
	return l.Select == "" && l.Auto() && t.Prepared.Target.Classes != nil && o != nil && len(o.Weights) == 0 &&
		!t.spec.ChoosesSize() && t.Prepared.Counts.Used >= leastForLogLoss
}

// chooseLambda sets the learner's λ by Select, but not yet the weights: see finishChoice. If no row was held out,
// squared errors choose with byMSE.
func (f *sumsFit) chooseLambda(ctx context.Context, byMSE bool) error {
	by := f.training.spec.Lambda.Select
	losses, err := f.scoreTrials(ctx)
	if err != nil {
		return err
	}
	table := f.fit.Learner.Table
	loss := func(i int) float64 {
		switch row := table[i]; {
		case by == options.SelectLogLoss:
			return losses[i]
		case row.HeldOutError > 0:
			return row.HeldOutError // share of the weight that errors have; 0 without weights or errors
		default:
			return float64(row.HeldOutErrors)
		}
	}
	best := -1
	for i, row := range table {
		if row.HeldOutRows == 0 || math.IsInf(losses[i], 1) {
			continue
		}
		// Ties go to the least squared error over all folds, and then to the larger λ.
		if best < 0 || cmp.Or(cmp.Compare(loss(i), loss(best)), cmp.Compare(row.MSE, table[best].MSE),
			cmp.Compare(table[best].Lambda, row.Lambda)) < 0 {
			best = i
		}
	}
	switch {
	case best >= 0:
		f.fit.Learner.Lambda, f.fit.Learner.Select = table[best].Lambda, string(by)
	case !byMSE:
		return exit.Dataf("--select %s cannot choose a lambda: no held-out row has scores; use more rows, or "+
			"fewer folds", by)
	}
	return nil
}

// finishChoice sets the weights to those for the learner's λ, and scores the trials if this has not been done.
func (f *sumsFit) finishChoice(ctx context.Context) error {
	if !f.training.spec.Lambda.Selects() {
		if _, err := f.scoreTrials(ctx); err != nil {
			return err
		}
	} else if f.fit.Learner.Lambda != f.report.Lambda {
		if err := f.solveFor(ctx, f.fit.Learner.Lambda); err != nil {
			return err
		}
	}
	return f.fitProbabilities()
}

// scoreTrials scores the rows of the first fold for every tried λ, in a pass over the data, and adds the
// results to the table of the learner. Sums give squared errors of rounded features and no classification
// errors; this pass gives both as in predictions. If other folds are held out, too, reports print the error
// of the sums (ridge.CVResult.MSE). It returns the log loss for each row of the table: the loss of the probabilities if
// it keeps the scores and both halves of the rows have some; otherwise the loss in the pass if log losses choose λ, +Inf
// if there is none; otherwise 0.
func (f *sumsFit) scoreTrials(ctx context.Context) (losses []float64, err error) {
	t := f.training
	table := f.fit.Learner.Table
	losses = make([]float64, len(table))
	if f.trials.sha256 == "" {
		return losses, nil
	}
	keep, _ := t.willCalibrate()
	keep = keep && t.Prepared.Outputs() <= score.MaxHeldOutClasses
	sum, err := f.scanTrials(ctx, keep)
	if err != nil {
		return nil, err
	}
	f.groups = sum.Clusters()
	f.keepIntervals(sum.Conformal, f.groups, f.report.FirstSketch != nil)
	trial := 0
	for i := range table {
		row := &table[i]
		if row.Failed != "" {
			continue
		}
		row.HeldOutRows = sum.Rows()
		if t.Prepared.Target.Grid != nil {
			f.scoreTargets(row, &sum.Trials, trial)
		} else {
			row.HeldOutErrors, row.HeldOutMSE = sum.Result(trial)
			row.HeldOutEffective, row.HeldOutStdErr = sum.Effective(trial), sum.StdErr(trial)
		}
		if sum.Weighted() {
			row.HeldOutError = sum.Error(trial)
		}
		if sum.Losses != nil {
			losses[i], _ = sum.Losses.Best(trial)
			if !math.IsInf(losses[i], 1) {
				row.HeldOutLogLoss = losses[i]
			}
		}
		trial++
	}
	if !keep {
		return losses, nil
	}
	f.whyNotKept = f.tooFew(sum.Kept.Counts(0))
	if f.whyNotKept != "" && !t.spec.CalibrationRequested() {
		return losses, nil
	}
	if f.kept = sum.Kept; !f.kept.Divided() { // nothing judges the probabilities of the model
		return losses, nil
	}
	f.fit.judgedByHalves = true
	return f.judgeProbabilities(), nil
}

// scanTrials runs the pass of scoreTrials. keep is true if the result keeps the scores of rows.
func (f *sumsFit) scanTrials(ctx context.Context, keep bool) (*scoring.TrialScores, error) {
	t := f.training
	t.Job.Progress.Phase("scoring held-out rows", t.Prepared.Counts.Used)
	defer t.Job.Progress.Done()
	fits, chosen := f.fit.tried()
	pass := &scoring.Trials{Pass: t.Pass(f.folds), HeldOut: f.scoring(f.trials, fits),
		LogLoss: t.spec.Lambda.Select == options.SelectLogLoss, Keep: keep, Grouped: t.Prepared.Dependent()}
	// Conformity scores of classes need probabilities and come later.
	targets := t.Prepared.Target.Grid != nil && t.spec.Intervals != options.IntervalsNone
	if targets {
		pass.Conformal = &scoring.Conformal{Fit: chosen}
	}
	if s := f.report.FirstSketch; s != nil {
		pass.Probes = s.Probes
		if targets {
			pass.Conformal.Leverage, pass.Conformal.Within = s.Leverage, s.Within
		}
	}
	sum := new(scoring.TrialScores)
	if _, err := t.Job.ScanSum(ctx, pass, "trials", sum); err != nil {
		return nil, err
	}
	if sum.Rows() != f.report.FirstRows {
		return nil, fmt.Errorf("%d rows were held out of the trials, %d were scored", f.report.FirstRows,
			sum.Rows())
	}
	return sum, nil
}

// scoreTargets stores the held-out errors of a fit to targets.
func (f *sumsFit) scoreTargets(row *ridge.CVResult, sum *score.Trials, trial int) {
	t := f.training
	k, fit := len(t.Prepared.Target.Grid), &f.report
	for c, g := range t.Prepared.Target.Grid {
		if far := sum.OutOfRange(trial*k+c).Unscaled(g.Low, g.High); far != nil && row.Lambda == f.fit.Learner.Lambda {
			t.AddNotef("held-out rows: %s", far.Text(sum.Rows()))
		}
		_, mse := sum.Result(trial*k + c)
		mse *= g.Half() * g.Half()
		if k == 1 {
			row.HeldOutMSE, row.HeldOutStdErr = mse, g.Half()*g.Half()*sum.StdErr(trial)
			return
		}
		share := 0.0 // mean squared error as a share of the variance, as in ridge.CVResult
		if v := fit.Variance[c]; v > 0 {
			share = mse / v
		}
		row.HeldOutMSE += share / float64(k)
		if row.Lambda == f.fit.Learner.Lambda {
			if c < len(fit.FoldVariance) && fit.FoldVariance[c] > 0 {
				share = mse / fit.FoldVariance[c]
			}
			f.fit.Learner.TargetR2 = append(f.fit.Learner.TargetR2, 1-share)
		}
	}
}
