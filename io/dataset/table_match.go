package dataset

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/io/schema"
)

// Match returns the layout with which a file yields the same rows as the files of like, a valid layout, usually a
// model's. It does not change the layout of the file.
//
// If both are named, features are found by name: their order may differ, and other columns are
// ignored. Otherwise they are found by position, and file must have all columns of like, or all
// except the labels. The labels are the file's if it has any, otherwise the labels of like; the result
// has none if the file lacks one of them. The same applies to each role.
func Match(like, file Tabular) (TableLayout, error) {
	l, f := like.Table(), file.Table()
	m := TableLayout{Columns: f.Columns, Path: f.Path, Roles: maps.Clone(f.Roles), TimeLayout: l.TimeLayout}
	m.setLabels(f.Labels())
	if like.Named() && file.Named() {
		m.orderLabels(l)
		same := slices.Equal(l.Columns, f.Columns) && (m.Label < 0 || slices.Equal(m.Labels(), l.Labels()))
		for role, f := range m.Roles {
			same = same && l.Role(role) == f
		}
		if !same {
			return l.matchNames(m)
		}
	}
	if m.Label < 0 && len(m.Columns) == len(l.Columns) && !slices.ContainsFunc(l.Labels(), m.hasRole) {
		m.setLabels(l.Labels())
	}
	return l.matchPositions(m)
}

// orderLabels puts the labels of m in the order of l, if both have labels of the same names.
func (m *TableLayout) orderLabels(l *TableLayout) {
	mine, fields := m.names(m.Labels()), make([]int, 0, len(m.Targets))
	for _, name := range l.names(l.Labels()) {
		if i := slices.Index(mine, name); i >= 0 {
			fields = append(fields, m.Labels()[i])
		}
	}
	if len(fields) == len(mine) {
		m.setLabels(fields)
	}
}

// matchPositions completes m, whose columns have no names.
func (l *TableLayout) matchPositions(m TableLayout) (TableLayout, error) {
	if len(m.Columns) == len(l.Columns) && (m.Label < 0 || slices.Equal(m.Labels(), l.Labels())) {
		m.Features = slices.Clone(l.Features)
		return m, l.matchRoles(&m, func(f int) int { return f })
	}
	var free, others []int // fields except the labels
	for f := range m.Columns {
		if !m.isLabel(f) {
			free = append(free, f)
		}
	}
	for f := range l.Columns {
		if !l.isLabel(f) {
			others = append(others, f)
		}
	}
	if len(free) != len(others) {
		// The file may have only the features.
		others = slices.Sorted(slices.Values(l.Features))
	}
	if len(free) != len(others) {
		return TableLayout{}, fmt.Errorf("%d %s of numbers, want %d%s",
			len(free), Plural(len(free), "column"), len(l.Columns)-len(l.Labels()), l.labelPositions())
	}
	at := func(f int) int {
		if rank, ok := slices.BinarySearch(others, f); ok {
			return free[rank]
		}
		return -1
	}
	for _, f := range l.Features {
		m.Features = append(m.Features, at(f))
	}
	return m, l.matchRoles(&m, at)
}

// matchRoles gives m the roles of l that it lacks. The function at returns the field of m for a field of l.
func (l *TableLayout) matchRoles(m *TableLayout, at func(f int) int) error {
	for _, role := range roles {
		f, ok := l.Roles[role]
		if _, given := m.Roles[role]; !ok || given {
			continue
		}
		f = at(f)
		if f >= 0 && !m.isLabel(f) && !m.hasRole(f) && !slices.Contains(m.Features, f) {
			if m.Roles == nil {
				m.Roles = make(map[schema.Role]int)
			}
			m.Roles[role] = f
		}
	}
	for _, role := range roles {
		if f, ok := m.Roles[role]; ok && !isName(role) && slices.Contains(m.Features, f) {
			return fmt.Errorf("column %s is the %s here, but a feature of the model", Quote(m.Columns[f]), role)
		}
	}
	return nil
}

// hasRole reports whether a field has a role.
func (l *TableLayout) hasRole(f int) bool {
	return slices.Contains(slices.Collect(maps.Values(l.Roles)), f)
}

// NamedIn reports whether another file has columns with the names of all features.
func (l *TableLayout) NamedIn(columns []string) bool {
	present := make(map[string]bool, len(columns))
	for _, name := range columns {
		present[name] = true
	}
	return !slices.ContainsFunc(l.Features, func(f int) bool { return !present[l.Columns[f]] })
}

// labelPositions describes the positions of the labels of a file without a header, for messages.
func (l *TableLayout) labelPositions() string {
	switch {
	case l.Label < 0:
		return ""
	case len(l.Targets) > 0:
		return fmt.Sprintf(", or %d with the %d labels", len(l.Columns), len(l.Targets))
	}
	return fmt.Sprintf(", or %d with the label as column %d", len(l.Columns), l.Label+1)
}

// matchNames completes m, whose columns have names.
func (l *TableLayout) matchNames(m TableLayout) (TableLayout, error) {
	const twice = -2
	field := make(map[string]int, len(m.Columns))
	for f, name := range m.Columns {
		if _, ok := field[name]; ok {
			f = twice
		}
		field[name] = f
	}
	known := make(map[string]bool, len(l.Features))
	var missing []string
	for _, f := range l.Features {
		name := l.Columns[f]
		at, ok := field[name]
		switch {
		case !ok:
			missing = append(missing, name)
			continue
		case at == twice || known[name]:
			return TableLayout{}, fmt.Errorf("column %s occurs twice, and the columns are in another order than the "+
				"model's; rename one", Quote(name))
		case m.isLabel(at):
			return TableLayout{}, fmt.Errorf("column %s is the label here, but a feature of the model", Quote(name))
		}
		known[name] = true
		m.Features = append(m.Features, at)
	}
	if len(missing) > 0 {
		return TableLayout{}, fmt.Errorf("missing %s %s; have %s", Plural(len(missing), "column"), NameList(missing),
			NameList(m.Columns))
	}
	if m.Label < 0 {
		var labels []int
		for _, name := range l.names(l.Labels()) {
			at, ok := field[name]
			switch {
			case ok && at == twice:
				return TableLayout{}, fmt.Errorf("column %s, the label, occurs twice; give its position", Quote(name))
			case ok && !slices.Contains(m.Features, at) && !m.hasRole(at):
				labels = append(labels, at)
			}
		}
		if len(labels) == len(l.Labels()) {
			m.setLabels(labels)
		}
	}
	return m, l.matchRoles(&m, func(f int) int {
		if at, ok := field[l.Columns[f]]; ok {
			return at
		}
		return -1
	})
}
