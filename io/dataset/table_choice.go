package dataset

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
)

// Choice assigns roles to columns. A column is given by name or, if no column has that name,
// by position: 1 is the first, −1 the last.
type Choice struct {
	// Label names one or more labels, as option.JoinList joins them; names may be patterns. "" means none.
	Label            string
	Weight, ID, Time string   // "" if there is none
	Fold             string   // "" if there is none
	Group            []string // columns that together name the group of a row
	Levels           []string // columns that together name the level of a row
	Columns          []string // features; may be patterns, in which * is any text. Empty: all other columns
	Drop             []string // columns that are not features; may be patterns
	Path             []string // names of columns whose values are in the path of the file
}

// ChoiceOf returns the choice that options make.
func ChoiceOf(o Options) Choice {
	return Choice{Label: o.Label, Weight: o.Weight, ID: o.ID, Time: o.Time, Fold: o.Fold, Group: o.Group,
		Levels: o.Levels, Columns: o.Columns, Drop: o.Drop}
}

// WithoutFeatures returns the choice of the labels and roles only.
func (c Choice) WithoutFeatures() Choice {
	c.Columns, c.Drop = nil, nil
	return c
}

// labels returns the name of each label: all of Label if a column has that name, otherwise its fields as CSV.
func (c Choice) labels(columns []string) []string {
	if c.Label == "" {
		return nil
	}
	if slices.Contains(columns, c.Label) {
		return []string{c.Label}
	}
	parts, err := csv.NewReader(strings.NewReader(c.Label)).Read()
	if err != nil {
		return []string{c.Label} // no column has this name
	}
	return parts
}

// given returns all names, positions and patterns in the choice.
func (c Choice) given(columns []string) []string {
	return slices.DeleteFunc(slices.Concat(c.labels(columns), []string{c.Weight, c.ID, c.Time, c.Fold}, c.Group,
		c.Levels, c.Columns, c.Drop),
		func(s string) bool { return s == "" })
}

// ByName reports whether a column is given by a real name, not by a position or a generated name such as c2.
func (c Choice) ByName() bool {
	return slices.ContainsFunc(c.given(nil), func(s string) bool {
		_, err := strconv.Atoi(strings.TrimPrefix(s, "c"))
		return err != nil && !errors.Is(err, strconv.ErrRange) && strings.Trim(s, "*") != ""
	})
}

// Layout returns the layout of records with columns of these names, to which it adds the columns of Path.
// Features are in the order of the columns.
func (c Choice) Layout(names []string) (TableLayout, error) {
	l := TableLayout{Label: -1}
	l.Columns, l.Path = withPath(names, c.Path)
	p := placesOf(l.Columns)
	p.named, p.stored = true, len(l.Stored())
	return c.layout(l, p)
}

// LayoutByPosition is Layout for columns that have only generated names, such as c2.
func (c Choice) LayoutByPosition(columns []string) (TableLayout, error) {
	return c.layout(TableLayout{Columns: columns, Label: -1}, placesOf(columns))
}

// layout returns the layout l with the roles that the choice gives to columns: labels first, then weight, id, time,
// fold, groups and levels. The other columns are features, unless they are dropped. A column has one role, except for
// roles that only name rows.
func (c Choice) layout(l TableLayout, p *places) (TableLayout, error) {
	columns := l.Columns
	what := make([]schema.Role, len(columns)) // the role of a column
	if err := c.setLabels(&l, p); err != nil {
		return TableLayout{}, err
	}
	for _, f := range l.Labels() {
		what[f] = schema.Label
	}
	type givenRole struct {
		name  schema.Role
		given string
	}
	given := []givenRole{{schema.Weight, c.Weight}, {schema.ID, c.ID}, {schema.When, c.Time}, {foldRole, c.Fold}}
	for _, several := range []struct {
		roles []schema.Role
		given []string
	}{{groups, c.Group}, {levels, c.Levels}} {
		if len(several.given) > len(several.roles) {
			return TableLayout{}, fmt.Errorf("%d %s columns; the limit is %d", len(several.given), several.roles[0],
				len(several.roles))
		}
		for i, column := range several.given {
			given = append(given, givenRole{several.roles[i], column})
		}
	}
	for _, role := range given {
		if role.given == "" {
			continue
		}
		f, err := p.find(string(role.name), role.given)
		if err != nil {
			return TableLayout{}, err
		}
		if what[f] != "" && !(isName(what[f]) && isName(role.name)) {
			return TableLayout{}, fmt.Errorf("column %s is given as both %s and %s", Quote(columns[f]),
				what[f], role.name)
		}
		what[f] = role.name
		if l.Roles == nil {
			l.Roles = make(map[schema.Role]int)
		}
		l.Roles[role.name] = f
	}
	if err := c.setFeatures(&l, p, what); err != nil {
		return TableLayout{}, err
	}
	return l, nil
}

// setFeatures sets the features of l: columns without another role that the choice does not leave out.
func (c Choice) setFeatures(l *TableLayout, p *places, what []schema.Role) error {
	const feature, dropped = schema.Feature, schema.Role("dropped")
	for _, given := range c.Columns {
		fields, pattern, err := p.all("column", given)
		if err != nil {
			return err
		}
		for _, f := range fields {
			switch {
			case what[f] == "" || what[f] == feature:
				what[f] = feature
			case !pattern:
				return fmt.Errorf("column %s is the %s, so it cannot be a feature", Quote(l.Columns[f]), what[f])
			}
		}
	}
	for _, given := range c.Drop {
		drops, _, err := p.all("drop", given)
		if err != nil {
			return err
		}
		for _, f := range drops {
			if what[f] == "" || what[f] == feature {
				what[f] = dropped
			}
		}
	}
	for f, w := range what {
		if w == feature || w == "" && len(c.Columns) == 0 {
			l.Features = append(l.Features, f)
		}
	}
	switch d := len(l.Features); {
	case d == 0 && len(l.Columns) == 1 && len(c.Drop) == 0:
		return errors.New("the label is the only column")
	case d == 0:
		return fmt.Errorf("no feature columns: all %d columns have another role or are dropped", len(l.Columns))
	case d > rowio.MaxDim:
		return fmt.Errorf("%d feature columns; the limit is %d", d, rowio.MaxDim)
	}
	return nil
}

// setLabels sets the labels of l to the chosen ones.
func (c Choice) setLabels(l *TableLayout, p *places) error {
	var fields []int
	for _, given := range c.labels(l.Columns) {
		labels, pattern, err := p.all(string(schema.Label), given)
		if err != nil {
			return err
		}
		for _, f := range labels {
			switch twice := slices.Contains(fields, f); {
			case !twice:
				fields = append(fields, f)
			case !pattern:
				return fmt.Errorf("column %s is given twice as label", Quote(l.Columns[f]))
			}
		}
	}
	names := l.names(fields)
	for i, name := range names {
		if k := slices.Index(names[:i], name); k >= 0 {
			return fmt.Errorf("columns %d and %d, two of the labels, have the name %s; rename one", fields[k]+1,
				fields[i]+1, Quote(name))
		}
	}
	l.setLabels(fields)
	return nil
}

// samePlaces returns an error if a position in the choice means different columns in two files
// with named columns, because the result would then depend on the order of the files.
func (c Choice) samePlaces(first, other []string) error {
	otherPlaces, firstPlaces := placesOf(other), placesOf(first)
	otherPlaces.named, firstPlaces.named = true, true
	labels := c.labels(first)
	for _, given := range c.given(first) {
		if _, err := strconv.Atoi(given); err != nil || slices.Contains(first, given) {
			continue
		}
		what := "column"
		if slices.Contains(labels, given) {
			what = string(schema.Label)
		}
		f, err := firstPlaces.find(what, given)
		if err != nil {
			return err
		}
		g, err := otherPlaces.find(what, given)
		if err != nil {
			return err
		}
		if first[f] != other[g] {
			return fmt.Errorf("%s %s is column %q here and %q there; give its name", what, given, other[g], first[f])
		}
	}
	return nil
}

// places finds columns by name, position or pattern.
type places struct {
	columns []string
	named   bool
	stored  int            // columns that have positions
	at      map[string]int // the first field with a name
}

// placesOf returns the places of columns. The caller sets named if their names are not generated.
func placesOf(columns []string) *places {
	p := &places{columns: columns, stored: len(columns), at: make(map[string]int, len(columns))}
	for f := len(columns) - 1; f >= 0; f-- {
		p.at[columns[f]] = f
	}
	return p
}

// all returns the fields that a name, position or pattern means. The name of a list means all of
// its elements, unless it is the label. what is the role, for errors.
func (p *places) all(what, given string) (fields []int, pattern bool, err error) {
	if _, exact := p.at[given]; !exact && p.named {
		for i := 0; ; i++ { // the elements of a list, as formats with lists name them
			f, has := p.at[fmt.Sprintf("%s_%d", given, i)]
			if !has {
				break
			}
			fields = append(fields, f)
		}
		if len(fields) > 0 && what != string(schema.Label) {
			return fields, true, nil
		}
		fields = nil
	}
	if _, exact := p.at[given]; exact || !strings.Contains(given, "*") {
		f, err := p.find(what, given)
		return []int{f}, false, err
	}
	for f, name := range p.columns {
		if matches(given, name) {
			fields = append(fields, f)
		}
	}
	if len(fields) == 0 {
		err = fmt.Errorf("%s: no column matches %s; have %s", what, Quote(given), NameList(p.columns))
	}
	return fields, true, err
}

// matches reports whether a name matches a pattern, in which * is any text.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	name, ok := strings.CutPrefix(name, parts[0])
	last := parts[len(parts)-1]
	if !ok || len(name) < len(last) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[:len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return true
}

// find returns the field that a name or a position means.
func (p *places) find(what, given string) (int, error) {
	n := len(p.columns)
	if f, ok := p.at[given]; ok {
		if len(p.at) < n {
			if g := slices.Index(p.columns[f+1:], given); g >= 0 {
				return 0, fmt.Errorf("%s %s: columns %d and %d have that name; give the position", what, Quote(given),
					f+1, f+g+2)
			}
		}
		return f, nil
	}
	n = p.stored
	f, err := ColumnPosition(given, n)
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, errOutside):
		return 0, fmt.Errorf("%s %s is outside the columns 1 to %d (or -1 to -%d, from the end)", what,
			Quote(given), n, n)
	case !p.named:
		return 0, fmt.Errorf(
			"%s %s is a name, but the file has no header; give the position, 1 to %d or -1 for the last", what,
			Quote(given), n)
	}
	hint := ""
	if s := option.NearestName(given, p.columns); s != "" {
		hint = fmt.Sprintf(" (did you mean %s?)", Quote(s))
	}
	return 0, fmt.Errorf("%s: no column %s%s; have %s", what, Quote(given), hint, NameList(p.columns))
}

var errOutside = errors.New("position is outside the row")

// ColumnPosition returns the 0-based field at a position in a record of n fields: 1 is the first, −1 the last.
func ColumnPosition(s string, n int) (int, error) {
	i, err := strconv.Atoi(s)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errOutside
	case err != nil:
		return 0, err
	case i >= 1 && i <= n:
		return i - 1, nil
	case i <= -1 && i >= -n:
		return n + i, nil
	}
	return 0, errOutside
}
