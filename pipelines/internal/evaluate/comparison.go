package evaluate

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/paired"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// MetricNames has the names of metrics in tables. Shares are in percent.
var MetricNames = map[paired.Metric]string{
	paired.Error: "error, %", paired.LogLoss: "log loss", paired.Brier: "Brier score",
	paired.MSE: "MSE", paired.RMSE: "RMSE", paired.MAE: "MAE",
}

// metricText formats a value of the metric, with a sign if signed is set.
func metricText(m paired.Metric, v float64, signed bool) string {
	format := "%.6g"
	switch {
	case m == paired.Error:
		format, v = "%.3f", 100*v
	case m == paired.LogLoss || m == paired.Brier:
		format = "%.5f"
	}
	if signed {
		format = "%+" + format[1:]
	}
	return fmt.Sprintf(format, v)
}

// comparedHead has the headings of ComparisonCells.
var comparedHead = []string{"champion", "challenger", "difference", "95% interval", "p"}

// ComparisonCells returns a comparison as cells of a table.
func ComparisonCells(c paired.Comparison) []string {
	interval, p := "-", "-"
	if c.Low != nil {
		interval = metricText(c.Metric, *c.Low, true) + " to " + metricText(c.Metric, *c.High, true)
	}
	if c.TooFew == "" {
		p = fmt.Sprintf("%.2g", c.P)
	}
	return []string{metricText(c.Metric, c.Champion, false), metricText(c.Metric, c.Challenger, false),
		metricText(c.Metric, c.Difference, true), interval, p}
}

// Scores returns a table of the comparisons by all metrics.
func (r *ModelComparison) Scores() report.Table {
	t := report.Table{Head: append([]string{"score"}, comparedHead...)}
	for _, c := range r.Comparisons {
		t.Add(append([]string{MetricNames[c.Metric]}, ComparisonCells(c)...)...)
	}
	return t
}

// Needed returns a table of RowsNeeded.
func (r *ModelComparison) Needed() report.Table {
	t := report.Table{Head: []string{"percentage points", "rows to show better", "rows to show not worse by as much"}}
	for _, n := range r.RowsNeeded {
		better := "-"
		if n.Better > 0 {
			better = report.Groups(n.Better)
		}
		t.Add(fmt.Sprintf("%g", 100*n.Difference), better, report.Groups(n.NotWorse))
	}
	return t
}

// ComparedSlices returns a table of the comparisons for the values of a column.
func ComparedSlices(r *paired.SliceReport) report.Table {
	t := report.Table{Head: append([]string{r.Column, "rows"}, comparedHead...)}
	for _, s := range r.Slices {
		c := s.Comparison
		c.P = s.Adjusted
		t.Add(append([]string{score.Name(s.Value), report.Groups(s.Rows)}, ComparisonCells(c)...)...)
	}
	return t
}

// WriteTo prints the result for people.
func (r *ModelComparison) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "champion    %s\nchallenger  %s\nrows        %s\n", r.Champion.Model, r.Challenger.Model, r.Rows)
	report.WriteSetAside(&b, r.SetAside)
	if r.Weights != nil {
		writeWeights(&b, r.Weights)
	}
	if r.Champion.SHA256 == r.Challenger.SHA256 {
		fmt.Fprintln(&b, "the two models are the same")
	}
	for i, m := range []ComparedModel{r.Champion, r.Challenger} {
		if m.Rule != "" {
			fmt.Fprintf(&b, "the %s decides by %s\n", []string{"champion", "challenger"}[i], m.Rule)
		}
		if len(m.UnseenLabels) > 0 {
			fmt.Fprintf(&b, "labels that are not classes of %s: %s\n", m.Model, someUnseen(m.UnseenLabels))
		}
	}
	if len(r.Groups) > 0 {
		fmt.Fprintf(&b, "groups      %s: tests count groups, whose rows depend on each other\n", strings.Join(r.Groups, ", "))
	}
	if r.NotFinite > 0 {
		fmt.Fprintf(&b, "%s without finite predictions are left out of the losses\n", report.Counted64(r.NotFinite, "row"))
	}
	b.WriteString("\n")
	r.Scores().Write(&b)
	b.WriteString("\n")
	for i, c := range r.Comparisons {
		if c.TooFew != "" && (i == 0 || r.Comparisons[i-1].TooFew != c.TooFew) {
			fmt.Fprintf(&b, "no interval and no p: %s\n", c.TooFew)
		}
		if c.Rough != "" {
			fmt.Fprintf(&b, "p and interval of %s are rough: %s\n", MetricNames[c.Metric], c.Rough)
		}
	}
	first := r.Comparisons[0]
	if p := first.Pairs; p != nil {
		fmt.Fprintf(&b, "only the champion is wrong on %s, only the challenger on %s, both on %s\n",
			report.Counted64(p.Champion, "row"), report.Counted64(p.Challenger, "row"), report.Groups(p.Both))
	}
	if first.Detectable != nil {
		unit := ""
		if first.Metric == paired.Error {
			unit = " percentage points"
		}
		fmt.Fprintf(&b, "an improvement of %s%s is shown on as many rows with probability 80%%, at a confidence of 95%%\n",
			metricText(first.Metric, *first.Detectable, false), unit)
	}
	if len(r.RowsNeeded) > 0 {
		fmt.Fprintf(&b, "\nrows that a test needs, for models that differ on %.3g%% of the rows:\n",
			100*first.Pairs.Discordance())
		r.Needed().Write(&b)
	}
	for i := range r.Slices {
		writeComparedSlices(&b, &r.Slices[i])
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

// writeComparedSlices prints the comparisons for the values of a column.
func writeComparedSlices(w io.Writer, r *paired.SliceReport) {
	if r.Many {
		fmt.Fprintf(w, "\ncolumn %s has more than %d values, too many to compare each\n", r.Column, score.MaxSlices)
		return
	}
	values := report.Counted(r.Values, "value")
	if n := len(r.Slices); n < r.Values {
		values = fmt.Sprintf("the %d with the most rows of %s", n, values)
	}
	fmt.Fprintf(w, "\n%s by %s, %s; p-values are adjusted for their number (Holm):\n", MetricNames[r.Metric], r.Column,
		values)
	ComparedSlices(r).Write(w)
	few := slices.ContainsFunc(r.Slices, func(s paired.SliceComparison) bool { return s.TooFew != "" })
	if few {
		fmt.Fprintf(w, "values with fewer than %d rows or groups of equal size have no interval and no p\n",
			score.LeastMeanRows)
	}
}

// ParseConditions parses the conditions of a flag on the difference of two models, separated by commas.
func ParseConditions(flag, text string) ([]paired.Condition, error) {
	return parseAll(text, func(one string) (paired.Condition, error) {
		c, err := paired.ParseCondition(one)
		if err != nil {
			err = exit.Usage("--%s: %w", flag, err)
		}
		return c, err
	})
}

// parseAll parses the elements of a list separated by commas. It returns nil for the empty text.
func parseAll[T any](text string, parse func(string) (T, error)) (all []T, err error) {
	if text == "" {
		return nil, nil
	}
	for _, one := range strings.Split(text, ",") {
		v, err := parse(one)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// FitConditions parses the conditions of a flag for two models. It returns an error if the models are not
// compared by a metric of a condition.
func FitConditions(flag, text string, champion, challenger *models.Manifest) ([]paired.Condition, error) {
	all, err := ParseConditions(flag, text)
	if err != nil {
		return nil, err
	}
	s := paired.NewSum(false, metrics(champion, challenger)...)
	for i, c := range all {
		if all[i], err = s.Fit(c); err != nil {
			return nil, exit.Usage("--%s: %w", flag, err)
		}
	}
	return all, nil
}

// metrics returns the metrics by which two models of the same task are compared.
func metrics(champion, challenger *models.Manifest) []paired.Metric {
	switch {
	case champion.Task == models.Regression:
		return []paired.Metric{paired.MSE, paired.MAE}
	case champion.Probabilities != nil && challenger.Probabilities != nil:
		return []paired.Metric{paired.Error, paired.LogLoss, paired.Brier}
	}
	return []paired.Metric{paired.Error}
}
