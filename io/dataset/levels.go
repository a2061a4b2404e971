package dataset

import "github.com/bochner-ml/bochner/io/schema"

// levelNames makes the names of the levels of rows, and keeps them, because they repeat.
type levelNames struct {
	of    *schema.Levels
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
