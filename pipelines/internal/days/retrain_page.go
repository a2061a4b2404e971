package days

import (
	"slices"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/pipelines/internal/pages"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/report/page"
)

// page returns the report as a page, without times and without the directory of the models.
func (r *RetrainReport) page() *page.Page {
	p := &page.Page{Title: "Retraining for " + r.Day,
		Headline: &page.Headline{Figure: "Outcome: " + string(r.Outcome), About: r.Why}}
	p.Section("Models and data").List(r.facts().Table)
	p.Section("Gates").List(r.gates())
	r.addDrift(p)
	if r.compared != nil {
		pages.AddComparison(p, r.compared)
	}
	s := p.Section("Notes")
	for _, note := range r.Notes {
		s.Say("%s", note)
	}
	return p
}

// addDrift adds the drift of the rows of days.
func (r *RetrainReport) addDrift(p *page.Page) {
	s := p.Section("Drift")
	if r.Drift != nil {
		s.Say("All rows, from those of the recipe: %.3g, %s.", r.Drift.Value, r.Drift.Text)
	}
	var t report.Table
	b := picture.Bars{Title: "Largest drift of a column by day", X: "distance that is certain, from 0 to 1", Y: "day"}
	for _, m := range slices.Backward(r.Drifts) { // the newest first
		largest := 0.0
		t.AddDrift(m.Day, m.Columns)
		for _, c := range m.Columns {
			largest = max(largest, c.AtLeast)
		}
		if len(b.Names) < 30 {
			b.Add(m.Day, largest)
		}
	}
	if len(t.Rows) > 0 {
		s.List(t)
		s.Draw(b)
	}
}
