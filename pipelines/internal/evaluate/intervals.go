package evaluate

import (
	"fmt"
	"io"
	"math"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// IntervalReport says how often intervals or sets of classes contain the true value.
type IntervalReport struct {
	Target string `json:"target,omitempty"` // name of one of several targets
	score.CoverageReport
	// HeldOut is the number of rows or groups by which intervals were measured. Deviation is the standard
	// deviation of the coverage over models that are trained on other samples of rows.
	HeldOut   int64   `json:"held_out"`
	Grouped   bool    `json:"grouped,omitempty"`
	Deviation float64 `json:"coverage_deviation"`
}

// addIntervals adds the coverage of intervals or sets. effective is the number of independent rows with the
// same precision.
func (r *EvaluateResult) addIntervals(found []score.Coverage, m *models.Manifest, effective float64) {
	if r.Groups != nil {
		effective = min(effective, r.Independent)
	}
	for c := range found {
		one := IntervalReport{CoverageReport: found[c].Report(models.UsualLevel, effective), HeldOut: m.Intervals.Units(),
			Grouped: m.Intervals.Groups > 0}
		one.Deviation = math.Sqrt(one.Level * (1 - one.Level) / float64(one.HeldOut+2))
		if len(found) > 1 {
			one.Target = m.Input.Labels[c]
		}
		r.Intervals = append(r.Intervals, one)
	}
}

// write prints the report.
func (i *IntervalReport) write(w io.Writer, classes bool) {
	what, truth, width := "intervals", "targets", fmt.Sprintf("mean width %.4g", i.Width)
	if classes {
		what, truth, width = "sets", "classes", fmt.Sprintf("mean size %.3g", i.Width)
	}
	if i.Target != "" {
		what += " of " + i.Target
	}
	by := report.Counted64(i.HeldOut, "held-out row")
	if i.Grouped {
		by = report.Counted64(i.HeldOut, "held-out group")
	}
	fmt.Fprintf(w, "%g%% %s contain %.2f%% of the %s  (95%% interval %.2f%% to %.2f%%), %s\n  (made by %s, which leaves "+
		"±%.1f%% to chance)\n", 100*i.Level, what, 100*i.Coverage, truth, 100*i.Interval[0], 100*i.Interval[1], width, by,
		196*i.Deviation)
}
