package dataset

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/io/schema"
)

// Described returns the fields that a sink gets when it describes columns, in the order of its
// columns: the features, then the labels, the weight, the id and the time, if there are any.
func (l *TableLayout) Described() []int {
	fields := slices.Concat(l.Features, l.Labels())
	for _, role := range []schema.Role{schema.Weight, schema.ID, schema.When} {
		if f := l.Role(role); f >= 0 {
			fields = append(fields, f)
		}
	}
	return fields
}

// Described is a column that TableLayout.Described lists. The Role of a feature is "".
type Described struct {
	Name    string
	Role    schema.Role
	Feature int // index of a feature, −1 for other columns
}

// DescribedBy returns the columns of a dataset as a sink describes them; nil if the format has no columns.
func DescribedBy(d *Dataset) (columns []Described) {
	tabular, ok := d.Schema.Layout.(Tabular)
	if !ok {
		return nil
	}
	l := tabular.Table()
	for i, f := range l.Described() {
		c := Described{Name: l.Columns[f], Feature: -1}
		switch {
		case i < len(l.Features):
			c.Feature = i
		case l.isLabel(f):
			c.Role = schema.Label
		default:
			c.Role = roles[slices.IndexFunc(roles, func(role schema.Role) bool { return l.Role(role) == f })]
		}
		columns = append(columns, c)
	}
	return columns
}

// RoleName returns the name of the column that has a role in a dataset; "" if there is none.
func RoleName(d *Dataset, role schema.Role) string {
	if tabular, ok := d.Schema.Layout.(Tabular); ok {
		if l := tabular.Table(); l.Role(role) >= 0 {
			return l.Columns[l.Role(role)]
		}
	}
	return ""
}

// KeepFeatures drops all features but those with the given ascending indices, if the format has columns.
func KeepFeatures(d *Dataset, features []int) {
	if len(features) == len(d.Schema.Layout.(Tabular).Table().Features) {
		return
	}
	changeLayouts(d, func(t *TableLayout) {
		all := t.Features
		t.Features = nil
		for _, i := range features {
			t.Features = append(t.Features, all[i])
		}
	})
	d.Schema.Dim = len(features)
	if t := d.Schema.Layout.(Tabular); t.Named() {
		d.Schema.Columns = t.Table().Names()
	}
}

// SetTimeLayout sets the layout of the time column of a dataset whose format has columns.
func SetTimeLayout(d *Dataset, name string) {
	if d.Key != nil && d.Key.By == schema.When {
		d.Key = &schema.Key{By: schema.When, Columns: d.Key.Columns, Layout: name}
	}
	changeLayouts(d, func(t *TableLayout) { t.TimeLayout = name })
}

// changeLayouts replaces the layouts of the dataset and its files by changed copies.
func changeLayouts(d *Dataset, to func(t *TableLayout)) {
	changed := func(l Layout) Layout {
		o, ok := l.(Tabular)
		if !ok {
			return l
		}
		t := *o.Table()
		to(&t)
		return o.With(t)
	}
	d.Schema.Layout = changed(d.Schema.Layout)
	for i := range d.Files {
		d.Files[i].Layout = changed(d.Files[i].Layout)
	}
}

// FindColumns returns the indices, into the result of DescribedBy, of columns given by name, position or pattern. A
// column that is not described, such as a dropped one, is skipped if a pattern matches it, and otherwise an error.
func FindColumns(d *Dataset, what string, given []string) (columns []int, err error) {
	tabular, ok := d.Schema.Layout.(Tabular)
	if !ok {
		return nil, fmt.Errorf("%s: %s data have no columns", what, d.Schema.Format)
	}
	l := tabular.Table()
	at := make(map[int]int)
	for i, f := range l.Described() {
		at[f] = i
	}
	p := newColumnFinder(l.Columns)
	p.named = tabular.Named()
	p.stored = len(l.Stored())
	for _, text := range given {
		fields, pattern, err := p.all(what, text)
		if err != nil {
			return nil, err
		}
		for _, f := range fields {
			i, ok := at[f]
			switch {
			case ok:
				columns = append(columns, i)
			case !pattern:
				return nil, fmt.Errorf("%s: column %s is not used", what, Quote(l.Columns[f]))
			}
		}
	}
	return columns, nil
}
