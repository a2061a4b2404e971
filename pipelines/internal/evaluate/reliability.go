package evaluate

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// ReliabilityDiagram plots the share of correct predictions by probability.
func ReliabilityDiagram(r *results.ProbabilityReport) picture.Histogram {
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

// addIntervals adds the coverage of intervals or sets. effective is the number of independent rows with the
// same precision.
func addIntervals(r *results.Evaluate, coverages []score.Coverage, m *models.Manifest, effective float64) {
	if r.Groups != nil {
		effective = min(effective, r.Independent)
	}
	for c := range coverages {
		one := results.IntervalReport{CoverageReport: coverages[c].Report(models.DefaultLevel, effective),
			HeldOut: m.Intervals.Units(), Grouped: m.Intervals.Groups > 0}
		one.Deviation = math.Sqrt(one.Level * (1 - one.Level) / float64(one.HeldOut+2))
		if len(coverages) > 1 {
			one.Target = m.Input.Labels[c]
			one.NotFinite = max(0, r.ByTarget[c].Rows-one.Rows)
		} else if r.Targets != nil {
			one.NotFinite = max(0, r.Targets.Rows-one.Rows)
		}
		r.Intervals = append(r.Intervals, one)
	}
}
