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

// conformal says which conformity scores the pass over the trials collects: of targets, by the fit of the
// learner's λ. Those of classes need probabilities.
func (t *Training) conformal() *scores.Conformal {
	if t.Target.Grid == nil || t.opts.Intervals == spec.NoIntervals {
		return nil
	}
	c := &scores.Conformal{}
	_, c.Fit = t.trials()
	if s := t.summed.fit.FirstSpread; s != nil {
		c.Leverage, c.Within = s.Leverage, s.Within
	}
	return c
}

// trials returns the number of fits in the file of trials, and which of them is of the learner's λ.
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

// conform gives the model intervals or sets, by the scores of the first of that many folds: by the rows that the
// trials have kept, or in a pass over the data. The weights held were fitted without this fold; if there are none,
// the weights of the trials are used.
func (t *Training) conform(ctx context.Context, held scorer, folds int) error {
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
		_, chosen = t.trials() // the kept rows have all fits, whatever held has
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

// keepIntervals gives the model the intervals of conformity scores of each target, or of classes, if there are
// any. Rows that depend on each other are in that many groups; 0 without.
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

// ResultInterval says how wide intervals are.
type ResultInterval struct {
	Level float64 `json:"level"`
	// Rows or Groups were held out to measure it.
	Rows   int64 `json:"rows"`
	Groups int64 `json:"groups,omitempty"`
	// Half is half the width for a row that is as far from the training rows as these are in the mean.
	Half float64 `json:"half"`
}

// resultInterval is nil unless the model predicts one target with intervals.
func (t *Training) resultInterval() *ResultInterval {
	v := t.intervals
	if v == nil {
		return nil
	}
	half, one := about.HalfWidth(v, t.spread, t.Target.Grid)
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
