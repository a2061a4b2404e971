package evaluate

import (
	"fmt"
	"io"
	"math"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// ProbabilityReport says how good the probabilities of a model are.
type ProbabilityReport struct {
	score.Tests
	// NotFinite counts the rows that are excluded because their scores are not finite.
	NotFinite int64 `json:"not_finite,omitempty"`
}

// write prints the report for people.
func (r *ProbabilityReport) write(w io.Writer) {
	interval := ""
	if ends := r.LogLossInterval; ends != nil {
		interval = fmt.Sprintf(" (95%% interval %.4f to %.4f)", ends[0], ends[1])
	}
	fmt.Fprintf(w, "\nprobabilities: log loss %.4f%s, Brier score %.4f, expected calibration error %.4f\n", r.LogLoss,
		interval, r.Brier, r.ECE)
	if r.Floored > 0 {
		fmt.Fprintf(w, "the classes of %s have a probability below %g, which counts as %[2]g in the log loss\n",
			report.Counted64(r.Floored, "row"), r.Floor)
	}
	if r.NotFinite > 0 {
		fmt.Fprintf(w, "%s rows without finite scores are excluded\n", report.Groups(r.NotFinite))
	}
	fmt.Fprintln(w, "rows by the probability of the most probable class: its mean, and the share of rows of this class:")
	r.Table().Write(w)
}

// Table returns a table of rows by the probability of the predicted class.
func (r *ProbabilityReport) Table() report.Table {
	t := report.Table{Head: []string{"probability", "rows", "mean", "right", "95% interval"}}
	for _, b := range r.Bins {
		if b.Rows > 0 {
			t.Add(fmt.Sprintf("%g to %g", b.Low, b.High), report.Groups(b.Rows), fmt.Sprintf("%.4f", b.Confidence),
				fmt.Sprintf("%.4f", b.Accuracy), fmt.Sprintf("%.4f to %.4f", b.AccuracyLow, b.AccuracyHigh))
		}
	}
	return t
}

// Diagram plots the share of correct predictions by probability.
func (r *ProbabilityReport) Diagram() picture.Histogram {
	h := picture.Histogram{
		Title: fmt.Sprintf("Reliability: calibration error %.4f, %s rows", r.ECE, report.Groups(r.Rows)),
		X:     "probability of the most probable class (in the bars: rows)", Y: "share of rows of this class",
		Diagonal: true,
	}
	for _, b := range r.Bins {
		if b.Rows == 0 && len(h.Heights) == 0 {
			continue // the largest of k probabilities is at least 1/k
		}
		if len(h.Edges) == 0 {
			h.Edges = []float64{b.Low}
		}
		label := ""
		if b.Rows > 0 {
			label = short(b.Rows)
		}
		h.Edges, h.Heights, h.Labels = append(h.Edges, b.High), append(h.Heights, b.Accuracy), append(h.Labels, label)
		h.Low, h.High = append(h.Low, b.AccuracyLow), append(h.High, b.AccuracyHigh)
		if b.Rows == 0 {
			h.Low[len(h.Low)-1], h.High[len(h.High)-1] = 0, 0
		}
	}
	return h
}

// short formats a count with few characters, such as 940, 12k or 3.4M.
func short(n int64) string {
	switch {
	case n >= 1e7:
		return fmt.Sprintf("%.0fM", float64(n)/1e6)
	case n >= 1e6:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	}
	return report.Groups(n)
}

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
