package evaluate

import (
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/paired"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/transforms/scores"
)

// TargetReport has the scores of one of several targets.
type TargetReport struct {
	Target string `json:"target"`
	score.TargetReport
}

// addTargets adds the scores of a regression. weighted is true if rows were counted by their weights; effective
// is then their effective number.
func (r *EvaluateResult) addTargets(found *scores.TargetScores, m *models.Manifest, weighted bool, effective float64) {
	names := (&models.Model{Manifest: m}).Outputs()
	for c := range found.Targets {
		one, grid := found.Targets[c].Report(), m.TargetGrid[c]
		rows := float64(one.Rows)
		if weighted {
			rows = effective
		}
		if found.Groups != nil {
			rows = min(rows, found.Groups[c].Independent(paired.MSE, found.Precision[c].SquareVariance(&one, grid.Half())))
			if c == 0 {
				r.Independent = rows
			}
		}
		found.Precision[c].Bound(&one, grid.Mid(), grid.Half(), rows)
		one.Far = found.Far[c].On(grid.Low, grid.High)
		if len(found.Targets) == 1 {
			r.Targets = &one
			return
		}
		r.ByTarget = append(r.ByTarget, TargetReport{names[c], one})
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
func (r *EvaluateResult) forTarget(target int) *EvaluateResult {
	one := *r
	one.Targets, one.ByTarget, one.MeanR2 = &r.ByTarget[target].TargetReport, nil, nil
	return &one
}

// TargetTable returns a table of the scores of several targets.
func (r *EvaluateResult) TargetTable() report.Table {
	t := report.Table{Head: []string{"target", "rows", "RMSE", "95% interval", "MAE", "90% within", "R²",
		"95% interval", "mean", "deviation"}}
	for i := range r.ByTarget {
		one := &r.ByTarget[i]
		t.Add(report.Word(one.Target, 40), report.Groups(one.Rows), picture.Number(one.RMSE, 5), intervalText(one.RMSEInterval),
			picture.Number(one.MAE, 5), picture.Number(one.P90, 5), R2Text(one.R2), intervalText(one.R2Interval),
			picture.Number(one.TargetMean, 5), picture.Number(one.TargetDev, 5))
	}
	return t
}

// writeTargets prints the scores of several targets.
func (r *EvaluateResult) writeTargets(w io.Writer) {
	r.TargetTable().Write(w)
	for i := range r.ByTarget {
		if t := &r.ByTarget[i]; t.Far != nil {
			fmt.Fprintf(w, "%s: %s\n", t.Target, t.Far.Text(t.Rows))
		}
	}
	for i := range r.ByTarget {
		if t := &r.ByTarget[i]; t.NotFinite > 0 {
			fmt.Fprintf(w, "%s rows have no finite prediction of %s, and are left out\n", report.Groups(t.NotFinite), t.Target)
		}
	}
	fmt.Fprintf(w, "mean R² %s\n", R2Text(r.MeanR2))
}

// intervalText formats an interval, "-" if there is none.
func intervalText(of *[2]float64) string {
	if of == nil {
		return "-"
	}
	return picture.Range(of[0], of[1], 4)
}

// R2Text formats an R². It is nil if it is not defined for the rows.
func R2Text(r2 *float64) string {
	if r2 == nil {
		return "-"
	}
	return fmt.Sprintf("%.4f", *r2)
}
