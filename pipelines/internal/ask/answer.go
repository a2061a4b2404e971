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
	prequentially = "by the errors on the dates judged before; the first by cross-validation inside its training set"
	inside        = "by cross-validation inside each training set"
	once          = "by cross-validation over all that is trained on, for all models"
)

// Row is a model and its score.
type Row struct {
	Name        string  `json:"name"` // what is judged, left out or trained on: see Table.Head
	Trained     string  `json:"trained,omitempty"`
	TrainedRows int64   `json:"trained_rows,omitempty"`
	Lambda      float64 `json:"lambda,omitempty"`
	Score
	Worth *Worth `json:"worth,omitempty"`
	Seen  bool   `json:"seen,omitempty"` // the recipe was drawn from some of its files
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
	From        string  `json:"from,omitempty"`
	To          string  `json:"to,omitempty"`
	Features    int     `json:"features"`
	Fits        int     `json:"fits"` // sums that weights were fitted to, but for the choice of λ inside them
	Measure     string  `json:"measure"`
	Seconds     float64 `json:"seconds"`
}

// Measures of errors.
const (
	mse   = "mse"
	share = "share of the variance"
	brier = "brier"
)

// describe tells of what the answer is.
func (a *Answer) describe(d *data, seconds float64) {
	a.Question, a.Notes = d.Question, d.notes
	a.Facts = Facts{Directories: len(d.parts), Rows: d.all.Rows(), Features: d.all.Shape().Dim, Fits: d.fits, Seconds: seconds}
	if d.dated {
		a.From, a.To = nameOf(d.parts[0].date), nameOf(d.parts[len(d.parts)-1].date)
	}
	switch len(d.units.Grid) {
	case 0:
		a.Measure = brier
	case 1:
		a.Measure = mse
	default:
		a.Measure = share
	}
}

// spanOf describes units by the first and the last.
func spanOf(all []unit) string {
	if len(all) == 1 {
		return all[0].name
	}
	return all[0].name + " … " + all[len(all)-1].name
}

// between writes an interval.
func between(low, high *float64) string {
	if low == nil {
		return ""
	}
	return fmt.Sprintf(" (95%%: %.4f to %.4f)", *low, *high)
}

// WriteTo prints the answer for people.
func (a *Answer) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	span := ""
	if a.From != "" {
		span = fmt.Sprintf(", %s to %s", a.From, a.To)
	}
	fmt.Fprintf(&b, "sums      %s, %s%s; %s, no row was read\n", report.Counted(a.Directories, "directory"),
		report.Counted64(a.Rows, "row"), span, report.Counted(a.Features, "feature"))
	fmt.Fprintf(&b, "question  %s\n", a.Asked)
	if a.Judged != "" {
		fmt.Fprintf(&b, "judged    on %s, which nothing was trained on\n", a.Judged)
	}
	fmt.Fprintf(&b, "lambda    chosen %s\n", a.By)
	if a.Verdict != "" {
		fmt.Fprintf(&b, "answer    %s\n", a.Verdict)
	}
	for _, t := range a.Tables {
		fmt.Fprintln(&b)
		if t.Title != "" {
			fmt.Fprintf(&b, "%s\n", t.Title)
		}
		if a.Question == "matrix" {
			t.writeMatrix(&b)
		} else {
			t.write(&b, a.Measure)
		}
	}
	fmt.Fprintf(&b, "\ntime      %s in %.2f s\n", report.Counted(a.Fits, "fit"), a.Seconds)
	for _, n := range a.Notes {
		fmt.Fprintf(&b, "note      %s\n", n)
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

// columns are those of a table, with "" for what a row does not have.
var columns = []struct {
	name string
	of   func(r *Row) string
}{
	{"trained on", func(r *Row) string { return r.Trained }},
	{"rows", func(r *Row) string { return positive(float64(r.TrainedRows), "%s", report.Groups(r.TrainedRows)) }},
	{"lambda", func(r *Row) string { return positive(r.Lambda, "%g", r.Lambda) }},
	{"R²", func(r *Row) string { return fmt.Sprintf("%.4f", r.R2) }},
	{"95%", func(r *Row) string { return interval(r.Low, r.High) }},
	{"", nil}, // the error
	{"adds to R²", func(r *Row) string { return r.worth(func(w *Worth) string { return fmt.Sprintf("%+.4f", w.R2) }) }},
	{"95%", func(r *Row) string { return r.worth(func(w *Worth) string { return interval(w.Low, w.High) }) }},
	{"Shapley", func(r *Row) string { return r.worth((*Worth).shapley) }},
}

func positive(v float64, format string, a any) string {
	if v <= 0 {
		return ""
	}
	return fmt.Sprintf(format, a)
}

func interval(low, high *float64) string {
	if low == nil {
		return ""
	}
	return fmt.Sprintf("%.4f to %.4f", *low, *high)
}

func (r *Row) worth(of func(*Worth) string) string {
	if r.Worth == nil {
		return ""
	}
	return of(r.Worth)
}

func (w *Worth) shapley() string {
	switch {
	case w.Shapley == nil:
		return ""
	case w.StdErr > 0:
		return fmt.Sprintf("%.4f ± %.4f", *w.Shapley, w.StdErr)
	}
	return fmt.Sprintf("%.4f", *w.Shapley)
}

// write prints the columns in which a row has something.
func (t *Table) write(w io.Writer, measure string) {
	lines := make([]string, len(t.Rows)+1)
	lines[0] = t.Head
	for i := range t.Rows {
		if lines[i+1] = report.Word(t.Rows[i].Name, 40); t.Rows[i].Seen {
			lines[i+1] += " *"
		}
	}
	for _, c := range columns {
		if c.of == nil {
			c.name, c.of = measure, func(r *Row) string { return fmt.Sprintf("%.5g", r.Error) }
			if measure == mse {
				c.name, c.of = "RMSE", func(r *Row) string { return fmt.Sprintf("%.5g", math.Sqrt(r.Error)) }
			}
		}
		texts, some := []string{c.name}, false
		for i := range t.Rows {
			texts = append(texts, c.of(&t.Rows[i]))
			some = some || texts[i+1] != ""
		}
		for i := range lines {
			if some {
				lines[i] += "\t" + texts[i]
			}
		}
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, strings.Join(lines, "\n"))
	tw.Flush()
	if slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Seen }) {
		fmt.Fprintln(w, "* the recipe was drawn from rows of these sums")
	}
}

// sides returns the groups that are trained on and judged, in order.
func (t *Table) sides() (trained, judged []string) {
	for _, r := range t.Rows {
		if !slices.Contains(trained, r.Trained) {
			trained = append(trained, r.Trained)
		}
		if !slices.Contains(judged, r.Name) {
			judged = append(judged, r.Name)
		}
	}
	slices.Sort(judged)
	return trained, judged
}

// at returns the R² of a model of one group on another.
func (t *Table) at(trained, judged string) (float64, bool) {
	i := slices.IndexFunc(t.Rows, func(r Row) bool { return r.Trained == trained && r.Name == judged })
	if i < 0 {
		return 0, false
	}
	return t.Rows[i].R2, true
}

// writeMatrix prints R² with a row for each group that is trained on.
func (t *Table) writeMatrix(w io.Writer) {
	trained, judged := t.sides()
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "R² of\ton %s\n", strings.Join(judged, "\ton "))
	for _, of := range trained {
		fmt.Fprint(tw, report.Word(of, 40))
		for _, on := range judged {
			if r2, ok := t.at(of, on); ok {
				fmt.Fprintf(tw, "\t%.4f", r2)
			} else {
				fmt.Fprint(tw, "\t-")
			}
		}
		fmt.Fprintln(tw)
	}
	tw.Flush()
}

// draw plots R².
func (a *Answer) draw(ctx context.Context, name string) error {
	title := "R² by " + a.Question
	if t := &a.Tables[0]; a.Question == "matrix" {
		trained, judged := t.sides()
		h := picture.Heat{Title: title, X: "judged: " + strings.Join(judged, ", "), Y: "trained on, from the top: " +
			strings.Join(trained, ", "), Rows: len(trained), Cols: len(judged)}
		for _, of := range trained {
			for _, on := range judged {
				r2, _ := t.at(of, on)
				h.Values = append(h.Values, r2)
			}
		}
		return report.WritePicture(ctx, name, h, 14, 12)
	}
	l := picture.Lines{Title: title, X: "row of the table", Y: "R²"}
	for _, t := range a.Tables {
		s := picture.Series{Name: t.Title}
		for i, r := range t.Rows {
			if r.Name == "total" {
				continue
			}
			x := float64(i + 1)
			if a.Question == "curve" {
				x, l.X, l.LogX = float64(r.TrainedRows), "rows", true
			}
			if s.X, s.Y = append(s.X, x), append(s.Y, r.R2); r.Low != nil {
				s.Low, s.High = append(s.Low, *r.Low), append(s.High, *r.High)
			}
		}
		l.Series = append(l.Series, s)
	}
	if a.Question == "window" {
		l.Series = l.Series[1:]
	}
	return report.WritePicture(ctx, name, l, 18, 11)
}
