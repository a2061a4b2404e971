package ask

import (
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/report/page"
)

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
