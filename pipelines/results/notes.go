package results

import (
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// Notes says for a report how rows count, and which of them are left out of some scores.
func (r *Evaluate) Notes() (notes []string) {
	notes = r.ScoredRows.notes()
	if r.Groups != nil {
		notes = append(notes, r.groupsText())
	}
	if len(r.UnseenLabels) > 0 {
		notes = append(notes, r.Unseen.text())
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
	if r.Probabilities != nil {
		notes = append(notes, r.Probabilities.notes()...)
	}
	for i := range r.Intervals {
		if text := r.Intervals[i].leftOut(); text != "" {
			of := ""
			if name := r.Intervals[i].Target; name != "" {
				of = " of " + name
			}
			notes = append(notes, "coverage"+of+": "+text)
		}
	}
	return notes
}

// notes says how many rows were set aside, and how weights count.
func (r *ScoredRows) notes() (notes []string) {
	if r.Rows.SetAside > 0 || r.Rows.Without() != "" {
		notes = append(notes, "rows: "+r.Rows.String())
	}
	if r.Weights != nil {
		notes = append(notes, report.RowWeightsText(r.Weights))
	}
	return notes
}

// groupsText says what groups do to intervals.
func (r *Evaluate) groupsText() string {
	return fmt.Sprintf("groups of column %s: intervals are for %s", strings.Join(r.Groups, ", "),
		report.Counted64(int64(r.Independent), "independent row"))
}

// text lists the labels.
func (u *Unseen) text() string {
	return "labels that are not classes of the model: " + UnseenText(u.UnseenLabels) + report.Prefixed("; ", u.UnseenHint)
}

// targetNotes says which predictions of a target are not finite or far away.
func targetNotes(name string, t *score.TargetReport) (notes []string) {
	if t.OutOfRange != nil {
		notes = append(notes, name+": "+t.OutOfRange.Text(t.Rows))
	}
	if t.NotFinite > 0 {
		notes = append(notes, notFiniteText(name, t.NotFinite))
	}
	return notes
}

// notFiniteText counts the rows without a finite prediction of a target.
func notFiniteText(target string, rows int64) string {
	return fmt.Sprintf("%s rows have no finite prediction of %s, and are left out", report.Groups(rows), target)
}

// notes says which rows count by another probability, or not at all.
func (r *ProbabilityReport) notes() (notes []string) {
	if r.Floored > 0 {
		notes = append(notes, fmt.Sprintf("the classes of %s have a probability below %g, which counts as %[2]g in the log loss",
			report.Counted64(r.Floored, "row"), r.Floor))
	}
	if r.NotFinite > 0 {
		notes = append(notes, report.Groups(r.NotFinite)+" rows without finite scores are excluded")
	}
	return notes
}

// leftOut counts the rows without a finite interval; "" if there are none.
func (i *IntervalReport) leftOut() string {
	if i.NotFinite == 0 {
		return ""
	}
	return fmt.Sprintf("left out: %s without a finite interval", report.Counted64(i.NotFinite, "row"))
}

// Notes says for a report how rows count, which of them are left out, and which figures are rough.
func (r *CompareModels) Notes() (notes []string) {
	notes = (&ScoredRows{Rows: r.Rows, Weights: r.Weights}).notes()
	if r.Champion.SHA256 == r.Challenger.SHA256 {
		notes = append(notes, "the two models are the same")
	}
	if len(r.Champion.UnseenLabels) > 0 {
		notes = append(notes, r.Champion.unseenText("the champion"))
	}
	if len(r.Challenger.UnseenLabels) > 0 {
		notes = append(notes, r.Challenger.unseenText("the challenger"))
	}
	if len(r.Groups) > 0 {
		notes = append(notes, "groups: "+r.groupsText())
	}
	if r.NotFinite > 0 {
		notes = append(notes, r.notFiniteText())
	}
	return append(notes, r.rough()...)
}

// unseenText lists the labels that are not classes of a model.
func (m *ComparedModel) unseenText(name string) string {
	return fmt.Sprintf("labels that are not classes of %s: %s", name, UnseenText(m.UnseenLabels))
}

// groupsText says what groups do to tests.
func (r *CompareModels) groupsText() string {
	return strings.Join(r.Groups, ", ") + ": tests count groups, whose rows depend on each other"
}

// notFiniteText counts the rows that are left out of the losses.
func (r *CompareModels) notFiniteText() string {
	return report.Counted64(r.NotFinite, "row") + " without finite predictions are left out of the losses"
}

// rough says which comparisons have no test, or a rough one.
func (r *CompareModels) rough() (notes []string) {
	for i, c := range r.Comparisons {
		if c.TooFew != "" && (i == 0 || r.Comparisons[i-1].TooFew != c.TooFew) {
			notes = append(notes, "no interval and no p: "+c.TooFew)
		}
		if c.Rough != "" {
			notes = append(notes, fmt.Sprintf("p and interval of %s are rough: %s", report.MetricNames[c.Metric], c.Rough))
		}
	}
	return notes
}
