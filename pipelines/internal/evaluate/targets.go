package evaluate

import (
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/paired"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

// addTargets adds the scores of a regression. weighted is true if rows were counted by their weights; effective
// is then their effective number.
func addTargets(r *results.Evaluate, scored *scoring.TargetScores, m *models.Manifest, weighted bool,
	effective float64) {
	names := (&models.Model{Manifest: m}).Outputs()
	for c := range scored.Targets {
		one, grid := scored.Targets[c].Report(), m.TargetGrid[c]
		rows := float64(one.Rows)
		if weighted {
			rows = effective
		}
		if scored.Groups != nil {
			variance := scored.Moments[c].SquareVariance(&one, grid.Half())
			rows = min(rows, scored.Groups[c].EffectiveRows(paired.MSE, variance))
			if c == 0 {
				r.Independent = rows
			}
		}
		scored.Moments[c].SetIntervals(&one, grid.Mid(), grid.Half(), rows)
		one.OutOfRange = scored.OutOfRange[c].Unscaled(grid.Low, grid.High)
		if len(scored.Targets) == 1 {
			r.Targets = &one
			return
		}
		r.ByTarget = append(r.ByTarget, results.TargetReport{Target: names[c], TargetReport: one})
	}
	mean := 0.0
	for i := range r.ByTarget {
		if r.ByTarget[i].R2 == nil {
			return
		}
		mean += *r.ByTarget[i].R2 / float64(len(r.ByTarget))
	}
	r.MeanR2 = &mean
}

// forTarget returns the result for one of several targets.
func forTarget(r *results.Evaluate, target int) *results.Evaluate {
	one := *r
	one.Targets, one.ByTarget, one.MeanR2 = &r.ByTarget[target].TargetReport, nil, nil
	return &one
}
