package evaluate

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/transforms/scores"
)

// sliceFlag is the name of the flag of slices, for errors.
const sliceFlag = "--slices"

// slicesOf finds columns by name or 1-based position in data that was opened with these options for a model.
// The values of features are read from the rows. One other column can be read as the identifier of rows; the
// data is then opened again.
func slicesOf(ctx context.Context, columns []string, model string, data dataset.Options,
	d *dataset.Dataset) ([]scores.Slice, *dataset.Dataset, error) {
	var all []scores.Slice
	other := ""
	for i, given := range columns {
		if slices.Contains(columns[:i], given) {
			return nil, nil, exit.Usage("%s: column %q is given twice", sliceFlag, given)
		}
		if len(d.Fields) == 0 { // a position
			s, found := featureSlice(d, given)
			if !found {
				return nil, nil, exit.Usage("%s: rows have no column %q; give a position from 1 to %d", sliceFlag, given,
					d.Schema.Dim)
			}
			all = append(all, s)
			continue
		}
		name, err := columnOf(sliceFlag, given, d)
		if err != nil {
			return nil, nil, err
		}
		s, found := featureSlice(d, name)
		switch {
		case found:
			all = append(all, s)
			continue
		case other != "" && other != name:
			return nil, nil, exit.Usage("%s: %q and %q are not features of the model; only one such column can be read",
				sliceFlag, other, name)
		}
		other = name
		all = append(all, scores.Slice{Name: name, Value: -1, Layout: timeLayout(d, name)})
	}
	if other == "" {
		return all, d, nil
	}
	data.ID = other
	d, err := reopen(ctx, model, data)
	return all, d, err
}

// columnOf returns the name of a column that a flag gives by name or position.
func columnOf(flag, given string, d *dataset.Dataset) (string, error) {
	if slices.Contains(d.Fields, given) {
		return given, nil
	}
	n, err := strconv.Atoi(given)
	if err != nil {
		return "", exit.Usage("%s: there is no column %q%s; columns are %s", flag, given,
			option.DidYouMean(given, d.Fields), report.SomeOf(d.Fields))
	}
	if n < 0 {
		n += len(d.Fields) + 1
	}
	if n < 1 || n > len(d.Fields) {
		return "", exit.Usage("%s: there is no column %s; the data has %d", flag, given, len(d.Fields))
	}
	return d.Fields[n-1], nil
}

// timeLayout returns the layout of the named column if it has the times of rows, and otherwise "".
func timeLayout(d *dataset.Dataset, name string) string {
	if of, ok := d.Schema.Layout.(dataset.Tabular); ok {
		if t := of.Table(); t.Role(dataset.TimeRole) >= 0 && t.Columns[t.Role(dataset.TimeRole)] == name {
			return t.TimeLayout
		}
	}
	return ""
}

// featureSlice returns the named column if it is a feature.
func featureSlice(d *dataset.Dataset, name string) (s scores.Slice, found bool) {
	s = scores.Slice{Name: name}
	if t := d.Schema.Table; t != nil {
		for i := range t.Columns {
			c := &t.Columns[i]
			if c.Name != name {
				s.Value += c.Width()
				continue
			}
			s.Column = c
			return s, true
		}
		return s, false
	}
	if len(d.Schema.Columns) > 0 {
		s.Value = slices.Index(d.Schema.Columns, name)
	} else {
		n, err := strconv.Atoi(name)
		if err != nil || n < 1 || n > d.Schema.Dim {
			return s, false
		}
		s.Value = n - 1
	}
	if s.Value < 0 {
		return s, false
	}
	if d.Schema.Centre != nil {
		s.Centre = d.Schema.Centre[s.Value]
	}
	return s, true
}

// sliceReports returns the scores for the values of each column, one target after the other.
func sliceReports(columns []scores.Slice, all []score.Slices, m *models.Manifest) (out []score.SliceReport) {
	for i := range all {
		s := all[i].Report(columns[i%len(columns)].Name)
		if len(all) > len(columns) {
			s.Target = (&models.Model{Manifest: m}).Outputs()[i/len(columns)]
		}
		out = append(out, s)
	}
	return out
}

// writeSlices prints the scores for the values of a column.
func writeSlices(w io.Writer, r *score.SliceReport) {
	if r.Many {
		fmt.Fprintf(w, "\ncolumn %s has more than %d values, too many to score each\n", r.Column, score.MaxSlices)
		return
	}
	what := ""
	if r.Target != "" {
		what = r.Target + " "
	}
	fmt.Fprintf(w, "\n%sby %s, %s:\n", what, r.Column, report.Counted(r.Values, "value"))
	SliceTable(r).Write(w)
}

// SliceTable returns a table of the scores for the values of a column.
func SliceTable(r *score.SliceReport) report.Table {
	rows := sliceRows(r)
	number := func(v *float64, format string, unit float64) string {
		if v == nil {
			return "-"
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
		{"R²", "%.4f", 1, false, func(s *score.SliceScore) (v, low, high *float64) { return s.R2, nil, nil }},
	}, func(c column) bool {
		return !slices.ContainsFunc(rows, func(s score.SliceScore) bool { v, _, _ := c.of(&s); return v != nil })
	})
	t := report.Table{Head: []string{r.Column, "rows"}}
	for _, c := range columns {
		if t.Head = append(t.Head, c.head); c.interval {
			t.Head = append(t.Head, "95% interval")
		}
	}
	for i := range rows {
		s := &rows[i]
		line := []string{s.Value, report.Groups(s.Rows)}
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
		rows[i].Value = score.Name(rows[i].Value)
	}
	if r.Others != nil {
		o := *r.Others
		o.Value = report.Counted(r.Values-len(r.Slices), "other value")
		rows = append(rows, o)
	}
	return rows
}
