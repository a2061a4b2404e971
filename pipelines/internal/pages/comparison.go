package pages

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/models/paired"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/evaluate"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// CompareModels calls evaluate.CompareModels, and writes the report that the options ask for.
func CompareModels(ctx context.Context, o options.CompareModels) (*results.CompareModels, error) {
	r, err := evaluate.CompareModels(ctx, o)
	if o.Report == "" || r == nil {
		return r, err
	}
	_, pageErr := write(ctx, comparison(r), o.Report)
	return r, errors.Join(err, exit.AfterPublish("", pageErr))
}

// comparison returns the report on a comparison.
func comparison(r *results.CompareModels) *report.Page {
	p := &report.Page{Title: "Comparison of two models"}
	first := r.Comparisons[0]
	cells := report.ComparisonCells(first)
	p.Headline = &report.Headline{Figure: verdictOf(first), About: first.TooFew + first.Rough,
		Range: fmt.Sprintf("%s %s instead of %s: difference %s, 95%% interval %s, p = %s",
			report.MetricNames[first.Metric], cells[1], cells[0], cells[2], cells[3], cells[4])}
	t := report.Table{Head: []string{"role", "model", "SHA-256 of the manifest", "decides by"}}
	for i, m := range []results.ComparedModel{r.Champion, r.Challenger} {
		t.Add([]string{"champion", "challenger"}[i], path.Base(m.Model), m.SHA256, m.Rule)
	}
	p.Section("Models").List(t.Filled())
	AddComparison(p, r)
	t = report.Table{Head: []string{"condition", "passed", "p", "why"}}
	for _, v := range r.Gate {
		t.Add(v.Condition, report.YesNo(v.Holds), fmt.Sprintf("%.2g", v.P), v.Why)
	}
	p.Section("Gate").List(t.Filled())
	return p
}

// AddComparison adds the scores of two models, for all rows and for slices, and the numbers of rows that tests
// need.
func AddComparison(p *report.Page, r *results.CompareModels) {
	s, first := p.Section("Scores of both models"), r.Comparisons[0]
	s.Sayf("On the same %s. Differences are the challenger's figures minus the champion's: below 0, the challenger is "+
		"better.", report.Counted64(r.Rows.Used, "labelled row"))
	s.List(r.Scores())
	if x := first.Pairs; x != nil {
		s.Sayf("Only the champion is wrong on %s, only the challenger on %s, both on %s.",
			report.Counted64(x.Champion, "row"), report.Counted64(x.Challenger, "row"), report.Groups(x.Both))
	}
	for _, note := range comparisonNotes(r) {
		s.Sayf("%s", note)
	}
	all := picture.Bars{Title: "Differences on all rows", X: "challenger minus champion, % of the champion's figure",
		Y: "score"}
	for _, c := range r.Comparisons {
		if c.Low != nil && c.Champion > 0 {
			unit := 100 / c.Champion
			all.AddInterval(strings.TrimSuffix(report.MetricNames[c.Metric], ", %"), unit*c.Difference, unit**c.Low,
				unit**c.High)
		}
	}
	if len(all.Names) > 0 {
		s.Draw(all)
	}
	for i := range r.Slices {
		addComparedSlices(p, first, &r.Slices[i])
	}
	if len(r.RowsNeeded) > 0 {
		s := p.Section("Rows that a test needs")
		s.Sayf("With probability 80%%, at a confidence of 95%%, for models that differ on %.3g%% of the rows, as these do.",
			100*first.Pairs.Discordance())
		s.List(r.Needed())
	}
}

// verdictOf describes what an interval shows.
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

// maxDifferences is the largest number of values of a column that are drawn.
const maxDifferences = 20

// addComparedSlices lists and draws the comparisons of the values of a column.
func addComparedSlices(p *report.Page, all paired.Comparison, sliced *paired.SliceReport) {
	column := report.Word(sliced.Column, 60)
	s := p.Section("By " + column)
	if sliced.Many {
		s.Sayf("The column has more than %d values, too many to compare each.", score.MaxSlices)
		return
	}
	name, unit := report.MetricNames[sliced.Metric], 1.0
	if sliced.Metric == paired.Error {
		unit = 100
	}
	t := report.ComparedSlices(sliced)
	t.Caption = name + "; p-values are adjusted for their number (Holm)"
	s.List(t)
	b := picture.Bars{Title: "Difference in " + name, X: "challenger minus champion, " + name, Y: column}
	add := func(name string, c paired.Comparison) {
		if c.Low != nil && c.Metric == sliced.Metric {
			b.AddInterval(report.Word(name, 20), unit*c.Difference, unit**c.Low, unit**c.High)
		}
	}
	add("all rows", all)
	for _, x := range sliced.Slices[:min(len(sliced.Slices), maxDifferences)] {
		add(score.DisplayName(x.Value), x.Comparison)
	}
	if len(b.Names) > 1 {
		s.Draw(b)
	}
}
