package ask

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/report/page"
)

// Answer.By: how λ is chosen, in words.
const (
	byEarlierErrors = "by the errors on the dates judged before, the first by cross-validation"
	byInnerFolds    = "by cross-validation inside each training set"
	byFoldsOnce     = "once, by cross-validation over all that is trained on"
)

const totalRow = "total" // name of the row with the total

// Row is a model and its score.
type Row struct {
	Name        string  `json:"name"` // the judged, omitted or training units: see Table.Head
	Trained     string  `json:"trained,omitempty"`
	TrainedRows int64   `json:"trained_rows,omitempty"`
	Lambda      float64 `json:"lambda,omitempty"`
	Score
	Worth   *Worth  `json:"worth,omitempty"`
	Seen    bool    `json:"seen,omitempty"` // the recipe was drawn from some of its files
	tallies []tally // one for each judged unit
}

// Table is a table of results.
type Table struct {
	Title string `json:"title,omitempty"`
	Head  string `json:"head"` // meaning of Row.Name
	Rows  []Row  `json:"rows"`
}

// Answer is the answer to a question.
type Answer struct {
	Question string `json:"question"`
	Asked    string `json:"asked"` // the question in words
	Facts    `json:"sums"`
	By       string  `json:"lambda_by"` // how λ was chosen
	Judged   string  `json:"judged,omitempty"`
	Tables   []Table `json:"tables"`
	// Verdict is the result of bisect in words, and Found the date that it has found; nil if none.
	Verdict string `json:"verdict,omitempty"`
	Found   *Found `json:"found,omitempty"`
	// Window and HalfLife are the choices of the question window.
	Window   *Forgetting `json:"window,omitempty"`
	HalfLife *Forgetting `json:"half_life,omitempty"`
	Notes    []string    `json:"notes,omitempty"`
}

// Facts describes the sums of an answer.
type Facts struct {
	Directories int     `json:"directories"`
	Rows        int64   `json:"rows"`
	Features    int     `json:"features"`
	Fits        int     `json:"fits"`    // training sets, without those that only chose λ
	Measure     string  `json:"measure"` // of errors: mse, brier, or share of the variance
	Seconds     float64 `json:"seconds"`
}

// describe sets the Facts of the answer.
func (a *Answer) describe(d *data, seconds float64) {
	a.Question, a.Notes = d.options.Question, d.notes
	measure := []string{"brier", "mse", "share of the variance"}[min(2, len(d.units.Grid))]
	a.Facts = Facts{len(d.parts), d.total.Added.Rows.Used, d.total.Recipe.Dim, d.fits, measure, seconds}
}

// spanOf describes consecutive units by the names of the first and the last.
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
		t.table(a.Measure).WriteLeft(&b)
		if note := t.seen(); note != "" {
			fmt.Fprintln(&b, note)
		}
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

// table returns the table for people, without columns that are empty in all rows.
func (t *Table) table(measure string) report.Table {
	measure = strings.NewReplacer("mse", "RMSE", "brier", "Brier score").Replace(measure)
	all := report.Table{Caption: t.Title, Head: []string{t.Head, "trained on", "rows", "lambda", "R²", "95% interval",
		measure, "adds to R²", "95% interval", "Shapley"}}
	cell := func(is bool, format string, args ...any) string {
		if !is {
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
			cell(r.Lambda > 0, "%g", r.Lambda), fmt.Sprintf("%.4f", r.R2), r.Interval.String(), fmt.Sprintf("%.5g", r.Error),
			cell(worth, "%+.4f", v.R2), v.Interval.String(),
			cell(v.Shapley != nil, "%.4f", shapley)+cell(v.StdErr > 0, " ± %.4f", v.StdErr))
	}
	return all.Filled()
}

// seen explains the marks of a table, "" if it has none.
func (t *Table) seen() string {
	if slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Seen }) {
		return "* the recipe was drawn from rows of these sums"
	}
	return ""
}

// ends returns the ends of the interval, NaN if there is none.
func (i Interval) ends() (low, high float64) {
	if i.Low == nil {
		return math.NaN(), math.NaN()
	}
	return *i.Low, *i.High
}

// figure returns the plot of the answer.
func (a *Answer) figure() picture.Figure {
	l := picture.Lines{Title: "R² by training rows", X: "rows trained on", Y: "R²", LogX: true}
	b := picture.Bars{Title: "R² by group", X: "R²", Y: a.Tables[len(a.Tables)-1].Head}
	switch a.Question {
	case "backtest":
		l.Title, l.X, l.LogX = "R² by date", "date that was judged", false
	case "window":
		b.Title = "R² in hindsight"
	case "worth":
		b.Title, b.X = "What groups add to R²", "R² of all groups minus R² without the group"
	case "matrix":
		b.Title, b.Y = "R² by pair of groups", "judged, by a model of"
	}
	for k, t := range a.Tables {
		s := picture.Series{Name: t.Title}
		for i, r := range t.Rows {
			switch low, high := r.ends(); {
			case r.Name == totalRow || a.Question == "window" && k == 0 || a.Question == "worth" && r.Worth == nil:
			case a.Question == "worth":
				low, high = r.Worth.ends()
				b.AddInterval(report.Word(r.Name, 30), r.Worth.R2, low, high)
			case a.Question == "backtest":
				l.Names = append(l.Names, r.Name)
				s.AddInterval(float64(i+1), r.R2, low, high)
			case a.Question == "matrix":
				b.AddInterval(report.Word(r.Name, 15)+", "+report.Word(r.Trained, 15), r.R2, low, high)
			default:
				b.AddInterval(report.Word(r.Name, 30), r.R2, low, high)
				s.AddInterval(float64(r.TrainedRows), r.R2, low, high)
			}
		}
		l.Series = append(l.Series, s)
	}
	if slices.Contains([]string{"backtest", "curve", "bisect"}, a.Question) {
		return l
	}
	return b
}

// page returns the answer as a report.
func (a *Answer) page() *page.Page {
	p := &page.Page{Title: strings.ToUpper(a.Asked[:1]) + a.Asked[1:], Headline: a.headline(),
		Lead: fmt.Sprintf("From the sums of %s in %s, with %s.", report.Counted64(a.Rows, "row"),
			report.Counted(a.Directories, "part"), report.Counted(a.Features, "feature"))}
	s := p.Section("Answer")
	s.Say("R² is 1 − squared error / squared error of the mean. Its intervals are bootstraps over the dates or groups "+
		"that are judged; fewer than five have none. Lambda was chosen %s.", a.By)
	if a.Judged != "" {
		s.Say("Models are judged on %s, which none was trained on.", a.Judged)
	}
	for _, t := range a.Tables {
		s.List(t.table(a.Measure))
		if note := t.seen(); note != "" {
			s.Say("%s", note)
		}
	}
	s.Draw(a.figure())
	for _, note := range a.Notes {
		s.Say("%s", note)
	}
	return p
}

// headline returns the verdict, or the R² of all judged rows, of all training rows or of the choice.
func (a *Answer) headline() *page.Headline {
	if a.Verdict != "" {
		h := &page.Headline{Figure: strings.ToUpper(a.Verdict[:1]) + a.Verdict[1:]}
		if a.Found != nil && a.Found.Low != nil {
			h.Range = "95% interval of the difference " + a.Found.Interval.String()
		}
		return h
	}
	of, about := a.Tables[0].Rows[len(a.Tables[0].Rows)-1], "Of all dates or groups that were judged."
	switch a.Question {
	case "curve":
		about = "With all dates to train on."
	case "worth":
		about = "With all groups to train on."
	case "window":
		of, about = a.Tables[0].Rows[1], "If the window is chosen on the dates before each: "+of.Trained+" for the next date."
	case "matrix":
		return nil
	}
	h := &page.Headline{Figure: fmt.Sprintf("R² %.4f", of.R2), About: about}
	if of.Low != nil {
		h.Range = "95% interval " + of.Interval.String()
	}
	return h
}
