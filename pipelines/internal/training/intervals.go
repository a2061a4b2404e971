package training

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/internal/about"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/transforms/scores"
)

// conformalScores returns which conformity scores the pass over the trials collects: of targets, by the fit
// with the learner's λ. Scores of classes need probabilities and come later.
func (t *Training) conformalScores() *scores.Conformal {
	if t.Target.Grid == nil || t.opts.Intervals == spec.NoIntervals {
		return nil
	}
	c := &scores.Conformal{}
	_, c.Fit = t.trials()
	if s := t.summed.fit.FirstSketch; s != nil {
		c.Leverage, c.Within = s.Leverage, s.Within
	}
	return c
}

// trials returns the number of fits in the file of trials, and the position of the fit with the learner's λ.
func (t *Training) trials() (fits, chosen int) {
	for _, row := range t.Learner.Table {
		if row.Failed != "" {
			continue
		}
		if row.Lambda == t.Learner.Lambda {
			chosen = fits
		}
		fits++
	}
	return fits, chosen
}

// addIntervals gives the model intervals or sets of classes, by the conformity scores of the first of folds. It
// uses rows that the trials have kept, or makes a pass over the data. held has weights that were fitted without
// this fold; without them, it uses those of the trials.
func (t *Training) addIntervals(ctx context.Context, held scorer, folds int) error {
	classes := t.Target.Classes != nil
	fits, chosen := 1, 0
	if held.sum == "" && classes {
		held = scorer{t.summed.state.Trials, t.summed.fit.TrialsSHA256}
		fits, chosen = t.trials()
	}
	if held.sum == "" || t.opts.Intervals == spec.NoIntervals || classes && t.probabilities == nil {
		return nil
	}
	if kept := t.summed.kept; kept != nil && !t.opts.Calibrates() { // no pass is needed
		_, chosen = t.trials() // kept rows have the scores of all fits, not only of held
		c := kept.Conformal(chosen, t.keptMethod(kept.Counts(chosen)))
		t.keepIntervals([]score.Conformal{*c}, t.summed.groups, folds, false)
		return nil
	}
	t.Progress.Phase("measuring intervals", t.Counts.Used)
	defer t.Progress.Done()
	pass := &scores.Trials{Pass: t.Pass(folds), HeldOut: scores.HeldOut{
		Folds: folds, Recipe: t.Recipe.Sealed, Outputs: t.Outputs(), Fits: fits, Weights: held.file, SHA256: held.sum,
		Grid: t.scoring(),
	}, Grouped: t.Dependent(), Conformal: &scores.Conformal{Fit: chosen, Probabilities: t.probabilities}}
	var sum scores.TrialScores
	if _, err := t.ScanSum(ctx, pass, "conformal", &sum); err != nil {
		return err
	}
	t.keepIntervals(sum.Conformal, sum.Clusters(), folds, false)
	return nil
}

// keepIntervals sets the intervals of the model from conformity scores of each target, or of classes. groups is
// the number of groups of dependent rows, 0 for independent rows.
func (t *Training) keepIntervals(all []score.Conformal, groups int64, folds int, scaled bool) {
	t.intervals = nil
	if len(all) == 0 || all[0].Rows() == 0 {
		return
	}
	t.intervals = &models.Intervals{Rows: all[0].Rows(), Folds: folds, Scaled: scaled}
	if groups > 0 {
		t.intervals.Groups = min(groups, t.intervals.Rows)
	}
	for i := range all {
		t.intervals.Scores = append(t.intervals.Scores, all[i].Kept())
	}
}

// ResultInterval has the width of the intervals of a model.
type ResultInterval struct {
	Level float64 `json:"level"`
	// Rows and Groups are the numbers of held-out rows and groups by which it was measured.
	Rows   int64 `json:"rows"`
	Groups int64 `json:"groups,omitempty"`
	// Half is half the width for a row with the mean leverage of the training rows.
	Half float64 `json:"half"`
}

// resultInterval returns nil unless the model predicts one target with intervals.
func (t *Training) resultInterval() *ResultInterval {
	v := t.intervals
	if v == nil {
		return nil
	}
	half, one := about.HalfWidth(v, t.sketch, t.Target.Grid)
	if !one {
		return nil
	}
	return &ResultInterval{models.UsualLevel, v.Rows, v.Groups, half}
}

// String describes the interval for people.
func (r *ResultInterval) String() string {
	by := report.Counted64(r.Rows, "held-out row")
	if r.Groups > 0 {
		by += fmt.Sprintf(" in %s", report.Counted64(r.Groups, "group"))
	}
	return fmt.Sprintf("%.4g%% of new rows within ±%s of the prediction, by %s (predict --interval %g)", 100*r.Level,
		picture.Number(r.Half, 4), by, r.Level)
}
