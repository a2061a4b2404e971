package schema

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
// there is none. Names and texts are escaped as in paths of URLs. A missing text is empty, and numbers
// count by their value.
func (l *Levels) Name(text func(i int) []byte) (name, reason string) {
	var b strings.Builder
	var number [32]byte
	for i, column := range l.Columns {
		t := text(i)
		if len(t) > maxLevel {
			return "", fmt.Sprintf("column %q: the name of a level has %d bytes; the limit is %d", column, len(t), maxLevel)
		}
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(strings.ReplaceAll(url.PathEscape(column), "=", "%3D") + "=")
		b.WriteString(url.PathEscape(string(canonicalName(number[:0], t))))
	}
	return b.String(), ""
}
