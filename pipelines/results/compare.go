package results

import (
	"bytes"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/paired"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/results/table"
)

// CompareModels compares two models on the same rows. Differences are the losses of the challenger minus the
// losses of the champion: if they are positive, the challenger is worse.
type CompareModels struct {
	Champion   ComparedModel      `json:"champion"`
	Challenger ComparedModel      `json:"challenger"`
	Rows       RowCounts          `json:"rows"`
	SetAside   []dataset.SetAside `json:"set_aside,omitempty"` // the first unusable rows
	// Weights is set if rows have weights. Means and tests are weighted then, and McNemar's test
	// is replaced by the t test.
	Weights *models.RowWeights `json:"weights,omitempty"`
	// NotFinite counts rows that are left out of the losses because predictions of a model are infinite, NaN or
	// extreme. If there are any, conditions on losses do not hold.
	NotFinite   int64                `json:"not_finite,omitempty"`
	Comparisons []paired.Comparison  `json:"comparisons"`
	Slices      []paired.SliceReport `json:"slices,omitempty"`
	// Groups are the columns that name the groups that tests count.
	Groups []string `json:"groups,omitempty"`
	// RowsNeeded has, for classes, numbers of rows for a test of models that differ as these do.
	RowsNeeded []RowsNeeded     `json:"rows_needed,omitempty"`
	Gate       []paired.Verdict `json:"gate,omitempty"` // one for each condition
}

// Scores returns a table of the comparisons by all metrics.
func (r *CompareModels) Scores() table.Table {
	t := table.Table{Head: append([]string{"score"}, report.ComparedHead...)}
	for _, c := range r.Comparisons {
		t.Add(append([]string{report.MetricNames[c.Metric]}, report.ComparisonCells(c)...)...)
	}
	return t
}

// Needed returns a table of RowsNeeded.
func (r *CompareModels) Needed() table.Table {
	t := table.Table{Head: []string{"percentage points", "rows to show better", "rows to show not worse by as much"}}
	for _, n := range r.RowsNeeded {
		better := "-"
		if n.Better > 0 {
			better = report.Groups(n.Better)
		}
		t.Add(fmt.Sprintf("%g", 100*n.Difference), better, report.Groups(n.NotWorse))
	}
	return t
}

// WriteTo prints the result for people.
func (r *CompareModels) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "champion    %s\nchallenger  %s\nrows        %s\n", r.Champion.Model, r.Challenger.Model, r.Rows)
	report.WriteSetAside(&b, r.SetAside)
	if r.Weights != nil {
		fmt.Fprintln(&b, report.RowWeightsText(r.Weights))
	}
	if r.Champion.SHA256 == r.Challenger.SHA256 {
		fmt.Fprintln(&b, "the two models are the same")
	}
	for _, m := range []struct {
		role string
		ComparedModel
	}{{"champion", r.Champion}, {"challenger", r.Challenger}} {
		if m.Rule != "" {
			fmt.Fprintf(&b, "the %s decides by %s\n", m.role, m.Rule)
		}
		if len(m.UnseenLabels) > 0 {
			fmt.Fprintf(&b, "labels that are not classes of %s: %s\n", m.Model, UnseenText(m.UnseenLabels))
		}
	}
	if len(r.Groups) > 0 {
		fmt.Fprintf(&b, "groups      %s\n", report.TestedGroupsText(r.Groups))
	}
	if r.NotFinite > 0 {
		fmt.Fprintln(&b, report.WithoutLossText(r.NotFinite))
	}
	r.writeComparisons(&b)
	for i := range r.Slices {
		report.WriteComparedSlices(&b, &r.Slices[i])
	}
	for i, v := range r.Gate {
		if i == 0 {
			b.WriteString("\n")
		}
		if v.Holds {
			fmt.Fprintf(&b, "passed      %s (p %.2g)\n", v.Condition, v.P)
		} else {
			fmt.Fprintf(&b, "not passed  %s: %s\n", v.Condition, v.Why)
		}
	}
	return b.WriteTo(w)
}

// writeComparisons prints the comparisons of all rows.
func (r *CompareModels) writeComparisons(b *bytes.Buffer) {
	b.WriteString("\n")
	r.Scores().Write(b)
	b.WriteString("\n")
	for _, note := range report.RoughComparisons(r.Comparisons) {
		fmt.Fprintln(b, note)
	}
	first := r.Comparisons[0]
	if p := first.Pairs; p != nil {
		fmt.Fprintf(b, "only the champion is wrong on %s, only the challenger on %s, both on %s\n",
			report.Counted64(p.Champion, "row"), report.Counted64(p.Challenger, "row"), report.Groups(p.Both))
	}
	if first.Detectable != nil {
		unit := ""
		if first.Metric == paired.Error {
			unit = " percentage points"
		}
		fmt.Fprintf(b, "an improvement of %s%s is shown on as many rows with probability 80%%, at a confidence of 95%%\n",
			report.MetricText(first.Metric, *first.Detectable), unit)
	}
	if len(r.RowsNeeded) > 0 {
		fmt.Fprintf(b, "\nrows that a test needs, for models that differ on %.3g%% of the rows:\n",
			100*first.Pairs.Discordance())
		r.Needed().Write(b)
	}
}

// ComparedModel describes one of the two models.
type ComparedModel struct {
	Model  string `json:"model"`
	SHA256 string `json:"model_sha256"` // of its manifest
	// Rule describes how the model assigns classes; "" for the largest score or probability.
	Rule string `json:"rule,omitempty"`
	// UnseenLabels are labels that are not classes of the model. They count as errors.
	UnseenLabels []UnseenLabel `json:"unseen_labels,omitempty"`
}

// RowsNeeded holds the numbers of rows that a test needs to detect a difference of error rates with confidence
// 95% and a power of 80%.
type RowsNeeded struct {
	Difference float64 `json:"difference"`
	// Better is for the condition "better at 95%", if the challenger is better by Difference. It is 0 if the
	// models disagree on too few rows to differ by that much.
	Better int64 `json:"better,omitempty"`
	// NotWorse is for the condition "not worse by" Difference, if the challenger is as good.
	NotWorse int64 `json:"not_worse"`
}
