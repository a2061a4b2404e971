package dataset

import (
	"fmt"
	"net/url"
	"strings"
)

// Levels names the columns whose texts together are the level of a row, such as
// country=DE/source=web. Rows of one level are summed together.
type Levels struct {
	Columns []string `json:"columns"`
}

// maxLevel limits the text of a column that names levels, in bytes.
const maxLevel = 200

// levelNames returns the names of the levels of rows. It caches them, because they repeat.
type levelNames struct {
	levels *Levels
	first  int // index, among the texts of a row's key, of the first column of the level
	raw    []byte
	names  map[string]string // by the texts of the columns, each followed by a zero byte
}

// maxLevelNames limits the names that a reader caches.
const maxLevelNames = 1 << 12

func newLevelNames(d *Dataset) *levelNames {
	n := &levelNames{levels: d.Levels, names: map[string]string{}}
	if d.Key != nil {
		n.first = len(d.Key.Columns)
	}
	return n
}

// name returns the name of the level of a row, such as country=DE/source=web, given the texts of its key, or the reason
// why there is none. Names and texts are escaped as in paths of URLs, and otherwise unchanged: 01 and 1 are different
// levels.
func (n *levelNames) name(key func(i int) []byte) (name, reason string) {
	n.raw = n.raw[:0]
	for i := range n.levels.Columns {
		n.raw = append(append(n.raw, key(n.first+i)...), 0)
	}
	name, known := n.names[string(n.raw)]
	if known {
		return name, ""
	}
	for i, column := range n.levels.Columns {
		t := key(n.first + i)
		if len(t) > maxLevel {
			return "", fmt.Sprintf("column %q: the name of a level has %d bytes; the limit is %d", column, len(t), maxLevel)
		}
		if i > 0 {
			name += "/"
		}
		name += strings.ReplaceAll(url.PathEscape(column), "=", "%3D") + "=" + url.PathEscape(string(t))
	}
	if len(n.names) == maxLevelNames {
		clear(n.names)
	}
	n.names[string(n.raw)] = name
	return name, ""
}
