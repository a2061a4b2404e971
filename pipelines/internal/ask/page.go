package ask

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/report/page"
)

// writePage writes the answer as a report.
func (a *Answer) writePage(ctx context.Context, name string) error {
	p := &page.Page{Title: a.Asked, Lead: fmt.Sprintf("Answered by the sums of %s in %s, with %s.",
		report.Counted64(a.Rows, "row"), report.Counted(a.Directories, "part"), report.Counted(a.Features, "feature"))}
	if a.Verdict != "" {
		p.Headline = &page.Headline{Figure: a.Verdict}
	}
	s := p.Section("Answer")
	s.Say("Lambda was chosen %s.", a.By)
	if a.Judged != "" {
		s.Say("Models are judged on %s, which nothing was trained on.", a.Judged)
	}
	var all page.Table
	for _, t := range a.Tables {
		lines, note := t.lines(a.Measure)
		lines = filled(lines)
		table := page.Table{Caption: t.Title, Head: lines[0], Rows: lines[1:]}
		if s.List(table); note != "" {
			s.Say("%s", note)
		}
		if len(lines) > len(all.Rows) {
			all = table
		}
	}
	lines := a.lines()
	if points := len(lines.Series) > 0 && len(lines.Series[len(lines.Series)-1].X) > 1; points {
		chart, err := lines.Plot()
		if err != nil {
			return err
		}
		s.Draw(page.Chart{Drawer: chart, Title: lines.Title, About: "Lines of R² with intervals", Height: 7, Table: all})
	}
	for _, note := range a.Notes {
		s.Say("%s", note)
	}
	data, err := p.HTML()
	if err != nil {
		return err
	}
	return storage.WriteFile(ctx, name, data)
}
