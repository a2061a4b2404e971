package training

import (
	"context"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms/scores"
)

// tried returns the number of fits without the first fold, and the position of the fit with the learner's λ.
func (f *Fit) tried() (fits, chosen int) {
	for _, row := range f.Learner.Table {
		if row.Failed != "" {
			continue
		}
		if row.Lambda == f.Learner.Lambda {
			chosen = fits
		}
		fits++
	}
	return fits, chosen
}

// addIntervals gives the model intervals or sets of classes, by the conformity scores of the first fold. It uses
// rows that the trials have kept, or makes a pass over the data. Without held, it uses the weights of the trials.
func (j *deciding) addIntervals(ctx context.Context, held weightsFile) error {
	t := j.training
	classes := t.Prepared.Target.Classes != nil
	fits, chosen := 1, 0
	if held.sha256 == "" && classes {
		held = j.trials
		fits, chosen = j.fit.tried()
	}
	if held.sha256 == "" || t.opts.Intervals == options.NoIntervals || classes && j.fit.probabilities == nil {
		return nil
	}
	if kept := j.kept; kept != nil && !t.opts.Calibrates() { // no pass is needed
		_, chosen = j.fit.tried() // kept rows have the scores of all fits, not only of held
		c := kept.Conformal(chosen, j.keptMethod(kept.Counts(chosen)))
		j.keepIntervals([]score.Conformal{*c}, j.groups, false)
		return nil
	}
	t.Job.Progress.Phase("measuring intervals", t.Prepared.Counts.Used)
	defer t.Job.Progress.Done()
	pass := &scores.Trials{Pass: t.Pass(j.folds), HeldOut: j.scoring(held, fits), Grouped: t.Prepared.Dependent(),
		Conformal: &scores.Conformal{Fit: chosen, Probabilities: j.fit.probabilities}}
	var sum scores.TrialScores
	if _, err := t.Job.ScanSum(ctx, pass, "conformal", &sum); err != nil {
		return err
	}
	j.keepIntervals(sum.Conformal, sum.Clusters(), false)
	return nil
}

// keepIntervals sets the intervals of the model from conformity scores of each target, or of classes. groups is
// the number of groups of dependent rows, 0 for independent rows.
func (j *deciding) keepIntervals(all []score.Conformal, groups int64, scaled bool) {
	j.fit.intervals = nil
	if len(all) == 0 || all[0].Rows() == 0 {
		return
	}
	j.fit.intervals = &models.Intervals{Rows: all[0].Rows(), Folds: j.folds, Scaled: scaled}
	if groups > 0 {
		j.fit.intervals.Groups = min(groups, j.fit.intervals.Rows)
	}
	for i := range all {
		j.fit.intervals.Scores = append(j.fit.intervals.Scores, all[i].Kept())
	}
}

// resultInterval returns nil unless the model predicts one target with intervals.
func (m *Model) resultInterval() *results.TrainInterval {
	v := m.Fit.intervals
	if v == nil {
		return nil
	}
	half, one := report.IntervalHalfWidth(v, m.Fit.sketch, m.Training.Prepared.Target.Grid)
	if !one {
		return nil
	}
	return &results.TrainInterval{Level: models.UsualLevel, Rows: v.Rows, Groups: v.Groups, Half: half}
}
