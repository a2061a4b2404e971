package ask

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// How λ is chosen, in words.
const (
	prequentially = "by the errors on the dates judged before, the first by cross-validation"
	inside        = "by cross-validation inside each training set"
	once          = "once, by cross-validation over all that is trained on"
)

const total = "total" // the name of a row

// Row is a model and its score.
type Row struct {
	Name        string  `json:"name"` // what is judged, left out or trained on: see Table.Head
	Trained     string  `json:"trained,omitempty"`
	TrainedRows int64   `json:"trained_rows,omitempty"`
	Lambda      float64 `json:"lambda,omitempty"`
	Score
	Worth   *Worth  `json:"worth,omitempty"`
	Seen    bool    `json:"seen,omitempty"` // the recipe was drawn from some of its files
	tallies []tally // of the judged units
}

// Table is rows of one kind.
type Table struct {
	Title string `json:"title,omitempty"`
	Head  string `json:"head"` // what Row.Name is
	Rows  []Row  `json:"rows"`
}

// Answer is the answer to a question.
type Answer struct {
	Question string `json:"question"`
	Asked    string `json:"asked"` // in words
	Facts    `json:"sums"`
	By       string  `json:"lambda_by"` // how λ was chosen
	Judged   string  `json:"judged,omitempty"`
	Tables   []Table `json:"tables"`
	// Verdict is what bisect says, in words, and Found what it has found; nil if nothing.
	Verdict string `json:"verdict,omitempty"`
	Found   *Found `json:"found,omitempty"`
	// Window and HalfLife are what the question window has chosen.
	Window   *Forgetting `json:"window,omitempty"`
	HalfLife *Forgetting `json:"half_life,omitempty"`
	Notes    []string    `json:"notes,omitempty"`
}

// Facts say of what an answer is.
type Facts struct {
	Directories int     `json:"directories"`
	Rows        int64   `json:"rows"`
	Features    int     `json:"features"`
	Fits        int     `json:"fits"`    // training sets, without those that only chose λ
	Measure     string  `json:"measure"` // of errors: mse, brier, or share of the variance
	Seconds     float64 `json:"seconds"`
}

// describe tells of what the answer is.
func (a *Answer) describe(d *data, seconds float64) {
	a.Question, a.Notes = d.Question, d.notes
	measure := []string{"brier", "mse", "share of the variance"}[min(2, len(d.units.Grid))]
	a.Facts = Facts{len(d.parts), d.total.Added.Rows.Used, d.total.Recipe.Dim, d.fits, measure, seconds}
}

// spanOf describes units by the first and the last.
func spanOf(all []unit) string {
	if len(all) == 0 {
		return ""
	}
	first, last := all[0].name, all[len(all)-1].name
	if first == last {
		return first
	}
	return first + " … " + last
}

// WriteTo prints the answer for people.
func (a *Answer) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
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
		t.write(&b, a.Measure)
	}
	fmt.Fprintf(&b, "\ntime      %s in %.2f s\n", report.Counted(a.Fits, "fit"), a.Seconds)
	for _, n := range a.Notes {
		fmt.Fprintf(&b, "note      %s\n", n)
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

// String writes an interval; "" for none.
func (i Interval) String() string {
	if i.Low == nil {
		return ""
	}
	return fmt.Sprintf("%.4f to %.4f", *i.Low, *i.High)
}

// write prints the columns in which a row has something.
func (t *Table) write(w io.Writer, measure string) {
	lines, drawn := t.lines(measure)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range filled(lines) {
		fmt.Fprintln(tw, strings.Join(line, "\t"))
	}
	tw.Flush()
	fmt.Fprint(w, drawn)
}

// lines are a head and the rows, and a note on some of them.
func (t *Table) lines(measure string) (lines [][]string, drawn string) {
	measure = strings.Replace(measure, "mse", "RMSE", 1)
	lines = [][]string{{t.Head, "trained on", "rows", "lambda", "R²", "95%", measure, "adds to R²", "95%", "Shapley"}}
	cell := func(is bool, format string, args ...any) string {
		if !is {
			return ""
		}
		return fmt.Sprintf(format, args...)
	}
	for _, r := range t.Rows {
		name, v, shapley := report.Word(r.Name, 40), r.Worth, 0.0
		if r.Seen {
			name, drawn = name+" *", "* the recipe was drawn from rows of these sums\n"
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
		lines = append(lines, []string{name, r.Trained, cell(r.TrainedRows > 0, "%s", report.Groups(r.TrainedRows)),
			cell(r.Lambda > 0, "%g", r.Lambda), fmt.Sprintf("%.4f", r.R2), r.Interval.String(), fmt.Sprintf("%.5g", r.Error),
			cell(worth, "%+.4f", v.R2), v.Interval.String(),
			cell(v.Shapley != nil, "%.4f", shapley) + cell(v.StdErr > 0, " ± %.4f", v.StdErr)})
	}
	return lines, drawn
}

// filled leaves out the columns in which no row has something.
func filled(lines [][]string) (all [][]string) {
	for _, line := range lines {
		var cells []string
		for c, cell := range line {
			if slices.ContainsFunc(lines[1:], func(l []string) bool { return l[c] != "" }) {
				cells = append(cells, cell)
			}
		}
		all = append(all, cells)
	}
	return all
}

// draw plots R² of the rows of all tables, or of window in hindsight.
func (a *Answer) draw(ctx context.Context, name string) error {
	return report.WritePicture(ctx, name, a.lines(), 18, 11)
}

func (a *Answer) lines() picture.Lines {
	curve := a.Question == "curve"
	l := picture.Lines{Title: "R² by " + a.Question, X: "row of the table", Y: "R²", LogX: curve}
	for k, t := range a.Tables {
		if a.Question == "window" && k == 0 {
			continue
		}
		s := picture.Series{Name: t.Title}
		for i, r := range t.Rows {
			x := float64(i + 1)
			if curve {
				l.X, x = "rows", float64(r.TrainedRows)
			}
			if r.Name == total {
				continue
			}
			if s.X, s.Y = append(s.X, x), append(s.Y, r.R2); r.Low != nil {
				s.Low, s.High = append(s.Low, *r.Low), append(s.High, *r.High)
			}
		}
		l.Series = append(l.Series, s)
	}
	return l
}
