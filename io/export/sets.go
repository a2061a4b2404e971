package export

import "strings"

// Sets holds the values of a column with Levels: a set of levels for each row. The text of a set is its
// levels, separated by |, with a backslash before each | and each backslash within a level. In JSON a set
// is an array.
type Sets struct {
	Ends  []int   // of the sets, in Items
	Items []int32 // indices of levels
}

// of returns the set of a row.
func (s *Sets) of(row int) []int32 {
	if row == 0 {
		return s.Items[:s.Ends[0]]
	}
	return s.Items[s.Ends[row-1]:s.Ends[row]]
}

var separated = strings.NewReplacer(`\`, `\\`, "|", `\|`)

// setText returns the text of a set of levels.
func setText(levels []string, set []int32) string {
	var b strings.Builder
	for i, at := range set {
		if i > 0 {
			b.WriteByte('|')
		}
		separated.WriteString(&b, levels[at])
	}
	return b.String()
}

// Texts returns the sets of n rows as texts, in memory that it grows.
func (s *Sets) Texts(dst []string, levels []string, n int) []string {
	for row := range n {
		dst = append(dst, setText(levels, s.of(row)))
	}
	return dst
}

// set appends the set of a row of column c.
func (t *textWriter) set(c int, set []int32) {
	if !t.arrays {
		t.line = append(t.line, t.text(setText(t.columns[c].Levels, set))...)
		return
	}
	t.line = append(t.line, '[')
	for i, at := range set {
		if i > 0 {
			t.line = append(t.line, ',')
		}
		t.line = append(t.line, t.levels[c][at]...)
	}
	t.line = append(t.line, ']')
}
