package results

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/stretch"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/results/table"
)

// Train describes a trained model.
type Train struct {
	Model string `json:"model"` // directory
	TrainRows
	TrainFeatures
	TrainFit
	TrainDecision
	Notes   []string           `json:"notes,omitempty"`
	Seconds map[string]float64 `json:"seconds"` // wall time by part of the job
	// Work is the time of the job's workers in this process by stage; see transforms.Worker.Seconds.
	Work map[string]float64 `json:"work_seconds"`

	Timings bool `json:"-"` // makes WriteTo print Work
}

// WriteTo prints the result for people.
func (r *Train) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "model     %s\n", r.Model)
	r.writeRows(&b)
	r.writeFeatures(&b)
	r.writeFit(&b)
	var facts table.Facts
	facts.Addf("output", "%s", report.ProbabilitiesText(r.Probabilities))
	facts.Addf("output", "%s", report.ThresholdText(r.Threshold, r.Positive))
	if r.Interval != nil {
		facts.Addf("interval", "%s", r.Interval)
	}
	for _, note := range r.Notes {
		facts.Addf("note", "%s", note)
	}
	facts.Write(&b, 10)
	r.writeSeconds(&b)
	return b.WriteTo(w)
}

func (r *Train) writeRows(b *bytes.Buffer) {
	fmt.Fprintf(b, "rows      %s\n", r.Rows.withList())
	if r.Weights != nil {
		fmt.Fprintf(b, "weights   %s\n", report.WeightsText(r.Weights))
	}
	if r.Sums > 0 {
		fmt.Fprintf(b, "sums      of %s of the data\n", report.Counted(r.Sums, "part"))
	}
	switch r.Task {
	case models.Embedding:
		fmt.Fprintf(b, "task      embedding of %s\n", r.rowContent())
	case models.Classification:
		fmt.Fprintf(b, "task      classification of %s into %d classes%s\n", r.rowContent(), len(r.Classes),
			report.PositiveText(r.Positive))
	default:
		fmt.Fprintf(b, "task      regression on %s\n", r.rowContent())
	}
	r.writeTargets(b)
	if fields := r.Rows.Fields(); fields != "" {
		fmt.Fprintf(b, "fields    %s\n", fields)
	}
}

func (r *Train) writeFeatures(b *bytes.Buffer) {
	fmt.Fprintf(b, "features  %d of the %s, seed %d\n", r.Dim, r.Kernel, r.Seed)
	if r.Steps > 0 {
		fmt.Fprintf(b, "grid      %s\n", report.GridText(r.Steps))
	}
	if r.HeldOut != "" {
		fmt.Fprintf(b, "held out  %s\n", r.HeldOut)
	}
	if r.Learned != nil {
		r.Learned.write(b)
	}
	if r.Search != nil {
		report.WriteSearch(b, r.Search)
	}
	if r.Size != nil {
		r.Size.write(b, r.Task == models.Regression && len(r.Targets) == 0)
	}
	report.WriteStretch(b, r.Stretch)
}

func (r *Train) writeFit(b *bytes.Buffer) {
	switch {
	case r.Components != nil:
		report.ComponentTable(r.Components).Write(b)
	case r.Log != nil:
		writeLog(b, r)
	case len(r.Path) == 0:
		fmt.Fprintf(b, "lambda    %g\n", r.Lambda)
	default:
		fmt.Fprintf(b, "lambda    %g, by %s:\n", r.Lambda, r.chosenBy())
		report.WritePath(b, r.Task, len(r.Targets), r.Path, r.Lambda)
		if r.JudgedByHalves {
			fmt.Fprintf(b, "          classes have the largest %s, each half of these rows by curves fitted to the other half\n",
				report.Criterion(r.Probabilities))
		}
		if len(r.RuledOut) > 0 {
			by := "a part of the features"
			if r.Rows.Used <= int64(r.Dim) { // then ridge uses the dual form
				by = "errors that rise towards them"
			}
			fmt.Fprintf(b, "          %s ruled out %s\n", by, report.Numbers(r.RuledOut))
		}
	}
}

func (r *Train) writeSeconds(b *bytes.Buffer) {
	if r.Sums > 0 {
		fmt.Fprintf(b, "seconds   %.1f to add sums, %.1f to solve\n", r.Seconds["add"], r.Seconds["solve"])
		return
	}
	fmt.Fprintf(b, "seconds   %.1f to profile the data, ", r.Seconds["profile"])
	if r.Learned != nil {
		fmt.Fprintf(b, "%.1f to learn the features, ", r.Seconds["align"])
	}
	if r.Search != nil {
		fmt.Fprintf(b, "%.1f to search, ", r.Seconds["search"])
	}
	fmt.Fprintf(b, "%.1f to train\n", r.Seconds["train"])
	if r.Timings {
		fmt.Fprintf(b, "of which  ")
		for i, name := range []string{"read", "map", "fold", "learn", "merge", "store", "solve"} {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(b, "%s %.2f", name, r.Work[name])
		}
		b.WriteString(" (reading runs in parallel with the rest; the times of parallel readers are added)\n")
	}
}

// chosenBy describes which held-out figure chose λ.
func (r *Train) chosenBy() string {
	measure := "error"
	switch {
	case r.Task == models.Classification:
		measure = "MSE"
	case len(r.Targets) > 0:
		measure = "share of the variance of targets, averaged over them,"
	}
	judged := r.Folds // with folds by time, the earliest one only trains
	for _, row := range r.Path {
		if row.Lambda == r.Lambda && row.Folds > 1 {
			judged = row.Folds
		}
	}
	by := fmt.Sprintf("the held-out %s of %d folds", measure, judged)
	// the other folds have been used to find features
	oneFold := !slices.ContainsFunc(r.Path, func(row ridge.CVResult) bool { return row.Folds > 1 })
	switch {
	case r.Select == models.ByAllFolds:
		return fmt.Sprintf("the %s of all %d folds; shown are figures of the first, which the search has not seen",
			measure, r.Folds)
	case r.Select != "":
		by = fmt.Sprintf("the %s of held-out rows, %s", strings.ReplaceAll(r.Select, "_", " "), report.OneIn(r.Folds))
	case r.Folds > 1 && oneFold:
		by = fmt.Sprintf("the %s of held-out rows, %s", measure, report.OneIn(r.Folds))
	}
	return by + report.LeastOf(len(r.Path)+len(r.RuledOut))
}

// writeTargets prints the held-out scores of several targets.
func (r *Train) writeTargets(w io.Writer) {
	if len(r.Targets) == 0 {
		return
	}
	fmt.Fprintf(w, "targets   %s; errors by lambda are in standard deviations of each, averaged\n",
		report.SomeOf(r.Targets))
	for _, s := range r.TargetScores {
		fmt.Fprintf(w, "          R² %.4f on held-out rows for %s\n", s.R2, s.Target)
	}
}

// rowContent describes the number and types of the columns.
func (r *Train) rowContent() string {
	if r.Types != "" {
		return r.Types
	}
	return report.Counted(r.Columns, "number")
}

// TrainRows describes the rows of a model.
type TrainRows struct {
	Task    models.Task `json:"task"`
	Rows    RowCounts   `json:"rows"`
	Columns int         `json:"columns"`                // numbers per row
	Types   string      `json:"column_types,omitempty"` // types of the columns of a table, in words
	Classes []string    `json:"classes,omitempty"`
	Counts  []int64     `json:"class_counts,omitempty"`
	// Targets holds the names of several targets, and TargetScores their scores on held-out rows.
	Targets      []string           `json:"targets,omitempty"`
	TargetScores []TargetScore      `json:"target_scores,omitempty"`
	Weights      *models.RowWeights `json:"weights,omitempty"` // nil if rows have none
}

// TargetScore is the score of one of several targets on held-out rows.
type TargetScore struct {
	Target string  `json:"target"`
	R2     float64 `json:"r2"`
}

// TrainFeatures describes the features of a model.
type TrainFeatures struct {
	Kernel  string          `json:"kernel"` // in words
	Width   float64         `json:"width"`
	Recipe  features.Sealed `json:"recipe"`
	Learned *Learned        `json:"learned,omitempty"` // features learned from the data
	Search  *models.Search  `json:"search,omitempty"`  // how features were searched
	Size    *Size           `json:"size,omitempty"`    // how the number of features was chosen; nil if it was given
	// Stretch describes how a learned metric stretches distances; nil without a metric.
	Stretch *stretch.Distances `json:"stretch,omitempty"`
	Dim     int                `json:"-"` // number of features
	Seed    uint64             `json:"-"`
}

// TrainFit describes how the weights of a model were fitted.
type TrainFit struct {
	// Split names the columns that assign rows to folds, and HeldOut describes it in words. They are nil and "" if
	// the content of rows does.
	Split   *profile.FoldRule `json:"split,omitempty"`
	HeldOut string            `json:"held_out,omitempty"`
	Learner string            `json:"learner"`
	Lambda  float64           `json:"lambda"`
	Path    []ridge.CVResult  `json:"path,omitempty"` // for ridge: held-out errors by λ
	// JudgedByHalves is true if Path has errors of the classes that probabilities decide: each half of the held-out
	// rows by curves that were fitted to the other half.
	JudgedByHalves bool `json:"judged_by_halves,omitempty"`
	// RuledOut has values of λ that were not tried, because results for others ruled them out.
	RuledOut []float64           `json:"ruled_out,omitempty"`
	Select   string              `json:"select,omitempty"` // what chose λ; "" for the squared errors of all folds
	Log      *models.TrainingLog `json:"log,omitempty"`    // for an iterative learner
	// Steps is the number of steps of the features' grid, from 0 to the bound: 127 for 8 bits.
	Steps int `json:"steps,omitempty"`
	// Components are the components of an embedding that was fitted to sums.
	Components []models.Component `json:"components,omitempty"`
	// Sums is the number of parts of the data whose sums the model was fitted to; 0 if it was trained on rows.
	Sums  int `json:"sums,omitempty"`
	Folds int `json:"-"`
}

// TrainDecision describes how scores become probabilities and classes.
type TrainDecision struct {
	// Probabilities describe how scores become probabilities; nil if they do not.
	Probabilities *models.Probabilities `json:"probabilities,omitempty"`
	// Positive is the class of two to which Threshold, precision, recall and F1 refer.
	Positive string `json:"positive,omitempty"`
	// Threshold decides between two classes; nil for none.
	Threshold *models.Threshold `json:"threshold,omitempty"`
	// Interval is set for a regression of one target that has intervals.
	Interval *TrainInterval `json:"interval,omitempty"`
}

// TrainInterval holds the width of the intervals of a model.
type TrainInterval struct {
	Level float64 `json:"level"`
	// Rows and Groups are the numbers of held-out rows and groups by which it was measured.
	Rows   int64 `json:"rows"`
	Groups int64 `json:"groups,omitempty"`
	// Half is half the width for a row with the mean leverage of the training rows.
	Half float64 `json:"half"`
}

// String describes the interval for people.
func (r *TrainInterval) String() string {
	by := report.Counted64(r.Rows, "held-out row")
	if r.Groups > 0 {
		by += fmt.Sprintf(" in %s", report.Counted64(r.Groups, "group"))
	}
	return fmt.Sprintf("%.4g%% of new rows within ±%s of the prediction, by %s (predict --interval %g)", 100*r.Level,
		picture.Number(r.Half, 4), by, r.Level)
}
