package pipelines

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
)

// SetAsideFile is the file of a model directory, or of one of predictions, that
// lists the rows set aside: one JSON object a line.
const SetAsideFile = "set_aside.jsonl"

// publish makes the model directory.
func (t *training) publish(ctx context.Context) error {
	options, err := json.Marshal(t.data.Schema)
	if err != nil {
		return err
	}
	label := ""
	if t.data.Labeled {
		label = t.data.Label
	}
	m := &models.Model{
		Linear: t.linear, Kept: slices.Concat(t.recipe.files, t.kept),
		Manifest: &models.Manifest{
			Program: Version(), Task: t.task(), Seed: t.opts.Seed, Recipe: t.recipe.sealed,
			Learner: t.learner, Probabilities: t.chances,
			Input: models.Input{
				Format: t.data.Schema.Format, Dim: t.found.Dim, Columns: t.data.Schema.Columns, Label: label, Options: options,
			},
			Rows:        models.Rows{Read: t.counts.Read, Used: t.counts.Used, SetAside: t.counts.SetAside},
			Profile:     models.Profile{Width: t.recipe.width},
			Fingerprint: t.digest,
		},
	}
	switch task := m.Manifest.Task; task {
	case models.Classification:
		m.Manifest.Vocabulary, m.Manifest.Profile.ClassCounts = t.target.Classes, t.found.Labels.Counts
	case models.Regression:
		m.Manifest.TargetGrid = t.target.Grid
	}
	files, err := models.Encode(m)
	if err != nil {
		return err
	}
	if len(t.counts.Listed) > 0 {
		files = append(files, storage.File{Name: SetAsideFile, Data: setAsideLines(t.counts.Listed)})
	}
	return t.job.publish(ctx, t.opts.Model, files)
}

func setAsideLines(list []dataset.SetAside) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, s := range list {
		enc.Encode(s) // a struct of strings and numbers into memory cannot fail
	}
	return out.Bytes()
}

func (t *training) task() models.Task {
	switch {
	case t.learner.Kind == "pca":
		return models.Embedding
	case t.target.Classes != nil:
		return models.Classification
	}
	return models.Regression
}

// TrainResult is what training found.
type TrainResult struct {
	Model   string          `json:"model"` // directory
	Task    models.Task     `json:"task"`
	Rows    Counts          `json:"rows"`
	Columns int             `json:"columns"` // numbers in a row
	Classes []string        `json:"classes,omitempty"`
	Counts  []int64         `json:"class_counts,omitempty"`
	Kernel  string          `json:"kernel"` // in words
	Width   float64         `json:"width"`
	Recipe  features.Sealed `json:"recipe"`
	Found   *Found          `json:"found,omitempty"` // features that were found in the data
	Learner string          `json:"learner"`
	Lambda  float64         `json:"lambda"`
	Path    []ridge.Row     `json:"path,omitempty"`   // of ridge: held-out errors by λ
	Course  *models.Course  `json:"course,omitempty"` // of a learner in rounds
	Steps   int             `json:"steps,omitempty"`  // of the grid of the features' sums, from 0 to the bound: 127 are 8 bits
	// Probabilities tells how scores become probabilities, if they do.
	Probabilities *models.Probabilities `json:"probabilities,omitempty"`
	Notes         []string              `json:"notes,omitempty"`
	Seconds       map[string]float64    `json:"seconds"` // wall time by part of the job
	// Work is where the time of the job's workers in this process went, as
	// transforms.Worker.Seconds tells it.
	Work map[string]float64 `json:"work_seconds"`

	// Timings has WriteTo print Work.
	Timings bool `json:"-"`

	dim, folds int
	seed       uint64
}

func (t *training) result() *TrainResult {
	r := &TrainResult{
		Model: t.opts.Model, Task: t.task(), Rows: t.counts, Columns: t.found.Dim,
		Kernel: t.recipe.name, Width: t.recipe.width, Recipe: t.recipe.sealed,
		Found: t.learned, Learner: t.learner.Kind, Lambda: t.learner.Lambda, Path: t.learner.Table, Course: t.learner.Course, Steps: t.learner.Steps,
		Probabilities: t.chances, Notes: t.notes, Seconds: t.seconds, Work: t.worker.Seconds(),
		dim: t.recipe.dim, folds: t.learner.Folds, seed: t.opts.Seed,
	}
	if t.target.Classes != nil {
		r.Classes, r.Counts = t.target.Classes.Classes, t.found.Labels.Counts
	}
	r.Notes = append(r.Notes, t.gridNotes()...)
	if note := edge(t.learner.Table, t.learner.Lambda, ridge.FloorFactor*t.floor); note != "" {
		r.Notes = append(r.Notes, note)
	}
	return r
}

// WriteTo prints the result for people.
func (r *TrainResult) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "model     %s\n", r.Model)
	fmt.Fprintf(&b, "rows      %s\n", r.Rows.listed())
	if r.Task == models.Classification {
		fmt.Fprintf(&b, "task      classification of %d numbers into %d classes\n", r.Columns, len(r.Classes))
	} else {
		fmt.Fprintf(&b, "task      regression on %d numbers\n", r.Columns)
	}
	fmt.Fprintf(&b, "features  %d of the %s, seed %d\n", r.dim, r.Kernel, r.seed)
	if r.Steps > 0 {
		fmt.Fprintf(&b, "grid      %s\n", gridText(r.Steps))
	}
	if r.Found != nil {
		r.Found.write(&b)
	}
	switch {
	case r.Course != nil:
		writeCourse(&b, r)
	case len(r.Path) == 0:
		fmt.Fprintf(&b, "lambda    %g\n", r.Lambda)
	default:
		by := fmt.Sprintf("the held-out error of %d folds", r.folds)
		if r.Task == models.Classification {
			by = fmt.Sprintf("the held-out mse of %d folds", r.folds)
		}
		if r.Path[0].Folds == 1 && r.folds > 1 { // features were found from the others
			by = "the error of rows that were held out, " + partWords(r.folds)
		}
		fmt.Fprintf(&b, "lambda    %g, by %s%s:\n", r.Lambda, by, leastOf(len(r.Path)))
		writePath(&b, r.Task, r.Path, r.Lambda)
	}
	writeProbabilities(&b, r.Probabilities)
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note      %s\n", note)
	}
	fmt.Fprintf(&b, "seconds   %.1f to look the data over, ", r.Seconds["profile"])
	if r.Found != nil {
		fmt.Fprintf(&b, "%.1f to find the features, ", r.Seconds["align"])
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
		b.WriteString(" (reading goes on beside the rest; parallel lanes add up)\n")
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

// leastOf says that the error of what was chosen is that of a choice.
func leastOf(tried int) string {
	if tried < 2 {
		return ""
	}
	return fmt.Sprintf(" (the least of %d, so new rows may show a little more)", tried)
}

// edge tells that the best λ was the first or last that was tried.
// Below least, the rounding of features changes what a λ does; 0 is no such bound.
func edge(path []ridge.Row, chosen, least float64) string {
	low, high := chosen, chosen
	for _, row := range path {
		low, high = min(low, row.Lambda), max(high, row.Lambda)
	}
	switch {
	case len(path) < 2:
	case chosen == low && chosen <= least: // gridNotes has told of it
	case chosen == low && chosen/10 < least:
		return fmt.Sprintf("%g is the smallest lambda that was tried: below it the rounding of features counts; --lambda takes smaller ones", chosen)
	case chosen == low && chosen > 0:
		return fmt.Sprintf("%g is the smallest lambda that was tried; a smaller one may do better", chosen)
	case chosen == high:
		return fmt.Sprintf("%g is the largest lambda that was tried; a larger one may do better", chosen)
	}
	return ""
}

// writePath prints what cross-validation found about each λ. Errors of targets are in
// their units. Those of classes are the share of rows of one fold that get another class
// than their own, and squares that ridge makes small, of scores that should be 1 for
// the row's class and −1 for the others: these order values of λ.
func writePath(w io.Writer, task models.Task, path []ridge.Row, chosen float64) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	numbers := task == models.Regression
	scored := !numbers && slices.ContainsFunc(path, func(r ridge.Row) bool { return r.HeldRows > 0 })
	none := "-\t-\t-\t-"
	switch {
	case numbers:
		none += "\t-"
		fmt.Fprintf(tw, "\tlambda\theld-out RMSE\t± se\tR²\ttraining RMSE\tfolds\t\t\n")
	case scored:
		none += "\t-\t-"
		fmt.Fprintf(tw, "\tlambda\theld-out error\t95 %% interval\theld-out mse of ±1 codes\t± se\ttraining mse\tfolds\t\t\n")
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
			fmt.Fprintf(tw, "%.2f %%\t%s\t", 100*float64(row.HeldErrors)/float64(max(1, row.HeldRows)), score.PercentInterval(row.HeldErrors, row.HeldRows))
		}
		fmt.Fprintf(tw, "%.6g\t%s\t", held, se)
		if numbers {
			fmt.Fprintf(tw, "%.4f\t", row.R2)
		}
		fmt.Fprintf(tw, "%.6g\t%d\t%s\t\n", training, row.Folds, mark)
	}
	tw.Flush()
	if i := slices.IndexFunc(path, func(r ridge.Row) bool { return r.HeldRows > 0 }); scored {
		fmt.Fprintf(w, "          errors are of %s rows of one fold, as the model without them predicts\n", groups(path[i].HeldRows))
	}
}

func (c Counts) String() string {
	if c.SetAside == 0 {
		return groups(c.Used)
	}
	return fmt.Sprintf("%s read = %s used + %s set aside", groups(c.Read), groups(c.Used), groups(c.SetAside))
}

// listed is String for a directory that has a SetAsideFile.
func (c Counts) listed() string {
	if c.SetAside == 0 {
		return c.String()
	}
	return c.String() + ", listed in " + SetAsideFile
}
