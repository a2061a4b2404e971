package evaluate

import (
	"fmt"
	"io"
	"text/tabwriter"

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
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "probability\trows\tmean\tright\t95%% interval\t\n")
	for _, b := range r.Bins {
		if b.Rows > 0 {
			fmt.Fprintf(tw, "%g to %g\t%d\t%.4f\t%.4f\t%.4f to %.4f\t\n", b.Low, b.High, b.Rows, b.Confidence, b.Accuracy,
				b.AccuracyLow, b.AccuracyHigh)
		}
	}
	tw.Flush()
}

// diagram plots accuracy by probability.
func (r *ProbabilityReport) diagram() picture.Lines {
	right, rows := picture.Series{Name: "share right, 95% interval"}, picture.Series{Name: "share of all rows"}
	for _, b := range r.Bins {
		if b.Rows == 0 {
			continue
		}
		right.X, right.Y = append(right.X, b.Confidence), append(right.Y, b.Accuracy)
		right.Low, right.High = append(right.Low, b.AccuracyLow), append(right.High, b.AccuracyHigh)
		rows.X, rows.Y = append(rows.X, b.Confidence), append(rows.Y, float64(b.Rows)/float64(r.Rows))
	}
	return picture.Lines{
		Title: fmt.Sprintf("Reliability: calibration error %.4f, %s rows", r.ECE, report.Groups(r.Rows)),
		X:     "mean probability of the most probable class", Y: "share of rows", LegendLeft: true,
		Series: []picture.Series{{Name: "perfectly calibrated", X: []float64{0, 1}, Y: []float64{0, 1}}, right, rows},
	}
}
