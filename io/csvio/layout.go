// Package csvio reads rows from CSV and TSV: it detects the separator, the header and
// the label column of a file, and converts records to rows of float32.
package csvio

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/spell"
	"github.com/bochner-ml/bochner/io/rows"
)

// maxColumns is the largest number of fields of a record: a row and its label.
const maxColumns = rows.MaxDim + 1

// Layout describes the fields of a file's records. It is plain data and part of a
// model; call Validate on a Layout read from a file.
type Layout struct {
	Comma    byte     `json:"comma"`    // field separator, as a character code
	Header   bool     `json:"header"`   // the first record names the columns
	Columns  []string `json:"columns"`  // names of all fields; c1, c2, … for fields without a name
	Label    int      `json:"label"`    // 0-based field of the label; −1 if there is none
	Features []int    `json:"features"` // 0-based fields of the row's values, in the order of the row
}

// Validate checks that a Layout can be used.
func (l Layout) Validate() error {
	if err := checkComma(l.Comma); err != nil {
		return err
	}
	n := len(l.Columns)
	if n == 0 || n > maxColumns {
		return fmt.Errorf("csvio: layout: %d columns; there must be 1 to %d", n, maxColumns)
	}
	if l.Label < -1 || l.Label >= n {
		return fmt.Errorf("csvio: layout: label %d is outside 0 to %d", l.Label, n-1)
	}
	if len(l.Features) == 0 || len(l.Features) > rows.MaxDim {
		return fmt.Errorf("csvio: layout: %d features; there must be 1 to %d", len(l.Features), rows.MaxDim)
	}
	used := make([]bool, n)
	for i, f := range l.Features {
		switch {
		case f < 0 || f >= n:
			return fmt.Errorf("csvio: layout: feature %d is field %d, outside 0 to %d", i, f, n-1)
		case f == l.Label:
			return fmt.Errorf("csvio: layout: feature %d is the label, field %d", i, f)
		case used[f]:
			return fmt.Errorf("csvio: layout: field %d is used by two features", f)
		}
		used[f] = true
	}
	return nil
}

// RowLen returns the number of values of a row.
func (l Layout) RowLen() int { return len(l.Features) }

// checkComma rejects a separator that can be part of a number or of quoting.
func checkComma(c byte) error {
	word := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	if word || c < ' ' && c != '\t' || c >= 0x7f || strings.IndexByte("\" +-._", c) >= 0 {
		return fmt.Errorf("csvio: %q cannot separate fields; use one ASCII character such as , ; or tab", rune(c))
	}
	return nil
}

// Match returns the layout with which another file yields the same rows. l is a valid
// layout, usually the model's, and file is what ReadLayout found in the other file.
//
// If both have headers, features are found by name: their order may differ, and
// further columns are ignored. Otherwise they are found by position, and file
// must have all of l's columns, or all but the label. The label is file.Label if
// that is set, else l's; the result has none if file does not hold it.
func (l Layout) Match(file Layout) (Layout, error) {
	m := Layout{Comma: file.Comma, Header: file.Header, Columns: file.Columns, Label: file.Label}
	if l.Header && file.Header {
		if same := slices.Equal(l.Columns, file.Columns); !same || m.Label >= 0 && m.Label != l.Label {
			return l.matchNames(m)
		}
	}
	if m.Label < 0 && len(m.Columns) == len(l.Columns) {
		m.Label = l.Label
	}
	if len(m.Columns) == len(l.Columns) && (m.Label == l.Label || m.Label < 0) {
		m.Features = slices.Clone(l.Features)
		return m, nil
	}
	var free []int // fields that can be features
	for f := range m.Columns {
		if f != m.Label {
			free = append(free, f)
		}
	}
	if len(free) != len(l.Features) {
		return Layout{}, fmt.Errorf("csvio: %d %s of numbers, want %d%s",
			len(free), plural(len(free), "column"), len(l.Features), l.labelPlace())
	}
	ascending := slices.Sorted(slices.Values(l.Features))
	for _, f := range l.Features {
		rank, _ := slices.BinarySearch(ascending, f)
		m.Features = append(m.Features, free[rank])
	}
	return m, nil
}

// NamedIn reports whether another file has columns with the names of all features.
func (l Layout) NamedIn(file Layout) bool {
	there := make(map[string]bool, len(file.Columns))
	for _, name := range file.Columns {
		there[name] = true
	}
	for _, f := range l.Features {
		if !there[l.Columns[f]] {
			return false
		}
	}
	return true
}

// labelPlace describes the label's position in a file without a header.
func (l Layout) labelPlace() string {
	if l.Label < 0 {
		return ""
	}
	return fmt.Sprintf(", or %d with the label as column %d", len(l.Features)+1, l.Label+1)
}

func (l Layout) matchNames(m Layout) (Layout, error) {
	const twice = -1
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
			return Layout{}, fmt.Errorf("csvio: column %s occurs twice, and the columns are in another order than the model's; rename one", quote(name))
		case at == m.Label:
			return Layout{}, fmt.Errorf("csvio: column %s is the label here, but a feature of the model", quote(name))
		}
		known[name] = true
		m.Features = append(m.Features, at)
	}
	if len(missing) > 0 {
		return Layout{}, fmt.Errorf("csvio: missing %s %s; have %s", plural(len(missing), "column"), list(missing), list(m.Columns))
	}
	if m.Label < 0 && l.Label >= 0 {
		name := l.Columns[l.Label]
		at, ok := field[name]
		switch {
		case ok && at == twice:
			return Layout{}, fmt.Errorf("csvio: column %s, the label, occurs twice; give its position", quote(name))
		case ok && !slices.Contains(m.Features, at):
			m.Label = at
		}
	}
	return m, nil
}

// findLabel returns the field that label means: a name of the header, or a
// position that counts from 1, or from −1 backwards from the end. "" is −1, none.
func findLabel(label string, columns []string, header bool) (int, error) {
	if label == "" {
		return -1, nil
	}
	if header {
		if f := slices.Index(columns, label); f >= 0 {
			if g := slices.Index(columns[f+1:], label); g >= 0 {
				return 0, fmt.Errorf("csvio: label %s: columns %d and %d have that name; give the position", quote(label), f+1, f+g+2)
			}
			return f, nil
		}
	}
	n := len(columns)
	f, err := position(label, n)
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, errOutside):
		return 0, fmt.Errorf("csvio: label %s is outside the columns 1 to %d (or -1 to -%d, from the end)", quote(label), n, n)
	case !header:
		return 0, fmt.Errorf("csvio: label %s is a name, but the file has no header; give the position, 1 to %d or -1 for the last", quote(label), n)
	}
	hint := ""
	if s := spell.Nearest(label, columns); s != "" {
		hint = fmt.Sprintf(" (did you mean %s?)", quote(s))
	}
	return 0, fmt.Errorf("csvio: label: no column %s%s; have %s", quote(label), hint, list(columns))
}

// plural adds an s to a noun for all counts but one.
func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// list shows names, the first twenty of them.
func list(names []string) string {
	const most = 20
	s := make([]string, 0, most)
	for _, name := range names[:min(len(names), most)] {
		s = append(s, shorten(name))
	}
	text := strings.Join(s, ", ")
	if n := len(names) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
