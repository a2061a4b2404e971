package results

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/results/table"
)

// Evaluate holds the scores of a model.
type Evaluate struct {
	Model string `json:"model"`
	ScoredRows
	Scores
	// Groups are the columns that name the groups of rows. Independent is the number of independent rows that
	// would give the same standard error of the error rate, or of the squared error of the first target.
	Groups      []string `json:"groups,omitempty"`
	Independent float64  `json:"independent_rows,omitempty"`
	Unseen
	// Slices holds the scores for the values of columns.
	Slices []score.SliceReport `json:"slices,omitempty"`
	// Probabilities is set for a classifier with probabilities.
	Probabilities *ProbabilityReport `json:"probabilities,omitempty"`
	// Intervals holds the coverage of the intervals of each target, or of the sets of classes.
	Intervals []IntervalReport `json:"intervals,omitempty"`
	Threshold *Threshold       `json:"threshold,omitempty"` // set if predictions are decided by one
	Gate      string           `json:"gate,omitempty"`      // conditions, all of which were met

	// Curves holds the ROC and precision-recall curves of classes, and WorstRows the rows with the largest losses.
	// They are set for a report only.
	Curves    []score.Curve    `json:"-"`
	WorstRows []score.WorstRow `json:"-"`
}

// TargetTable returns a table of the scores of several targets.
func (r *Evaluate) TargetTable() table.Table {
	t := table.Table{Head: []string{"target", "rows", "RMSE", "95% interval", "MAE", "90% within", "R²",
		"95% interval", "mean", "deviation"}}
	for i := range r.ByTarget {
		one := &r.ByTarget[i]
		t.Add(report.Word(one.Target, 40), report.Groups(one.Rows), picture.Number(one.RMSE, 5), report.IntervalText(one.RMSEInterval),
			picture.Number(one.MAE, 5), picture.Number(one.P90, 5), report.R2Text(one.R2), report.IntervalText(one.R2Interval),
			picture.Number(one.TargetMean, 5), picture.Number(one.TargetDev, 5))
	}
	return t
}

// writeTargets prints the scores of several targets.
func (r *Evaluate) writeTargets(w io.Writer) {
	r.TargetTable().Write(w)
	for i := range r.ByTarget {
		if t := &r.ByTarget[i]; t.OutOfRange != nil {
			fmt.Fprintf(w, "%s: %s\n", t.Target, t.OutOfRange.Text(t.Rows))
		}
	}
	for i := range r.ByTarget {
		if t := &r.ByTarget[i]; t.NotFinite > 0 {
			fmt.Fprintln(w, report.NotFiniteText(t.Target, t.NotFinite))
		}
	}
	fmt.Fprintf(w, "mean R² %s\n", report.R2Text(r.MeanR2))
}

// WriteTo prints the result for people.
func (r *Evaluate) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "model %s\n", r.Model)
	if r.Rows.SetAside > 0 || r.Rows.Without() != "" { // the report below shows only the used rows
		fmt.Fprintf(&b, "rows %s\n", r.Rows)
	}
	report.WriteSetAside(&b, r.SetAside)
	if fields := r.Rows.Fields(); fields != "" {
		fmt.Fprintf(&b, "fields %s\n", fields)
	}
	if r.TrainingRows > 0 {
		fmt.Fprintf(&b,
			"note: %s of %s rows are of files that the model was trained on, so these scores do not tell how good the model "+
				"is on new rows\n",
			report.Groups(r.TrainingRows), report.Groups(r.Rows.Used))
	}
	if r.Weights != nil {
		fmt.Fprintln(&b, report.RowWeightsText(r.Weights))
	}
	if r.Groups != nil {
		fmt.Fprintln(&b, report.GroupsText(r.Groups, r.Independent))
	}
	if r.Threshold != nil {
		fmt.Fprintf(&b, "%s\n", r.Threshold)
	}
	switch {
	case r.Classes != nil:
		b.WriteString(r.Classes.String())
		if len(r.UnseenLabels) > 0 {
			fmt.Fprintf(&b, "\nlabels that are not classes of the model: %s%s\n", UnseenText(r.UnseenLabels),
				report.Prefixed("; ", r.UnseenHint))
		}
	case r.Targets != nil:
		b.WriteString(r.Targets.String())
	default:
		r.writeTargets(&b)
	}
	if r.Probabilities != nil {
		r.Probabilities.write(&b)
	}
	for i := range r.Intervals {
		r.Intervals[i].write(&b, r.Classes != nil)
	}
	for i := range r.Slices {
		report.WriteSlices(&b, &r.Slices[i])
	}
	return b.WriteTo(w)
}

// ScoredRows describes the rows that were scored.
type ScoredRows struct {
	Rows     RowCounts          `json:"rows"`
	SetAside []dataset.SetAside `json:"set_aside,omitempty"` // the first unusable rows
	// TrainingRows counts the used rows that are known to be training rows.
	TrainingRows int64 `json:"training_rows,omitempty"`
	// Weights is set if rows have weights. Rates and means are then weighted, counts are of rows, and intervals
	// are for models.RowWeights.Effective rows.
	Weights *models.RowWeights `json:"weights,omitempty"`
}

// Scores holds the scores of the rows.
type Scores struct {
	Classes *score.ClassReport  `json:"classes,omitempty"` // for a classifier
	Targets *score.TargetReport `json:"targets,omitempty"` // for a regression with one target
	// ByTarget holds the scores of several targets, in the order of the model's outputs. MeanR2 is the mean of their
	// R², nil if one of them is not defined.
	ByTarget []TargetReport `json:"by_target,omitempty"`
	MeanR2   *float64       `json:"mean_r2,omitempty"`
}

// TargetReport holds the scores of one of several targets.
type TargetReport struct {
	Target string `json:"target"`
	score.TargetReport
}

// Unseen describes labels that are not classes of the model.
type Unseen struct {
	// UnseenLabels holds the labels that are not classes of the model, the most frequent first.
	UnseenLabels []UnseenLabel `json:"unseen_labels,omitempty"`
	// UnseenHint describes how they differ from classes of the model, and which flag helps, if they all differ in
	// the same way.
	UnseenHint string `json:"unseen_hint,omitempty"`
}

// UnseenLabel is a label that is not a class of the model.
type UnseenLabel struct {
	Label string `json:"label"`
	Rows  int64  `json:"rows"`
}

// UnseenText lists a few labels with their numbers of rows.
func UnseenText(list []UnseenLabel) string {
	const most = 10
	var b strings.Builder
	for i, l := range list[:min(len(list), most)] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q (%s)", l.Label, report.Counted64(l.Rows, "row"))
	}
	if len(list) > most {
		b.WriteString(", …")
	}
	return b.String()
}

// ProbabilityReport measures how good the probabilities of a model are.
type ProbabilityReport struct {
	score.ReliabilityReport
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
	for _, note := range report.ProbabilityNotes(r.Floored, r.Floor, r.NotFinite) {
		fmt.Fprintln(w, note)
	}
	fmt.Fprintln(w, "rows by the probability of the most probable class: its mean, and the share of rows of this class:")
	r.Table().Write(w)
}

// Table returns a table of rows by the probability of the predicted class.
func (r *ProbabilityReport) Table() table.Table {
	t := table.Table{Head: []string{"probability", "rows", "mean", "right", "95% interval"}}
	for _, b := range r.Bins {
		if b.Rows > 0 {
			t.Add(fmt.Sprintf("%g to %g", b.Low, b.High), report.Groups(b.Rows), fmt.Sprintf("%.4f", b.Confidence),
				fmt.Sprintf("%.4f", b.Accuracy), fmt.Sprintf("%.4f to %.4f", b.AccuracyLow, b.AccuracyHigh))
		}
	}
	return t
}

// IntervalReport measures how often intervals or sets of classes contain the true value.
type IntervalReport struct {
	Target string `json:"target,omitempty"` // name of one of several targets
	score.CoverageReport
	// NotFinite counts the rows that are left out because their interval is not finite, although their prediction is.
	NotFinite int64 `json:"not_finite,omitempty"`
	// HeldOut is the number of rows, or of groups if Grouped, by which intervals were measured. Deviation is the
	// standard deviation of the coverage over models that are trained on other samples of rows.
	HeldOut   int64   `json:"held_out"`
	Grouped   bool    `json:"grouped,omitempty"`
	Deviation float64 `json:"coverage_deviation"`
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
	if i.NotFinite > 0 {
		fmt.Fprintf(w, "  (%s)\n", report.WithoutIntervalText(i.NotFinite))
	}
}

// Report is the result of the job Report: the file with the report, and scores on the data.
type Report struct {
	Model string    `json:"model"`
	File  string    `json:"file"`
	Bytes int       `json:"bytes,omitempty"`
	Test  *Evaluate `json:"test,omitempty"` // scores on the data; nil without data
}

// WriteTo prints the result for people.
func (r *Report) WriteTo(w io.Writer) (int64, error) {
	n, err := fmt.Fprintf(w, "report    %s\n", r.File)
	if r.Test == nil || err != nil {
		return int64(n), err
	}
	more, err := r.Test.WriteTo(w)
	return int64(n) + more, err
}
