package dataset

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
)

// MaxColumns is the largest number of fields of a record.
const MaxColumns = rowio.MaxDim + 1

// isName reports whether the texts of a column with this role are names: of the row, its group, fold
// or segment. They are stored unchanged. The column may be a feature as well.
func isName(role schema.Role) bool {
	return role == schema.ID || slices.Contains(groups, role) || slices.Contains(segmentRoles, role)
}

// The roles of columns that only a TableLayout has, in addition to the roles of package schema.
const (
	foldRole    schema.Role = "fold"    // the number of the row's fold
	GroupRole   schema.Role = "group"   // the group of the row, or the first of the columns that together name it
	segmentRole schema.Role = "segment" // the segment of the row, or the first of the columns that together name it
)

// roles are the roles in TableLayout.Roles.
var roles = slices.Concat([]schema.Role{schema.Weight, schema.ID, schema.When, foldRole}, groups, segmentRoles)

// groups are the roles of the columns that together name the group of a row, at most four.
var groups = []schema.Role{GroupRole, GroupRole + "2", GroupRole + "3", GroupRole + "4"}

// segmentRoles are the roles of the columns that together name the segment of a row, at most four.
var segmentRoles = []schema.Role{segmentRole, segmentRole + "2", segmentRole + "3", segmentRole + "4"}

// TableLayout assigns roles to the fields of a record: feature, label and others. It is
// plain data and part of a model; call Validate on one that was read from a file. It is the
// Layout of formats in which all columns have names; other formats embed it.
type TableLayout struct {
	Columns []string `json:"columns"` // names of all fields; c1, c2, … for fields without a name
	// Path is the number of columns, the last ones, whose values are in the path of the file.
	Path  int `json:"path,omitempty"`
	Label int `json:"label"` // 0-based field of the label; −1 if there is none
	// Targets holds the 0-based fields of all labels if there are several; Label is the first.
	Targets  []int `json:"targets,omitempty"`
	Features []int `json:"features"` // 0-based fields of the features, in the order of the row
	// Roles maps other roles, such as schema.Weight and GroupRole, to 0-based fields.
	Roles map[schema.Role]int `json:"roles,omitempty"`
	// TimeLayout is the layout of the texts of the time column, as schema.Column.Layout; "" if
	// they are numbers, or if the layout is not known.
	TimeLayout string `json:"time_layout,omitempty"`
}

// Tabular is the Layout of a format with columns.
type Tabular interface {
	Layout
	// Table returns the columns.
	Table() *TableLayout
	// Named reports whether the columns have names, not only positions.
	Named() bool
	// With returns a copy with other columns.
	With(t TableLayout) Layout
}

var _ Tabular = (*TableLayout)(nil)

// Table returns l.
func (l *TableLayout) Table() *TableLayout { return l }

// Named returns true.
func (l *TableLayout) Named() bool { return true }

// With returns t.
func (l *TableLayout) With(t TableLayout) Layout { return &t }

// RowLen returns the number of features.
func (l *TableLayout) RowLen() int { return len(l.Features) }

// Names returns the names of the features.
func (l *TableLayout) Names() []string { return l.names(l.Features) }

// Labels returns the fields of all labels.
func (l *TableLayout) Labels() []int {
	switch {
	case l.Label < 0:
		return nil
	case len(l.Targets) > 0:
		return l.Targets
	}
	return []int{l.Label}
}

// setLabels sets the fields of all labels.
func (l *TableLayout) setLabels(fields []int) {
	l.Label, l.Targets = -1, nil
	if len(fields) > 0 {
		l.Label = fields[0]
	}
	if len(fields) > 1 {
		l.Targets = fields
	}
}

// isLabel reports whether a field is a label.
func (l *TableLayout) isLabel(f int) bool { return slices.Contains(l.Labels(), f) }

// names returns the names of fields.
func (l *TableLayout) names(fields []int) (names []string) {
	for _, f := range fields {
		names = append(names, l.Columns[f])
	}
	return names
}

// Role returns the field with a role, or −1.
func (l *TableLayout) Role(role schema.Role) int {
	if f, ok := l.Roles[role]; ok {
		return f
	}
	return -1
}

// KeyFields returns the fields of the keys of a dataset's rows, followed by those that name their segments.
func (l *TableLayout) KeyFields(d *Dataset) (fields []int) {
	if k := d.Key; k != nil && k.By == GroupRole {
		for _, role := range groups[:len(k.Columns)] {
			fields = append(fields, l.Role(role))
		}
	} else if k != nil {
		fields = append(fields, l.Role(k.By))
	}
	if d.Segments != nil {
		for _, role := range segmentRoles[:len(d.Segments.Columns)] {
			fields = append(fields, l.Role(role))
		}
	}
	return fields
}

// RoleNames returns the columns with other roles than feature and label, each name after its role.
func (l *TableLayout) RoleNames() (names []string) {
	for _, role := range roles {
		f := l.Role(role)
		if f < 0 {
			continue
		}
		text := string(role) + " " + schema.Clip(l.Columns[f])
		if role == schema.When && l.TimeLayout != "" {
			text += " (" + l.TimeLayout + ")"
		}
		names = append(names, text)
	}
	return names
}

// UsedFields reports, for each field, whether it is a feature or a label or has another role.
func (l *TableLayout) UsedFields() []bool {
	uses := make([]bool, len(l.Columns))
	for _, f := range l.Features {
		uses[f] = true
	}
	for _, f := range l.Roles {
		uses[f] = true
	}
	for _, f := range l.Labels() {
		uses[f] = true
	}
	return uses
}

// UsedNames returns the names of the columns that are used.
func (l *TableLayout) UsedNames() map[string]bool {
	used := map[string]bool{}
	for f, isUsed := range l.UsedFields() {
		if isUsed {
			used[l.Columns[f]] = true
		}
	}
	return used
}

// Validate checks that a Layout can be used.
func (l *TableLayout) Validate() error {
	n, k := len(l.Columns), len(l.Targets)
	switch {
	case n == 0 || n > MaxColumns:
		return fmt.Errorf("layout: the number of columns must be 1 to %d (have %d)", MaxColumns, n)
	case l.Path < 0 || l.Path >= n:
		return fmt.Errorf("layout: %d of %d columns in the path", l.Path, n)
	case l.Label < -1 || l.Label >= n:
		return fmt.Errorf("layout: label %d is outside 0 to %d", l.Label, n-1)
	case len(l.Features) == 0 || len(l.Features) > rowio.MaxDim:
		return fmt.Errorf("layout: the number of features must be 1 to %d (have %d)", rowio.MaxDim, len(l.Features))
	case k > 0 && (k == 1 || l.Targets[0] != l.Label):
		return fmt.Errorf("layout: label %d is not the first of %d targets, of which there must be several", l.Label, k)
	case l.TimeLayout != "" && !slices.Contains(schema.TimeLayoutNames(), l.TimeLayout):
		return fmt.Errorf("layout: unknown layout of times %.40q", l.TimeLayout)
	}
	return l.validateUses()
}

// validateUses checks that no field has two uses.
func (l *TableLayout) validateUses() error {
	n := len(l.Columns)
	used := make([]schema.Role, n)
	for _, f := range l.Labels() {
		switch {
		case f < 0 || f >= n:
			return fmt.Errorf("layout: label %d is outside 0 to %d", f, n-1)
		case used[f] != "":
			return fmt.Errorf("layout: field %d is listed twice as a label", f)
		}
		used[f] = schema.Label
	}
	for _, role := range slices.Sorted(maps.Keys(l.Roles)) {
		f := l.Roles[role]
		switch {
		case !slices.Contains(roles, role):
			return fmt.Errorf("layout: unknown role %.40q", role)
		case f < 0 || f >= n:
			return fmt.Errorf("layout: %s %d is outside 0 to %d", role, f, n-1)
		case used[f] != "" && !(isName(used[f]) && isName(role)):
			return fmt.Errorf("layout: field %d is both %s and %s", f, used[f], role)
		}
		used[f] = role
	}
	for i, f := range l.Features {
		switch {
		case f < 0 || f >= n:
			return fmt.Errorf("layout: feature %d is field %d, outside 0 to %d", i, f, n-1)
		case used[f] == schema.Feature:
			return fmt.Errorf("layout: field %d is used by two features", f)
		case used[f] != "" && !isName(used[f]):
			return fmt.Errorf("layout: feature %d is the %s, field %d", i, used[f], f)
		}
		used[f] = schema.Feature
	}
	return nil
}

// Unlabeled returns a copy without labels.
func (l *TableLayout) Unlabeled() TableLayout {
	c := *l
	c.setLabels(nil)
	return c
}

// without returns a copy without a role.
func (l *TableLayout) without(role schema.Role) TableLayout {
	c := *l
	c.Roles = maps.Clone(l.Roles)
	delete(c.Roles, role)
	if len(c.Roles) == 0 {
		c.Roles = nil
	}
	return c
}

// hiveMissing stands for a missing value in paths that Hive and Spark write.
const hiveMissing = "__HIVE_DEFAULT_PARTITION__"

// PathValues returns the values of the directories of a path that are written as name=value.
func PathValues(path string) map[string]string {
	values := map[string]string{}
	parts := strings.Split(path, "/")
	for _, part := range parts[:len(parts)-1] {
		name, value, ok := strings.Cut(part, "=")
		if !ok || name == "" {
			continue
		}
		for _, text := range []*string{&name, &value} {
			if plain, err := url.PathUnescape(*text); err == nil {
				*text = plain
			}
		}
		if value == hiveMissing {
			value = ""
		}
		values[name] = value
	}
	return values
}

// SetPath finds the columns whose values are in the paths of all files. If the data is for a model,
// these are the columns of the model. Otherwise they are the columns that an option names, and those
// that have several values and are not in Options.Ignore.
func SetPath(o *Opening) {
	first := PathValues(o.Data.Files[0].Name)
	several := map[string]bool{}
	for i := range o.Data.Files {
		if len(first) == 0 {
			break
		}
		values := PathValues(o.Data.Files[i].Name)
		for name, value := range first {
			other, ok := values[name]
			several[name] = several[name] || other != value
			if !ok {
				delete(first, name)
			}
		}
	}
	named := ChoiceOf(o.Options).given(nil)
	o.Path = slices.DeleteFunc(slices.Sorted(maps.Keys(first)), func(name string) bool {
		if o.Options.Like == nil {
			return (!several[name] || slices.Contains(o.Options.Ignore, name)) && !slices.Contains(named, name)
		}
		like := SameLayout(o)
		return !slices.Contains(o.Options.Segments, name) && (like == nil || !like.Named() || !slices.Contains(like.Table().Columns, name))
	})
}

// withPath returns the columns of a file: the stored ones, followed by those in its path, whose number
// is inPath. If both have a name, the stored column counts.
func withPath(stored, path []string) (columns []string, inPath int) {
	more := slices.DeleteFunc(slices.Clone(path), func(name string) bool { return slices.Contains(stored, name) })
	return slices.Concat(stored, more), len(more)
}

// Stored returns the names of the columns in the file itself, not in its path.
func (l *TableLayout) Stored() []string { return l.Columns[:len(l.Columns)-l.Path] }

// PathTexts returns the values of the columns that are in the path of a file.
func (l *TableLayout) PathTexts(f *File) (texts [][]byte) {
	if l.Path == 0 {
		return nil // f may be nil, as it is for rows in memory
	}
	values := PathValues(f.Name)
	for _, name := range l.Columns[len(l.Columns)-l.Path:] {
		texts = append(texts, []byte(values[name]))
	}
	return texts
}
