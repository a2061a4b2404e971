package pages

import (
	"context"
	"fmt"
	"path"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/paired"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/internal/evaluate"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/report/page"
)

// comparedHead are the heads of the cells of a comparison.
var comparedHead = []string{"champion", "challenger", "difference", "95% interval", "p"}

// compared is a comparison with its page.
type compared struct{ *evaluate.ModelComparison }

// CompareModels is evaluate.CompareModels, and writes the report that its options ask for.
func CompareModels(ctx context.Context, o evaluate.CompareModelsOptions) (*evaluate.ModelComparison, error) {
	r, err := evaluate.CompareModels(ctx, o)
	if o.Report == "" || !judged(err) {
		return r, err
	}
	data, failed := compared{r}.page().HTML()
	if failed == nil {
		failed = storage.WriteFile(ctx, o.Report, data)
	}
	if failed != nil {
		return nil, failed
	}
	return r, err
}

// page returns the report on the comparison.
func (r compared) page() *page.Page {
	p := &page.Page{Title: "Comparison of two models",
		Lead: fmt.Sprintf("On %s. Differences are the challenger's figures minus the champion's: below 0, the challenger "+
			"is better.",
			report.Counted64(r.Rows.Used, "labelled row"))}
	first := r.Comparisons[0]
	cells := evaluate.ComparisonCells(first)
	p.Headline = &page.Headline{Figure: verdictOf(first), Range: fmt.Sprintf("Difference in %s: %s, 95%% interval %s, p %s",
		evaluate.MetricNames[first.Metric], cells[2], cells[3], cells[4]), About: first.TooFew + first.Rough}
	s := p.Section("Models")
	t := page.Table{Head: []string{"role", "model", "SHA-256 of the manifest", "decides by"}}
	for i, m := range []evaluate.ComparedModel{r.Champion, r.Challenger} {
		t.Add([]string{"champion", "challenger"}[i], path.Base(m.Model), m.SHA256, m.Rule)
	}
	s.List(t)
	s = p.Section("Scores on the same rows")
	t = page.Table{Head: append([]string{"score"}, comparedHead...)}
	for _, c := range r.Comparisons {
		t.Rows = append(t.Rows, append([]string{evaluate.MetricNames[c.Metric]}, evaluate.ComparisonCells(c)...))
	}
	s.List(t)
	if x := first.Pairs; x != nil {
		s.Say("Only the champion is wrong on %s, only the challenger on %s, both on %s.",
			report.Counted64(x.Champion, "row"), report.Counted64(x.Challenger, "row"), report.Groups(x.Both))
	}
	for i := range r.Comparisons {
		if chart, ok := differences(r.Comparisons[i], nil, "all rows"); ok {
			s.Draw(chart)
		}
	}
	for i := range r.Slices {
		r.addComparedSlices(p, &r.Slices[i])
	}
	if len(r.Gate) > 0 {
		t := page.Table{Head: []string{"condition", "passed", "p", "why"}}
		for _, v := range r.Gate {
			t.Add(v.Condition, map[bool]string{true: "yes", false: "no"}[v.Holds], fmt.Sprintf("%.2g", v.P), v.Why)
		}
		p.Section("Gate").List(t)
	}
	if len(r.RowsNeeded) > 0 {
		t := page.Table{Head: []string{"percentage points", "rows to show better", "rows to show not worse by as much"}}
		for _, n := range r.RowsNeeded {
			better := "-"
			if n.Better > 0 {
				better = report.Groups(n.Better)
			}
			t.Add(fmt.Sprintf("%g", 100*n.Difference), better, report.Groups(n.NotWorse))
		}
		s := p.Section("Rows that a test needs")
		s.Say("With probability 80%%, at a confidence of 95%%, for models that differ on as many rows as these.")
		s.List(t)
	}
	return p
}

// verdictOf says what an interval shows.
func verdictOf(c paired.Comparison) string {
	switch {
	case c.Low == nil:
		return "Too few rows to tell"
	case *c.High < 0:
		return "The challenger is better"
	case *c.Low > 0:
		return "The champion is better"
	}
	return "No difference is shown"
}

// addComparedSlices lists and draws the comparisons of the values of a column.
func (r compared) addComparedSlices(p *page.Page, of *paired.SliceReport) {
	s := p.Section("By " + report.Word(of.Column, 60))
	if of.Many {
		s.Say("The column has more than %d values, too many to compare each.", score.MaxSlices)
		return
	}
	t := page.Table{Caption: evaluate.MetricNames[of.Metric] + "; p-values are adjusted for their number (Holm)",
		Head: append([]string{of.Column, "rows"}, comparedHead...)}
	for _, x := range of.Slices {
		c := x.Comparison
		c.P = x.Adjusted
		t.Rows = append(t.Rows, append([]string{score.Name(x.Value), report.Groups(x.Rows)}, evaluate.ComparisonCells(c)...))
	}
	s.List(t)
	if chart, ok := differences(r.Comparisons[0], of.Slices, "all rows"); ok && len(of.Slices) > 0 &&
		of.Metric == r.Comparisons[0].Metric {
		s.Draw(chart)
	}
}

// differences draws the difference of a score on all rows and on those with each value, with intervals.
func differences(all paired.Comparison, by []paired.SliceComparison, name string) (page.Chart, bool) {
	unit := 1.0
	if all.Metric == paired.Error {
		unit = 100
	}
	title := "Difference in " + evaluate.MetricNames[all.Metric]
	b := picture.Bars{Title: title, X: "challenger minus champion, " + evaluate.MetricNames[all.Metric] +
		", with 95% intervals"}
	t := page.Table{Head: []string{"rows", "difference", "95% interval"}}
	add := func(name string, c paired.Comparison) {
		if c.Low == nil {
			return
		}
		cells := evaluate.ComparisonCells(c)
		t.Add(name, cells[2], cells[3])
		b.Names, b.Values = append(b.Names, report.Word(name, 20)), append(b.Values, unit*c.Difference)
		b.Low, b.High = append(b.Low, unit**c.Low), append(b.High, unit**c.High)
	}
	add(name, all)
	for _, x := range by[:min(len(by), 20)] {
		add(score.Name(x.Value), x.Comparison)
	}
	if len(b.Names) == 0 {
		return page.Chart{}, false
	}
	chart, err := b.Plot()
	return page.Chart{Drawer: chart, Title: title, Height: 2.2 + 0.5*float64(len(b.Names)), Table: t,
		About: "Bars of differences with intervals"}, err == nil
}
