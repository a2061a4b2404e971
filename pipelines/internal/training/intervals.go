package training

import (
	"context"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms/scoring"
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
func (d *deciding) addIntervals(ctx context.Context, held weightsFile) error {
	t := d.training
	classes := t.Prepared.Target.Classes != nil
	fits, chosen := 1, 0
	if held.sha256 == "" && classes {
		held = d.trials
		fits, chosen = d.fit.tried()
	}
	if held.sha256 == "" || t.spec.Intervals == options.NoIntervals || classes && d.fit.probabilities == nil {
		return nil
	}
	if kept := d.kept; kept != nil && !t.spec.Calibrates() { // no pass is needed
		_, chosen = d.fit.tried() // kept rows have the scores of all fits, not only of held
		c := kept.Conformal(chosen, d.keptMethod(kept.Counts(chosen)))
		d.keepIntervals([]score.Conformal{*c}, d.groups, false)
		return nil
	}
	t.Job.Progress.Phase("measuring intervals", t.Prepared.Counts.Used)
	defer t.Job.Progress.Done()
	pass := &scoring.Trials{Pass: t.Pass(d.folds), HeldOut: d.scoring(held, fits), Grouped: t.Prepared.Dependent(),
		Conformal: &scoring.Conformal{Fit: chosen, Probabilities: d.fit.probabilities}}
	var sum scoring.TrialScores
	if _, err := t.Job.ScanSum(ctx, pass, "conformal", &sum); err != nil {
		return err
	}
	d.keepIntervals(sum.Conformal, sum.Clusters(), false)
	return nil
}

// keepIntervals sets the intervals of the model from conformity scores of each target, or of classes. groups is
// the number of groups of dependent rows, 0 for independent rows.
func (d *deciding) keepIntervals(all []score.Conformal, groups int64, scaled bool) {
	d.fit.intervals = nil
	if len(all) == 0 || all[0].Rows() == 0 {
		return
	}
	d.fit.intervals = &models.Intervals{Rows: all[0].Rows(), Folds: d.folds, Scaled: scaled}
	if groups > 0 {
		d.fit.intervals.Groups = min(groups, d.fit.intervals.Rows)
	}
	for i := range all {
		d.fit.intervals.Scores = append(d.fit.intervals.Scores, all[i].Kept())
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
	return &results.TrainInterval{Level: models.DefaultLevel, Rows: v.Rows, Groups: v.Groups, Half: half}
}
