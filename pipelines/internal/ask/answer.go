package ask

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// results.Ask.By: how λ is chosen.
const (
	byEarlierErrors = "by the errors on the dates judged before, the first by cross-validation"
	byInnerFolds    = "by cross-validation inside each training set"
	byFoldsOnce     = "once, by cross-validation over all that is trained on"
)

const totalRow = "total" // name of the row with the total

// describe sets the Facts of the answer.
func describe(a *results.Ask, d *data, seconds float64) {
	a.Question, a.Notes = d.options.Question, d.notes
	measure := "share of the variance"
	switch len(d.units.Grid) {
	case 0:
		measure = "brier"
	case 1:
		measure = "mse"
	}
	a.AnswerFacts = results.AnswerFacts{Directories: len(d.parts), Rows: d.total.Added.Rows.Used,
		Features: d.total.Recipe.Dim, Fits: d.fits, Measure: measure, Seconds: seconds}
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

// ends returns the ends of the interval, NaN if there is none.
func ends(i results.Interval) (low, high float64) {
	if i.Low == nil {
		return math.NaN(), math.NaN()
	}
	return *i.Low, *i.High
}

// figure returns the plot of the answer.
func figure(a *results.Ask) picture.Figure {
	l := picture.Lines{Title: "R² by training rows", X: "rows trained on", Y: "R²", LogX: true}
	b := picture.Bars{Title: "R² by group", X: "R²", Y: a.Tables[len(a.Tables)-1].Head}
	switch a.Question {
	case options.QuestionBacktest:
		l.Title, l.X, l.LogX = "R² by date", "date that was judged", false
	case options.QuestionWindow:
		b.Title = "R² in hindsight"
	case options.QuestionWorth:
		b.Title, b.X = "What groups add to R²", "R² of all groups minus R² without the group"
	case options.QuestionMatrix:
		b.Title, b.Y = "R² by pair of groups", "judged, by a model of"
	}
	for k, t := range a.Tables {
		s := picture.Series{Name: t.Title}
		for i, r := range t.Rows {
			switch low, high := ends(r.Score.Interval); {
			case r.R2 == nil || r.Name == totalRow || a.Question == options.QuestionWindow && k == 0 ||
				a.Question == options.QuestionWorth && r.Contribution == nil:
			case a.Question == options.QuestionWorth:
				low, high = ends(r.Contribution.Interval)
				b.AddInterval(report.Word(r.Name, 30), r.Contribution.R2, low, high)
			case a.Question == options.QuestionBacktest:
				l.Names = append(l.Names, r.Name)
				s.AddInterval(float64(i+1), *r.R2, low, high)
			case a.Question == options.QuestionMatrix:
				b.AddInterval(report.Word(r.Name, 15)+", "+report.Word(r.Trained, 15), *r.R2, low, high)
			default:
				b.AddInterval(report.Word(r.Name, 30), *r.R2, low, high)
				s.AddInterval(float64(r.TrainedRows), *r.R2, low, high)
			}
		}
		l.Series = append(l.Series, s)
	}
	if slices.Contains([]options.Question{options.QuestionBacktest, options.QuestionCurve, options.QuestionBisect}, a.Question) {
		return l
	}
	return b
}

// answerPage returns the answer as a report.
func answerPage(a *results.Ask) *report.Page {
	p := &report.Page{Title: strings.ToUpper(a.Asked[:1]) + a.Asked[1:], Headline: headline(a),
		Lead: fmt.Sprintf("From the sums of %s in %s, with %s.", report.Counted64(a.Rows, "row"),
			report.Counted(a.Directories, "part"), report.Counted(a.Features, "feature"))}
	s := p.Section("Answer")
	s.Sayf("R² is 1 − squared error / squared error of the mean. Its intervals are bootstraps over the dates or "+
		"groups that are judged; fewer than five have none. Lambda was chosen %s.", a.By)
	if a.Judged != "" {
		s.Sayf("Models are judged on %s, which none was trained on.", a.Judged)
	}
	for _, t := range a.Tables {
		s.List(t.Table(a.Measure))
		if note := t.Note(); note != "" {
			s.Sayf("%s", note)
		}
	}
	s.Draw(figure(a))
	for _, note := range a.Notes {
		s.Sayf("%s", note)
	}
	return p
}

// headline returns the verdict, or the R² of all judged rows, of all training rows or of the choice.
func headline(a *results.Ask) *report.Headline {
	if a.Verdict != "" {
		h := &report.Headline{Figure: strings.ToUpper(a.Verdict[:1]) + a.Verdict[1:]}
		if a.Found != nil && a.Found.Low != nil {
			h.Range = "95% interval of the difference " + a.Found.Interval.String()
		}
		return h
	}
	row, about := a.Tables[0].Rows[len(a.Tables[0].Rows)-1], "Of all dates or groups that were judged."
	switch a.Question {
	case options.QuestionCurve:
		about = "With all dates to train on."
	case options.QuestionWorth:
		about = "With all groups to train on."
	case options.QuestionWindow:
		row = a.Tables[0].Rows[1]
		about = "If the window is chosen on the dates before each: " + row.Trained + " for the next date."
	case options.QuestionMatrix:
		return nil
	}
	h := &report.Headline{Figure: "R² " + report.R2Text(row.R2), About: about}
	if row.Low != nil {
		h.Range = "95% interval " + row.Interval.String()
	}
	return h
}
