package evaluate

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/apply"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

// slicesFlag is the name of the flag of slices, for errors.
const slicesFlag = "--slices"

// openColumns opens the data again if it must, so that each row has the key of its group and the values of the
// columns of slices.
func (m *openedModel) openColumns(ctx context.Context, groups, columns []string,
	data dataset.Options) ([]scoring.Slice, error) {
	for _, given := range groups {
		if _, err := columnOf("--group_column", given, m.data); err != nil {
			return nil, err
		}
	}
	all, other, err := slicesOf(columns, m.data)
	if err != nil || len(groups) == 0 && other == "" {
		return all, err
	}
	if len(groups) > 0 {
		data.Group, data.Keys = groups, dataset.GroupRole
	}
	data.ID = cmp.Or(other, data.ID)
	if _, m.data, err = apply.OpenForModel(ctx, m.name, data, nil); err != nil {
		return nil, err
	}
	scoring.WithMissing(m.manifest, m.data)
	if m.data.Key != nil {
		m.data.Key.Unnamed = true
	}
	return all, nil
}

// slicesOf finds columns by name or 1-based position. The values of features are read from the rows. One other
// column can be read as the identifier of rows.
func slicesOf(columns []string, d *dataset.Dataset) (all []scoring.Slice, other string, err error) {
	for i, given := range columns {
		if slices.Contains(columns[:i], given) {
			return nil, "", exit.Usagef("%s: column %q is given twice", slicesFlag, given)
		}
		if len(d.Fields) == 0 { // a position
			s, found := featureSlice(d, given)
			if !found {
				return nil, "", exit.Usagef("%s: rows have no column %q; give a position from 1 to %d", slicesFlag, given,
					d.Schema.Dim)
			}
			all = append(all, s)
			continue
		}
		name, err := columnOf(slicesFlag, given, d)
		if err != nil {
			return nil, "", err
		}
		s, found := featureSlice(d, name)
		switch {
		case found:
			all = append(all, s)
			continue
		case other != "" && other != name:
			return nil, "", exit.Usagef("%s: %q and %q are not features of the model; only one such column can be read",
				slicesFlag, other, name)
		}
		other = name
		all = append(all, scoring.Slice{Name: name, Value: -1, Layout: timeLayout(d, name)})
	}
	return all, other, nil
}

// columnOf returns the name of a column that a flag gives by name or position.
func columnOf(flag, given string, d *dataset.Dataset) (string, error) {
	if slices.Contains(d.Fields, given) {
		return given, nil
	}
	n, err := strconv.Atoi(given)
	if err != nil {
		return "", exit.Usagef("%s: there is no column %q%s; columns are %s", flag, given,
			option.DidYouMean(given, d.Fields), report.SomeOf(d.Fields))
	}
	if n < 0 {
		n += len(d.Fields) + 1
	}
	if n < 1 || n > len(d.Fields) {
		return "", exit.Usagef("%s: there is no column %s; the data has %d", flag, given, len(d.Fields))
	}
	return d.Fields[n-1], nil
}

// timeLayout returns the layout of the named column if it has the times of rows, and otherwise "".
func timeLayout(d *dataset.Dataset, name string) string {
	if tabular, ok := d.Schema.Layout.(dataset.Tabular); ok {
		if t := tabular.Table(); t.Role(schema.When) >= 0 && t.Columns[t.Role(schema.When)] == name {
			return t.TimeLayout
		}
	}
	return ""
}

// featureSlice returns the named column if it is a feature.
func featureSlice(d *dataset.Dataset, name string) (s scoring.Slice, found bool) {
	s = scoring.Slice{Name: name}
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
func sliceReports(columns []scoring.Slice, all []score.Slices, m *models.Manifest) (out []score.SliceReport) {
	for i := range all {
		s := all[i].Report(columns[i%len(columns)].Name)
		if len(all) > len(columns) {
			s.Target = (&models.Model{Manifest: m}).Outputs()[i/len(columns)]
		}
		out = append(out, s)
	}
	return out
}
