package dataset

import (
	"fmt"
	"net/url"
	"strings"
)

// Segments names the columns whose texts together are the segment of a row, such as
// country=DE/source=web. Rows of one segment are summed together.
type Segments struct {
	Columns []string `json:"columns"`
}

// maxSegmentBytes limits the text of a column that names segments, in bytes.
const maxSegmentBytes = 200

// segmentNames returns the names of the segments of rows. It caches them, because they repeat.
type segmentNames struct {
	segments *Segments
	first    int // index, among the texts of a row's key, of the first column of the segment
	raw      []byte
	names    map[string]string // by the texts of the columns, each followed by a zero byte
}

// maxSegmentNames limits the names that a reader caches.
const maxSegmentNames = 1 << 12

func newSegmentNames(d *Dataset) *segmentNames {
	n := &segmentNames{segments: d.Segments, names: map[string]string{}}
	if d.Key != nil {
		n.first = len(d.Key.Columns)
	}
	return n
}

// name returns the name of the segment of a row, such as country=DE/source=web, given the texts of its key, or the reason
// why there is none. Names and texts are escaped as in paths of URLs, and otherwise unchanged: 01 and 1 are different
// segments.
func (n *segmentNames) name(key func(i int) []byte) (name, reason string) {
	n.raw = n.raw[:0]
	for i := range n.segments.Columns {
		n.raw = append(append(n.raw, key(n.first+i)...), 0)
	}
	name, known := n.names[string(n.raw)]
	if known {
		return name, ""
	}
	for i, column := range n.segments.Columns {
		t := key(n.first + i)
		if len(t) > maxSegmentBytes {
			return "", fmt.Sprintf("column %q: the name of a segment has %d bytes; the limit is %d", column, len(t),
				maxSegmentBytes)
		}
		if i > 0 {
			name += "/"
		}
		name += strings.ReplaceAll(url.PathEscape(column), "=", "%3D") + "=" + url.PathEscape(string(t))
	}
	if len(n.names) == maxSegmentNames {
		clear(n.names)
	}
	n.names[string(n.raw)] = name
	return name, ""
}
