package report

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/paired"
	"github.com/bochner-ml/bochner/models/score"
)

// MetricNames holds the names of metrics in tables. Shares are in percent.
var MetricNames = map[paired.Metric]string{
	paired.Error: "error, %", paired.LogLoss: "log loss", paired.Brier: "Brier score",
	paired.MSE: "MSE", paired.RMSE: "RMSE", paired.MAE: "MAE",
}

// MetricText formats a value of the metric.
func MetricText(m paired.Metric, v float64) string { return metricText("%", m, v) }

// differenceText formats a difference of values of the metric, with its sign.
func differenceText(m paired.Metric, v float64) string { return metricText("%+", m, v) }

func metricText(prefix string, m paired.Metric, v float64) string {
	switch {
	case m == paired.Error:
		return fmt.Sprintf(prefix+".3f", 100*v)
	case m == paired.LogLoss || m == paired.Brier:
		return fmt.Sprintf(prefix+".5f", v)
	}
	return fmt.Sprintf(prefix+".6g", v)
}

// ComparedHead holds the headings of ComparisonCells.
var ComparedHead = []string{"champion", "challenger", "difference", "95% interval", "p"}

// ComparisonCells returns a comparison as cells of a table.
func ComparisonCells(c paired.Comparison) []string {
	interval, p := "-", "-"
	if c.Low != nil {
		interval = differenceText(c.Metric, *c.Low) + " to " + differenceText(c.Metric, *c.High)
	}
	if c.TooFew == "" {
		p = fmt.Sprintf("%.2g", c.P)
	}
	return []string{MetricText(c.Metric, c.Champion), MetricText(c.Metric, c.Challenger),
		differenceText(c.Metric, c.Difference), interval, p}
}

// ComparedSlices returns a table of the comparisons for the values of a column.
func ComparedSlices(r *paired.SliceReport) Table {
	t := Table{Head: append([]string{r.Column, "rows"}, ComparedHead...)}
	for _, s := range r.Slices {
		c := s.Comparison
		c.P = s.Adjusted
		t.Add(append([]string{score.DisplayName(s.Value), Groups(s.Rows)}, ComparisonCells(c)...)...)
	}
	return t
}

// SliceTable returns a table of the scores for the values of a column.
func SliceTable(r *score.SliceReport) Table {
	rows := sliceRows(r)
	number := func(v *float64, format string, unit float64) string {
		if v == nil {
			return "-"
		}
		if format == "" {
			return Decimals(unit * (*v))
		}
		return fmt.Sprintf(format, unit*(*v))
	}
	type figure func(*score.SliceScore) (v, low, high *float64)
	type column struct {
		head, format string
		unit         float64
		interval     bool
		of           figure
	}
	columns := slices.DeleteFunc([]column{
		{"error, %", "%.2f", 100, true, func(s *score.SliceScore) (v, low, high *float64) {
			return s.Error, s.ErrorLow, s.ErrorHigh
		}},
		{"balanced accuracy, %", "%.2f", 100, true, func(s *score.SliceScore) (v, low, high *float64) {
			return s.BalancedAccuracy, s.BalancedLow, s.BalancedHigh
		}},
		{"AUC", "%.4f", 1, true, func(s *score.SliceScore) (v, low, high *float64) { return s.AUC, s.AUCLow, s.AUCHigh }},
		{"log loss", "%.4f", 1, false, func(s *score.SliceScore) (v, low, high *float64) { return s.LogLoss, nil, nil }},
		{"MAE", "%.6g", 1, true, func(s *score.SliceScore) (v, low, high *float64) { return s.MAE, s.MAELow, s.MAEHigh }},
		{"RMSE", "%.6g", 1, false, func(s *score.SliceScore) (v, low, high *float64) { return s.RMSE, nil, nil }},
		{"90% within", "%.6g", 1, false, func(s *score.SliceScore) (v, low, high *float64) { return s.P90, nil, nil }},
		{"R²", "", 1, false, func(s *score.SliceScore) (v, low, high *float64) { return s.R2, nil, nil }},
	}, func(c column) bool {
		return !slices.ContainsFunc(rows, func(s score.SliceScore) bool { v, _, _ := c.of(&s); return v != nil })
	})
	t := Table{Head: []string{r.Column, "rows"}}
	for _, c := range columns {
		t.Head = append(t.Head, c.head)
		if c.interval {
			t.Head = append(t.Head, "95% interval")
		}
	}
	for i := range rows {
		s := &rows[i]
		line := []string{s.Value, Groups(s.Rows)}
		for _, c := range columns {
			v, low, high := c.of(s)
			line = append(line, number(v, c.format, c.unit))
			switch {
			case c.interval && low == nil:
				line = append(line, "-")
			case c.interval:
				line = append(line, number(low, c.format, c.unit)+" to "+number(high, c.format, c.unit))
			}
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// sliceRows returns the scores for values with names, followed by the scores for all other values.
func sliceRows(r *score.SliceReport) []score.SliceScore {
	rows := slices.Clone(r.Slices)
	for i := range rows {
		rows[i].Value = score.DisplayName(rows[i].Value)
	}
	if r.Others != nil {
		o := *r.Others
		o.Value = Counted(r.Values-len(r.Slices), "other value")
		rows = append(rows, o)
	}
	return rows
}

// IntervalText formats an interval, "-" if there is none.
func IntervalText(interval *[2]float64) string {
	if interval == nil {
		return "-"
	}
	return picture.Range(interval[0], interval[1], 4)
}

// R2Text formats an R². It is nil if it is not defined for the rows.
func R2Text(r2 *float64) string {
	if r2 == nil {
		return "-"
	}
	return Decimals(*r2)
}

// Decimals formats a number with four decimals, or a large one with four digits.
func Decimals(v float64) string {
	if math.Abs(v) >= 1e6 {
		return fmt.Sprintf("%.4g", v)
	}
	return fmt.Sprintf("%.4f", v)
}

// Prefixed returns text after a separator, or "" if text is empty.
func Prefixed(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// RowWeightsText describes the weights of the rows of an evaluation.
func RowWeightsText(w *models.RowWeights) string {
	if w.Equal() {
		return fmt.Sprintf("weights of column %q are all %.4g: they change nothing", w.Column, w.Max)
	}
	return fmt.Sprintf("weights of column %q from %.4g to %.4g: rates and means are weighted, counts are of rows, intervals "+
		"are those of %s of equal weights", w.Column, w.Min, w.Max, Counted64(int64(w.Effective), "row"))
}

// WriteSlices prints the scores for the values of a column.
func WriteSlices(w io.Writer, r *score.SliceReport) {
	if r.Many {
		fmt.Fprintf(w, "\ncolumn %s has more than %d values, too many to score each\n", r.Column, score.MaxSlices)
		return
	}
	what := ""
	if r.Target != "" {
		what = r.Target + " "
	}
	fmt.Fprintf(w, "\n%sby %s, %s:\n", what, r.Column, Counted(r.Values, "value"))
	SliceTable(r).Write(w)
}

// WriteComparedSlices prints the comparisons for the values of a column.
func WriteComparedSlices(w io.Writer, r *paired.SliceReport) {
	if r.Many {
		fmt.Fprintf(w, "\ncolumn %s has more than %d values, too many to compare each\n", r.Column, score.MaxSlices)
		return
	}
	values := Counted(r.Values, "value")
	if n := len(r.Slices); n < r.Values {
		values = fmt.Sprintf("the %d with the most rows of %s", n, values)
	}
	fmt.Fprintf(w, "\n%s by %s, %s; p-values are adjusted for their number (Holm):\n", MetricNames[r.Metric], r.Column,
		values)
	ComparedSlices(r).Write(w)
	few := slices.ContainsFunc(r.Slices, func(s paired.SliceComparison) bool { return s.TooFew != "" })
	if few {
		fmt.Fprintf(w, "values with fewer than %d rows or groups of equal size have no interval and no p\n",
			score.MinMeanRows)
	}
}
