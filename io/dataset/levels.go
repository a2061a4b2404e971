package dataset

import (
	"fmt"
	"net/url"
	"strings"
)

// Levels says which columns name the level of a row. Rows of a level are summed together.
type Levels struct {
	Columns []string `json:"columns"`
}

// maxLevel limits the text of a column that names levels, in bytes.
const maxLevel = 200

// Name returns the name of a level, such as country=DE/source=web, from the texts of its columns, or why
// there is none. Names and texts are escaped as in paths of URLs. They are as rows have them: 01 is not 1.
func (l *Levels) Name(text func(i int) []byte) (name, reason string) {
	var b strings.Builder
	for i, column := range l.Columns {
		t := text(i)
		if len(t) > maxLevel {
			return "", fmt.Sprintf("column %q: the name of a level has %d bytes; the limit is %d", column, len(t), maxLevel)
		}
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(strings.ReplaceAll(url.PathEscape(column), "=", "%3D") + "=")
		b.WriteString(url.PathEscape(string(t)))
	}
	return b.String(), ""
}

// levelNames makes the names of the levels of rows, and keeps them, because they repeat.
type levelNames struct {
	of    *Levels
	first int // of the texts of a row's key
	raw   []byte
	names map[string]string // by the texts of the columns, each with a zero byte after it
}

// mostLevelNames limits the names that a reader keeps.
const mostLevelNames = 1 << 12

func newLevelNames(d *Dataset) *levelNames {
	n := &levelNames{of: d.Levels, names: map[string]string{}}
	if d.Key != nil {
		n.first = len(d.Key.Columns)
	}
	return n
}

// name returns the name of the level of a row, given the texts of its key, or why there is none.
func (n *levelNames) name(key func(i int) []byte) (name, reason string) {
	n.raw = n.raw[:0]
	for i := range n.of.Columns {
		n.raw = append(append(n.raw, key(n.first+i)...), 0)
	}
	name, known := n.names[string(n.raw)]
	if known {
		return name, ""
	}
	if name, reason = n.of.Name(func(i int) []byte { return key(n.first + i) }); reason != "" {
		return "", reason
	}
	if len(n.names) == mostLevelNames {
		clear(n.names)
	}
	n.names[string(n.raw)] = name
	return name, ""
}
