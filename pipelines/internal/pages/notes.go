package pages

import (
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// notes describes how rows count, and names those that are left out of some scores.
func (r evaluation) notes() (notes []string) {
	notes = rowNotes(r.Rows, r.Weights)
	if r.Groups != nil {
		notes = append(notes, report.GroupsText(r.Groups, r.Independent))
	}
	if len(r.UnseenLabels) > 0 {
		notes = append(notes, "labels that are not classes of the model: "+results.UnseenText(r.UnseenLabels)+
			report.Prefixed("; ", r.UnseenHint))
	}
	if c := r.Classes; c != nil && c.Ranking != nil && c.Ranking.NotFinite > 0 {
		notes = append(notes, report.Counted64(c.Ranking.NotFinite, "row")+" without finite scores are not ranked")
	}
	if r.Targets != nil {
		notes = append(notes, targetNotes("the target", r.Targets)...)
	}
	for i := range r.ByTarget {
		notes = append(notes, targetNotes(r.ByTarget[i].Target, &r.ByTarget[i].TargetReport)...)
	}
	if p := r.Probabilities; p != nil {
		notes = append(notes, report.ProbabilityNotes(p.Floored, p.Floor, p.NotFinite)...)
	}
	for _, i := range r.Intervals {
		if i.NotFinite > 0 {
			notes = append(notes, "coverage"+report.Prefixed(" of ", i.Target)+": "+report.WithoutIntervalText(i.NotFinite))
		}
	}
	return notes
}

// rowNotes describes how many rows were set aside, and how weights count.
func rowNotes(rows results.RowCounts, weights *models.RowWeights) (notes []string) {
	if rows.SetAside > 0 || rows.Without() != "" {
		notes = append(notes, "rows: "+rows.String())
	}
	if weights != nil {
		notes = append(notes, report.RowWeightsText(weights))
	}
	return notes
}

// targetNotes counts predictions of a target that are not finite or far away.
func targetNotes(name string, t *score.TargetReport) (notes []string) {
	if t.OutOfRange != nil {
		notes = append(notes, name+": "+t.OutOfRange.Text(t.Rows))
	}
	if t.NotFinite > 0 {
		notes = append(notes, report.NotFiniteText(name, t.NotFinite))
	}
	return notes
}

// comparisonNotes describes how rows count, and names the rows that are left out and the figures that are rough.
func comparisonNotes(r *results.CompareModels) (notes []string) {
	notes = rowNotes(r.Rows, r.Weights)
	if r.Champion.SHA256 == r.Challenger.SHA256 {
		notes = append(notes, "the two models are the same")
	}
	for i, m := range []results.ComparedModel{r.Champion, r.Challenger} {
		if len(m.UnseenLabels) > 0 {
			notes = append(notes, "labels that are not classes of the "+[]string{"champion", "challenger"}[i]+": "+
				results.UnseenText(m.UnseenLabels))
		}
	}
	if len(r.Groups) > 0 {
		notes = append(notes, "groups: "+report.TestedGroupsText(r.Groups))
	}
	if r.NotFinite > 0 {
		notes = append(notes, report.WithoutLossText(r.NotFinite))
	}
	return append(notes, report.RoughComparisons(r.Comparisons)...)
}
