package evaluate

import (
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/internal/picture"
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
