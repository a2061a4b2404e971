package training

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/job"
	"github.com/bochner-ml/bochner/pipelines/prepare"
	"github.com/bochner-ml/bochner/pipelines/report"
	"github.com/bochner-ml/bochner/pipelines/sizing"
	"github.com/bochner-ml/bochner/pipelines/tuning"
)

// Publish creates the model directory.
func (t *Training) Publish(ctx context.Context) error {
	options, err := json.Marshal(t.Data.Schema)
	if err != nil {
		return err
	}
	label := ""
	if t.Data.Labeled && len(t.Data.Targets) == 0 {
		label = t.Data.Label
	}
	m := &models.Model{
		Linear: t.linear, Kept: slices.Concat(t.Recipe.Files, t.files),
		Manifest: &models.Manifest{
			Program: engine.Version(), Task: t.task(), Seed: t.opts.Seed, Recipe: t.Recipe.Sealed,
			Learner: t.Learner, Probabilities: t.probabilities,
			Input: models.Input{
				Format: t.Data.Schema.Format, Dim: t.Profile.Dim, Columns: t.Data.Schema.Columns, Label: label, Options: options,
			},
			Rows:        models.Rows{Read: t.Counts.Read, Used: t.Counts.Used, SetAside: t.Counts.SetAside},
			Profile:     models.Profile{Width: t.Recipe.Width},
			Fingerprint: t.Digest,
		},
	}
	m.Manifest.Weights = t.rowWeights()
	m.Manifest.Outputs = t.linear.K
	if err := t.decide(m.Manifest); err != nil {
		return err
	}
	t.threshold = m.Manifest.Threshold
	if t.Searched != nil {
		m.Manifest.Search = t.Searched.Summary()
	}
	switch task := m.Manifest.Task; task {
	case models.Classification:
		m.Manifest.Vocabulary, m.Manifest.Profile.ClassCounts = t.Target.Classes, t.Profile.Labels.Counts
	case models.Regression:
		m.Manifest.TargetGrid, m.Manifest.Input.Labels = t.Target.Grid, t.Data.Targets
	}
	if t.by != nil { // whose files have its profile
		m.Manifest.Input = t.by.Input
	} else {
		about, err := t.profile().File()
		if err != nil {
			return err
		}
		m.Kept = append(m.Kept, storage.File{Name: sums.ProfileFile, Data: about})
	}
	if t.importance, err = m.Manifest.Importance(); err != nil {
		return err
	}
	files, err := models.Encode(m)
	if err != nil {
		return err
	}
	return t.Job.Publish(ctx, t.opts.Model, append(files, t.Counts.Files()...))
}

func (t *Training) task() models.Task {
	switch {
	case len(t.Learner.Components) > 0:
		return models.Embedding
	case t.Target.Classes != nil:
		return models.Classification
	}
	return models.Regression
}

// Result describes a trained model.
type Result struct {
	Model   string      `json:"model"` // directory
	Task    models.Task `json:"task"`
	Rows    job.Counts  `json:"rows"`
	Columns int         `json:"columns"`                // numbers per row
	Types   string      `json:"column_types,omitempty"` // of a typed table, in words
	Classes []string    `json:"classes,omitempty"`
	Counts  []int64     `json:"class_counts,omitempty"`
	// Targets has the names of several targets, and TargetScores their scores on held-out rows.
	Targets      []string      `json:"targets,omitempty"`
	TargetScores []TargetScore `json:"target_scores,omitempty"`
	// Weights is nil if rows have none.
	Weights *models.RowWeights `json:"weights,omitempty"`
	Kernel  string             `json:"kernel"` // in words
	Width   float64            `json:"width"`
	Recipe  features.Sealed    `json:"recipe"`
	Learned *prepare.Learned   `json:"found,omitempty"`  // features learned from the data
	Search  *models.Search     `json:"search,omitempty"` // how features were searched
	// Size says how the number of features was chosen; nil if it was given.
	Size *sizing.Result `json:"size,omitempty"`
	// Importance is what a learned metric attends to; nil without one.
	Importance *models.Importance `json:"importance,omitempty"`
	Learner    string             `json:"learner"`
	Lambda     float64            `json:"lambda"`
	Path       []ridge.Row        `json:"path,omitempty"` // for ridge: held-out errors by λ
	// RuledOut has the λ that are not in Path because others ruled them out.
	RuledOut []float64           `json:"ruled_out,omitempty"`
	Select   string              `json:"select,omitempty"` // what chose λ, if not the squared errors of all folds
	Log      *models.TrainingLog `json:"course,omitempty"` // for an iterative learner
	Steps    int                 `json:"steps,omitempty"`  // of the grid of the features' sums, from 0 to the bound: 127 are 8 bits
	// Components are those of an embedding that was fitted to sums.
	Components []models.Component `json:"components,omitempty"`
	// Sums is the number of parts of the data whose sums the model was fitted to; 0 if it was
	// trained on rows.
	Sums int `json:"sums,omitempty"`
	// Probabilities says how scores become probabilities, if they do.
	Probabilities *models.Probabilities `json:"probabilities,omitempty"`
	// Threshold decides between two classes; nil without one.
	Threshold *models.Threshold  `json:"threshold,omitempty"`
	Notes     []string           `json:"notes,omitempty"`
	Seconds   map[string]float64 `json:"seconds"` // wall time by part of the job
	// Work is the time of the job's workers in this process by stage; see
	// transforms.Worker.Seconds.
	Work map[string]float64 `json:"work_seconds"`

	// Timings makes WriteTo print Work.
	Timings bool `json:"-"`

	dim, folds int
	seed       uint64
}

func (t *Training) result() *Result {
	r := &Result{
		Model: t.opts.Model, Task: t.task(), Rows: t.Counts, Columns: t.Profile.Dim,
		Weights: t.rowWeights(), Kernel: t.Recipe.Name, Width: t.Recipe.Width, Recipe: t.Recipe.Sealed,
		Learned: t.Learned, Learner: t.Learner.Kind, Lambda: t.Learner.Lambda, Path: t.Learner.Table, RuledOut: t.Learner.RuledOut, Select: t.Learner.Select, Log: t.Learner.Log, Steps: t.Learner.Steps,
		Probabilities: t.probabilities, Threshold: t.threshold, Notes: t.Notes, Seconds: t.Seconds, Work: t.Worker.Seconds(),
		dim: t.Recipe.Dim, folds: t.Learner.Folds, seed: t.opts.Seed,
	}
	if t.Searched != nil {
		r.Search = t.Searched.Summary()
	}
	r.Importance, r.Size = t.importance, t.Sized
	if table := t.Data.Schema.Table; table != nil {
		r.Types = table.String()
	}
	if t.Target != nil && t.Target.Classes != nil {
		r.Classes, r.Counts = t.Target.Classes.Classes, t.Profile.Labels.Counts
	}
	if r.Task == models.Regression {
		r.Targets, r.TargetScores = t.Data.Targets, t.targetScores()
	}
	if r.Components = t.Learner.Components; r.Components != nil {
		return r
	}
	r.Notes = append(r.Notes, t.gridNotes()...)
	if note := edge(t.Learner.Table, t.Learner.Lambda, ridge.FloorFactor*t.floor); note != "" {
		r.Notes = append(r.Notes, note)
	}
	return r
}

// WriteTo prints the result for people.
func (r *Result) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "model     %s\n", r.Model)
	fmt.Fprintf(&b, "rows      %s\n", r.Rows.WithList())
	if r.Weights != nil {
		fmt.Fprintf(&b, "weights   %s\n", WeightsText(r.Weights))
	}
	if r.Sums > 0 {
		fmt.Fprintf(&b, "sums      of %s of the data\n", report.Counted(r.Sums, "part"))
	}
	if r.Task == models.Embedding {
		fmt.Fprintf(&b, "task      embedding of %s\n", r.what())
	} else if r.Task == models.Classification {
		fmt.Fprintf(&b, "task      classification of %s into %d classes\n", r.what(), len(r.Classes))
	} else {
		fmt.Fprintf(&b, "task      regression on %s\n", r.what())
	}
	r.writeTargets(&b)
	if fields := r.Rows.Fields(); fields != "" {
		fmt.Fprintf(&b, "fields    %s\n", fields)
	}
	fmt.Fprintf(&b, "features  %d of the %s, seed %d\n", r.dim, r.Kernel, r.seed)
	if r.Steps > 0 {
		fmt.Fprintf(&b, "grid      %s\n", GridText(r.Steps))
	}
	if r.Learned != nil {
		r.Learned.Write(&b)
	}
	if r.Search != nil {
		tuning.Write(&b, r.Search)
	}
	if r.Size != nil {
		r.Size.Write(&b, r.Task == models.Regression && len(r.Targets) == 0)
	}
	report.WriteImportance(&b, r.Importance)
	switch {
	case r.Components != nil:
		WriteComponents(&b, r.Components)
	case r.Log != nil:
		writeLog(&b, r)
	case len(r.Path) == 0:
		fmt.Fprintf(&b, "lambda    %g\n", r.Lambda)
	default:
		by := fmt.Sprintf("the held-out error of %d folds", r.folds)
		if r.Task == models.Classification {
			by = fmt.Sprintf("the held-out MSE of %d folds", r.folds)
		}
		if len(r.Targets) > 0 {
			by = fmt.Sprintf("the held-out share of the variance of targets in %d folds, averaged over them", r.folds)
		}
		if r.folds > 1 && !slices.ContainsFunc(r.Path, func(row ridge.Row) bool { return row.Folds > 1 }) { // features were found from the others
			by = "the error on held-out rows, " + report.OneIn(r.folds)
		}
		if r.Select != "" {
			by = fmt.Sprintf("the %s of held-out rows, %s", strings.ReplaceAll(r.Select, "_", " "), report.OneIn(r.folds))
		}
		fmt.Fprintf(&b, "lambda    %g, by %s%s:\n", r.Lambda, by, leastOf(len(r.Path)+len(r.RuledOut)))
		WritePath(&b, r.Task, r.Path, r.Lambda)
		if len(r.RuledOut) > 0 {
			by := "a part of the features"
			if r.Rows.Used <= int64(r.dim) { // as ridge has it
				by = "errors that rise towards them"
			}
			fmt.Fprintf(&b, "          %s ruled out %s\n", by, numbers(r.RuledOut))
		}
	}
	WriteProbabilities(&b, r.Probabilities)
	WriteThreshold(&b, r.Threshold, r.Classes)
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note      %s\n", note)
	}
	if r.Sums > 0 {
		fmt.Fprintf(&b, "seconds   %.1f to add sums, %.1f to solve\n", r.Seconds["add"], r.Seconds["solve"])
		n, err := io.WriteString(w, b.String())
		return int64(n), err
	}
	fmt.Fprintf(&b, "seconds   %.1f to profile the data, ", r.Seconds["profile"])
	if r.Learned != nil {
		fmt.Fprintf(&b, "%.1f to learn the features, ", r.Seconds["align"])
	}
	if r.Search != nil {
		fmt.Fprintf(&b, "%.1f to search, ", r.Seconds["search"])
	}
	fmt.Fprintf(&b, "%.1f to train\n", r.Seconds["train"])
	if r.Timings {
		fmt.Fprintf(&b, "of which  ")
		for i, name := range []string{"read", "map", "fold", "learn", "merge", "store", "solve"} {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s %.2f", name, r.Work[name])
		}
		b.WriteString(" (reading runs beside the rest; the times of parallel readers are added)\n")
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

// WriteComponents prints the components of an embedding.
func WriteComponents(w io.Writer, components []models.Component) {
	total := 0.0
	for i, c := range components {
		total += c.Share
		fmt.Fprintf(w, "component %-3d variance %.6g, %.2f %% of all; %.2f %% so far\n", i+1, c.Variance, 100*c.Share, 100*total)
	}
}

// what says what a row is made of.
func (r *Result) what() string {
	if r.Types != "" {
		return r.Types
	}
	return fmt.Sprintf("%d numbers", r.Columns)
}

// numbers lists numbers.
func numbers(v []float64) string {
	var words []string
	for _, x := range v {
		words = append(words, fmt.Sprintf("%g", x))
	}
	return strings.Join(words, ", ")
}

// leastOf notes that an error is the smallest of several.
func leastOf(tried int) string {
	if tried < 2 {
		return ""
	}
	return fmt.Sprintf(" (the smallest of %d, so the error on new rows may be slightly larger)", tried)
}

// edge returns a note if the best λ was the first or last that was tried. Below least, the
// rounding of features changes the effect of λ; 0 means there is no such bound.
func edge(path []ridge.Row, chosen, least float64) string {
	low, high := chosen, chosen
	for _, row := range path {
		low, high = min(low, row.Lambda), max(high, row.Lambda)
	}
	switch {
	case len(path) < 2:
	case chosen == low && chosen <= least: // gridNotes has noted it
	case chosen == low && chosen/10 < least:
		return fmt.Sprintf("%g is the smallest lambda that was tried: below it, the rounding of features matters; --lambda accepts smaller ones", chosen)
	case chosen == low && chosen > 0:
		return fmt.Sprintf("%g is the smallest lambda that was tried; a smaller one may do better", chosen)
	case chosen == high:
		return fmt.Sprintf("%g is the largest lambda that was tried; a larger one may do better", chosen)
	}
	return ""
}

// WritePath prints the cross-validation results of each λ. Errors of targets are in their units.
// Errors of classes are the share of misclassified rows of one fold, and the squares that ridge
// minimises, of scores that should be 1 for the row's class and −1 for the others. The squares
// determine the choice of λ.
func WritePath(w io.Writer, task models.Task, path []ridge.Row, chosen float64) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	numbers := task == models.Regression
	scored := !numbers && slices.ContainsFunc(path, func(r ridge.Row) bool { return r.HeldOutRows > 0 })
	lost := slices.ContainsFunc(path, func(r ridge.Row) bool { return r.HeldOutLogLoss > 0 })
	none, extra := "-\t-\t-\t-", ""
	if lost {
		extra = "held-out log loss\t"
	}
	switch {
	case numbers:
		none += "\t-"
		fmt.Fprintf(tw, "\tlambda\theld-out RMSE\t± se\tR²\ttraining RMSE\tfolds\t\t\n")
	case scored:
		none += "\t-\t-" + strings.Repeat("\t-", strings.Count(extra, "\t"))
		fmt.Fprintf(tw, "\tlambda\theld-out error\t95 %% interval\t%sheld-out mse of ±1 codes\t± se\ttraining mse\tfolds\t\t\n", extra)
	default:
		fmt.Fprintf(tw, "\tlambda\theld-out mse of ±1 codes\t± se\ttraining mse\tfolds\t\t\n")
	}
	for _, row := range path {
		mark := ""
		if row.Lambda == chosen {
			mark = "<- chosen"
		}
		if row.Failed != "" {
			fmt.Fprintf(tw, "\t%g\t%s\t%s\t\n", row.Lambda, none, row.Failed)
			continue
		}
		held, stdErr, training := row.MSE, row.StdErr, row.Train
		if numbers {
			held, training = math.Sqrt(held), math.Sqrt(training)
			stdErr /= 2 * max(held, math.SmallestNonzeroFloat64) // d√x = dx/(2√x)
		}
		se := "-"
		if row.Folds > 1 {
			se = fmt.Sprintf("%.2g", stdErr)
		}
		fmt.Fprintf(tw, "\t%g\t", row.Lambda)
		if scored {
			rate, interval := heldOutRate(row.HeldOutErrors, row.HeldOutRows, row.HeldOutError)
			fmt.Fprintf(tw, "%s\t%s\t", rate, interval)
		}
		if lost {
			fmt.Fprintf(tw, "%.5f\t", row.HeldOutLogLoss)
		}
		fmt.Fprintf(tw, "%.6g\t%s\t", held, se)
		if numbers {
			fmt.Fprintf(tw, "%.4f\t", row.R2)
		}
		fmt.Fprintf(tw, "%.6g\t%d\t%s\t\n", training, row.Folds, mark)
	}
	tw.Flush()
	if i := slices.IndexFunc(path, func(r ridge.Row) bool { return r.HeldOutRows > 0 }); scored {
		fmt.Fprintf(w, "          errors are on %s rows of one fold, predicted by the model trained without them\n", report.Groups(path[i].HeldOutRows))
	}
}
