package results

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/results/table"
)

// Question is a question to sums; package options has the values.
type Question string

// Ask is the answer to a question.
type Ask struct {
	Question    Question `json:"question"`
	Asked       string   `json:"asked"` // the question in words
	AnswerFacts `json:"sums"`
	By          string        `json:"lambda_by"` // how λ was chosen
	Judged      string        `json:"judged,omitempty"`
	Tables      []AnswerTable `json:"tables"`
	// Verdict is the result of bisect in words, and Found the date that it has found; nil if none.
	Verdict string `json:"verdict,omitempty"`
	Found   *Found `json:"found,omitempty"`
	// Window and HalfLife are the choices of the question window.
	Window   *Forgetting `json:"window,omitempty"`
	HalfLife *Forgetting `json:"half_life,omitempty"`
	Notes    []string    `json:"notes,omitempty"`
}

// WriteTo prints the answer for people.
func (a *Ask) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "sums      %s, %s, %s\n", report.Counted(a.Directories, "part"), report.Counted64(a.Rows, "row"),
		report.Counted(a.Features, "feature"))
	fmt.Fprintf(&b, "question  %s\nlambda    chosen %s\n", a.Asked, a.By)
	if a.Judged != "" {
		fmt.Fprintf(&b, "judged    on %s, which nothing was trained on\n", a.Judged)
	}
	if a.Verdict != "" {
		fmt.Fprintf(&b, "answer    %s\n", a.Verdict)
	}
	for _, t := range a.Tables {
		fmt.Fprintln(&b)
		if t.Title != "" {
			fmt.Fprintf(&b, "%s\n", t.Title)
		}
		t.Table(a.Measure).WriteLeft(&b)
		if note := t.Note(); note != "" {
			fmt.Fprintln(&b, note)
		}
	}
	fmt.Fprintf(&b, "\ntime      %s in %.2f s\n", report.Counted(a.Fits, "fit"), a.Seconds)
	writeNotes(&b, a.Notes)
	return b.WriteTo(w)
}

// AnswerFacts describes the sums of an answer.
type AnswerFacts struct {
	Directories int     `json:"directories"`
	Rows        int64   `json:"rows"`
	Features    int     `json:"features"`
	Fits        int     `json:"fits"`    // training sets, without those that only chose λ
	Measure     string  `json:"measure"` // of errors: mse, brier, or share of the variance
	Seconds     float64 `json:"seconds"`
}

// AnswerTable is a table of results.
type AnswerTable struct {
	Title string      `json:"title,omitempty"`
	Head  string      `json:"head"` // meaning of AnswerRow.Name
	Rows  []AnswerRow `json:"rows"`
}

// Table returns the table for people, without columns that are empty in all rows.
func (t *AnswerTable) Table(measure string) table.Table {
	measure = strings.NewReplacer("mse", "RMSE", "brier", "Brier score").Replace(measure)
	all := table.Table{Caption: t.Title, Head: []string{t.Head, "trained on", "rows", "lambda", "R²", "95% interval",
		measure, "adds to R²", "95% interval", "Shapley"}}
	cell := func(show bool, format string, args ...any) string {
		if !show {
			return ""
		}
		return fmt.Sprintf(format, args...)
	}
	for _, r := range t.Rows {
		name, v, shapley := report.Word(r.Name, 40), r.Worth, 0.0
		if r.Seen {
			name = name + " *"
		}
		if measure == "RMSE" {
			r.Error = math.Sqrt(r.Error)
		}
		worth := v != nil
		if !worth {
			v = new(Worth)
		} else if v.Shapley != nil {
			shapley = *v.Shapley
		}
		all.Add(name, r.Trained, cell(r.TrainedRows > 0, "%s", report.Groups(r.TrainedRows)),
			cell(r.Lambda > 0, "%g", r.Lambda), report.R2Text(r.R2), r.Interval.String(), fmt.Sprintf("%.5g", r.Error),
			cell(worth, "%+.4f", v.R2), v.Interval.String(),
			cell(v.Shapley != nil, "%.4f", shapley)+cell(v.StdErr > 0, " ± %.4f", v.StdErr))
	}
	return all.Filled()
}

// Note explains the marks of a table, "" if it has none.
func (t *AnswerTable) Note() string {
	if slices.ContainsFunc(t.Rows, func(r AnswerRow) bool { return r.Seen }) {
		return "* the recipe was drawn from rows of these sums"
	}
	return ""
}

// AnswerRow is a model and its score.
type AnswerRow struct {
	Name        string  `json:"name"` // the judged, omitted or training units: see AnswerTable.Head
	Trained     string  `json:"trained,omitempty"`
	TrainedRows int64   `json:"trained_rows,omitempty"`
	Lambda      float64 `json:"lambda,omitempty"`
	Score
	Worth *Worth `json:"worth,omitempty"`
	Seen  bool   `json:"seen,omitempty"` // the recipe was drawn from some of its files
}

// Score measures how good predictions are.
type Score struct {
	Rows float64 `json:"judged_rows"` // number of predicted rows, or the sum of their weights
	// R2 is 1 − error/variance over all judged rows. It is negative if their mean would predict
	// better. For classes it is the Brier skill score: the error of the class shares is the variance.
	// It is nil (null in JSON) if all targets are equal, as for rows of one class.
	R2       *float64 `json:"r2"`
	Interval          // of R2
	// Error is the mean squared error of a target; for several targets, as a share of their variances
	// over all sums; for classes, the Brier score Σ(o−p)² of the scores as probabilities.
	Error float64 `json:"error"`
}

// Interval is a 95% bootstrap interval. It resamples judged units, which are dates or groups,
// because rows of a unit are similar. Low and High are nil for fewer than five units.
type Interval struct {
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
}

// String writes an interval; "" for none.
func (i Interval) String() string {
	if i.Low == nil {
		return ""
	}
	return fmt.Sprintf("%.4f to %.4f", *i.Low, *i.High)
}

// Worth is the contribution of a group to R².
type Worth struct {
	R2       float64 `json:"r2"` // R² of all groups − R² without the group; negative if the group does harm
	Interval         // of R2
	// Shapley is Σ|S|!(k−|S|−1)!/k!·(R²(S ∪ g) − R²(S)) over the subsets S of the other groups (Shapley
	// 1953), with R² = 0 without data; nil if it was not asked for.
	Shapley *float64 `json:"shapley,omitempty"`
	StdErr  float64  `json:"shapley_std_err,omitempty"` // of an estimate from random orders
}

// Found is the date whose addition makes the model worse.
type Found struct {
	Name     string  `json:"name"`
	Before   float64 `json:"r2_before"` // R² of a model of the dates before it; 0 if there are none
	With     float64 `json:"r2_with"`   // R² of a model of these and the date
	Interval         // of the difference
	MinR2    float64 `json:"min_r2"`
}

// Forgetting is a choice of the dates to train on next, with their weights and λ, and its score.
type Forgetting struct {
	Span
	Lambda float64 `json:"lambda"`
	// Score is the score of the pairs of span and λ that are chosen on each date from earlier dates.
	Score
	// Hindsight holds the best λ of each span over all judged dates. The best of these scores is optimistic.
	Hindsight []AnswerRow `json:"hindsight"`
}

// Span selects the dates before a judged one on which a model is trained: the last Window dates, 0 for all; or all
// dates with weights 2^(−age/HalfLife), where age counts dates. The zero value means all dates.
type Span struct {
	Window   int     `json:"window,omitempty"`
	HalfLife float64 `json:"half_life,omitempty"`
}

// String returns a span in words.
func (s Span) String() string {
	switch {
	case s.HalfLife > 0:
		return fmt.Sprintf("half-life %g", s.HalfLife)
	case s.Window > 0:
		return "last " + report.Counted(s.Window, "date")
	}
	return "all dates"
}

// ChosenWindow is a choice of the number of last dates to train on.
type ChosenWindow struct {
	Dates int `json:"dates"` // number of dates to train on
	Of    int `json:"of"`    // number of all dates
	Days  int `json:"days"`  // the same window for retrain --window
	// Chosen holds the score of windows that are chosen anew on each date, and All the score of training on all dates.
	Chosen *Forgetting `json:"chosen"`
	All    *Forgetting `json:"all"`
}

// String returns the choice in words.
func (w *ChosenWindow) String() string {
	return fmt.Sprintf("last %s of %d (--window %dd), by the errors of %s forward in time (R² %s; all days %s)",
		report.Counted(w.Dates, "day"), w.Of, w.Days, report.Counted(w.Of-1, "day"), report.R2Text(w.Chosen.R2),
		report.R2Text(w.All.R2))
}
