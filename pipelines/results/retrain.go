package results

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results/table"
)

// Retrain reports what a run for a day did, and why.
type Retrain struct {
	Day      string    `json:"day"`
	Models   string    `json:"models_dir"`
	Outcome  Outcome   `json:"outcome"`
	ExitCode exit.Code `json:"exit_code"`
	Why      string    `json:"why,omitempty"`
	ReportedModels
	ReportedRows
	ReportedDays
	Drifts     []Moved         `json:"drift_by_day,omitempty"` // of days that the champion was not trained on
	Drift      *Drift          `json:"drift,omitempty"`        // of all rows from the rows of the recipe
	Gates      []registry.Gate `json:"gates,omitempty"`
	Comparison string          `json:"comparison,omitempty"`
	ReportedWork
}

// Reason returns what is special about the model, for the history.
func (r *Retrain) Reason() string {
	words := []string{fmt.Sprintf("%s to %s", report.Counted(r.Partitions, "partition"), r.Last)}
	if r.Redrawn != "" {
		words = append(words, "recipe drawn: "+r.Redrawn)
	}
	if r.Window != nil {
		words = append(words, "window: "+r.Window.String())
	}
	for _, x := range r.changed() {
		words = append(words, x.what+": "+strings.Join(x.days, ", "))
	}
	for _, x := range r.Refused {
		words = append(words, "without "+x.Day)
	}
	return strings.Join(words, "; ")
}

// Facts describes the run as a table.
func (r *Retrain) Facts() (t table.Facts) {
	t.Addf("day", "%s", r.Day)
	t.Addf("outcome", "%s", strings.TrimSuffix(fmt.Sprintf("%s: %s", r.Outcome, r.Why), ": "))
	if r.Champion != r.Before && r.Champion != "" && r.Before != "" {
		t.Addf("champion", "%s (before: %s)", r.Champion, r.Before)
	} else {
		t.Addf("champion", "%s", cmp.Or(r.Champion, "none"))
	}
	t.Addf("model", "%s", r.Model)
	if r.Redrawn != "" {
		t.Addf("recipe", "drawn anew: %s", r.Redrawn)
	}
	if r.Partitions > 0 {
		days := r.First + " to " + r.Last
		if r.First == r.Last {
			days = r.First
		}
		rows := ""
		if r.Rows.Read > 0 {
			rows = fmt.Sprintf(": %s used, %s set aside", report.Counted64(r.Rows.Used, "row"), report.Groups(r.Rows.SetAside))
		}
		t.Addf("trained on", "%s, %s%s", report.Counted(r.Partitions, "partition"), days, rows)
		t.Addf("judged by", "%s", r.HeldOut)
	}
	if r.Window != nil {
		t.Addf("window", "%s", r.Window)
	}
	for _, x := range append([]labelledDays{{"read", r.Summed}, {"new", r.New}}, r.changed()...) {
		t.Addf(x.what, "%s", someDays(x.days))
	}
	for _, x := range r.Refused {
		t.Addf("refused", "%s: %s", x.Day, x.Why)
	}
	return t
}

// Text returns the report for people.
func (r *Retrain) Text() string {
	var b strings.Builder
	t := r.Facts()
	shown := 0
	for _, m := range slices.Backward(r.Drifts) { // the newest first
		if !m.certain() || slices.ContainsFunc(r.Refused, func(x RefusedDay) bool { return x.Day == m.Day }) {
			continue
		}
		shown++
		if shown > maxDrifts {
			break
		}
		text := report.ColumnsText(m.Columns)
		if text == "" {
			text = m.Features.Text
		}
		t.Addf("drift", "%s: %s", m.Day, text)
	}
	if r.Drift != nil {
		t.Addf("drift", "all rows: %s", r.Drift.Text)
	}
	if r.Removed > 0 {
		t.Addf("removed", "%s of sums that no model needs", report.Counted(r.Removed, "directory"))
	}
	if r.Unneeded > 0 {
		t.Addf("sums", "no model needs %s; --keep_sums needed removes what is not needed",
			report.Counted(r.Unneeded, "directory"))
	}
	for _, note := range r.Notes {
		t.Addf("note", "%s", note)
	}
	t.Write(&b, 11)
	if len(r.Gates) > 0 {
		b.WriteString("\n")
		r.GateTable().WriteLeft(&b)
	}
	if r.Comparison != "" {
		fmt.Fprintf(&b, "\n%s", r.Comparison)
	}
	var times []string
	for _, name := range slices.Sorted(maps.Keys(r.Steps)) {
		times = append(times, fmt.Sprintf("%s %.2f s", name, r.Steps[name]))
	}
	fmt.Fprintf(&b, "\ntime: %s\n", strings.Join(times, ", "))
	return b.String()
}

// GateTable returns the gates as a table.
func (r *Retrain) GateTable() table.Table {
	t := table.Table{Head: []string{"gate", "passed", "result"}}
	for _, g := range r.Gates {
		t.Add(g.Condition, report.YesNo(g.Passed), g.Result)
	}
	return t
}

// WriteTo prints the report for people.
func (r *Retrain) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, r.Text())
	return int64(n), err
}

// Outcome is how a run ended.
type Outcome string

// Outcomes of a run, with their exit codes.
const (
	Promoted Outcome = "promoted" // a new model is champion: 0
	Kept     Outcome = "kept"     // the model did not pass a gate, and the champion stays: 4
	Refused  Outcome = "refused"  // the data of the day was refused, and no model was made: 8
	Nothing  Outcome = "nothing"  // no new data, and no model was made: 9
	Lost     Outcome = "lost"     // another run was faster: 10
)

// ReportedModels holds the names of models, and why a new recipe was drawn.
type ReportedModels struct {
	Before   string `json:"champion_before,omitempty"`
	Champion string `json:"champion,omitempty"` // after the run
	Model    string `json:"model,omitempty"`    // made by the run
	Redrawn  string `json:"recipe_drawn,omitempty"`
}

// ReportedRows describes the rows that a model was trained on and judged by.
type ReportedRows struct {
	Partitions int              `json:"partitions"`    // that the model was trained on
	Rows       models.RowCounts `json:"rows,omitzero"` // training rows of a new model
	First      string           `json:"first_day,omitempty"`
	Last       string           `json:"last_day,omitempty"`
	HeldOut    string           `json:"held_out,omitempty"` // the day or files whose rows judged
	// Window is nil if the window was not chosen.
	Window *ChosenWindow `json:"window,omitempty"`
}

// ReportedDays lists the days whose data was read, changed or refused.
type ReportedDays struct {
	Summed    []string     `json:"summed,omitempty"`   // days that were read
	New       []string     `json:"new,omitempty"`      // days that the champion was not trained on
	Late      []string     `json:"late,omitempty"`     // the new days that are before its newest day
	Replaced  []string     `json:"replaced,omitempty"` // days whose files changed since the champion was trained
	Withdrawn []string     `json:"withdrawn,omitempty"`
	Refused   []RefusedDay `json:"refused,omitempty"`
}

// changed returns the days whose data has changed since the champion was trained, except for new days.
func (r *ReportedDays) changed() []labelledDays {
	all := []labelledDays{{"late", r.Late}, {"replaced", r.Replaced}, {"withdrawn", r.Withdrawn}}
	return slices.DeleteFunc(all, func(x labelledDays) bool { return len(x.days) == 0 })
}

// ReportedWork has notes, removed sums and times of a run.
type ReportedWork struct {
	Notes    []string           `json:"notes,omitempty"`
	Removed  int                `json:"removed_sums,omitempty"`  // directories of sums that were removed
	Unneeded int                `json:"unneeded_sums,omitempty"` // directories that could be removed
	Steps    map[string]float64 `json:"seconds"`                 // by step
}

// labelledDays are days with the same change, which what describes.
type labelledDays struct {
	what string
	days []string
}

// RefusedDay is a day that is not trained on.
type RefusedDay struct {
	Day string `json:"day"`
	Why string `json:"why"`
}

// Moved is the drift of the rows of a day from the rows of the recipe.
type Moved struct {
	Day      string         `json:"day"`
	Columns  []drift.Column `json:"columns,omitempty"`  // with significant drift, the largest first
	Features *Drift         `json:"features,omitempty"` // nil if they were not compared
}

// certain reports whether any drift is significant.
func (m Moved) certain() bool {
	return len(m.Columns) > 0 || m.Features != nil && m.Features.Value > 0
}

// Drift is the distance of rows from the rows of a recipe, in the features of the model.
type Drift struct {
	Value float64 `json:"value"`
	Text  string  `json:"text"` // in words
}

// maxDrifts is the largest number of days whose drift is printed.
const maxDrifts = 5

// someDays lists a few days, and counts more of them.
func someDays(days []string) string {
	const most = 8
	if len(days) <= most {
		return strings.Join(days, ", ")
	}
	return fmt.Sprintf("%d days, %s to %s", len(days), days[0], days[len(days)-1])
}
