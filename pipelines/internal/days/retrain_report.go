package days

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/pages"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// fromLineage sets the days that a model is trained on, the rows that judge it, and why its recipe was drawn.
func (r *retrainRun) fromLineage(l *registry.Lineage) {
	to := r.report
	to.Partitions, to.Redrawn = len(l.Sources), l.Redrawn
	if len(l.Sources) > 0 {
		to.First, to.Last = l.Sources[0].Name, l.Sources[len(l.Sources)-1].Name
	}
	if l.HeldOut != nil {
		to.HeldOut = l.HeldOut.Name
	}
}

// outcomeError returns the outcome as an error, nil if a model was promoted.
func outcomeError(r *results.Retrain) error {
	text := fmt.Sprintf("retrain: %s: %s: %s", r.Day, r.Outcome, r.Why)
	switch r.Outcome {
	case results.Kept:
		return &exit.GateError{Message: text}
	case results.Refused, results.Nothing, results.Lost:
		return &exit.OutcomeError{Code: exitCode(r), Message: text}
	}
	return nil
}

func exitCode(r *results.Retrain) exit.Code {
	return map[results.Outcome]exit.Code{results.Kept: exit.CodeGate, results.Refused: exit.CodeRefused,
		results.Nothing: exit.CodeNothing, results.Lost: exit.CodeLost}[r.Outcome]
}

// reportPage returns the report as a page, with the comparison of the models, if any. It leaves out times and the
// directory of the models.
func reportPage(r *results.Retrain, compared *results.CompareModels) *report.Page {
	p := &report.Page{Title: "Retraining for " + r.Day,
		Headline: &report.Headline{Figure: "Outcome: " + string(r.Outcome), About: r.Why}}
	p.Section("Models and data").List(r.Facts().Table)
	p.Section("Gates").List(r.GateTable())
	addDrift(r, p)
	if compared != nil {
		pages.AddComparison(p, compared)
	}
	s := p.Section("Notes")
	for _, note := range r.Notes {
		s.Sayf("%s", note)
	}
	return p
}

// addDrift adds the drift of the rows of days.
func addDrift(r *results.Retrain, p *report.Page) {
	s := p.Section("Drift")
	if r.Drift != nil {
		s.Sayf("All rows, from those of the recipe: %s.", r.Drift.Text)
	}
	var t report.Table
	b := picture.Bars{Title: "Largest drift of a column by day", X: "distance that is certain, from 0 to 1", Y: "day"}
	for _, m := range slices.Backward(r.Drifts) { // the newest first
		largest := 0.0
		report.AddDrift(&t, m.Day, m.Columns)
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
