package rows

import (
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/records"
)

// collector collects the elements of a bundle until they fill a block.
type collector struct {
	items []reflect.Value
	keys  []string
	at    []*place

	of  *records.Type
	typ reflect.Type
}

// add adds a row with its place. The key is nil if the row has its own.
func (c *collector) add(key, row any, at *place) error {
	v := reflect.ValueOf(row)
	if t := v.Type(); t != c.typ {
		of, err := records.TypeOf(t)
		if err != nil {
			return err
		}
		c.of, c.typ = of, t
	}
	text := ""
	if key != nil {
		text = records.Text(reflect.ValueOf(key))
	} else {
		text = c.of.Key(v)
	}
	// Consecutive elements often have the same place.
	if n := len(c.at); n > 0 && same(c.at[n-1], at) {
		at = c.at[n-1]
	}
	c.items, c.keys, c.at = append(c.items, v), append(c.keys, text), append(c.at, at)
	return nil
}

// same reports whether two places are in the same single window.
func same(a, b *place) bool {
	return a.time == b.time && a.pane == b.pane && a.windows[0].Equals(b.windows[0])
}

// reset forgets all rows.
func (c *collector) reset() {
	clear(c.items) // so that they can be freed
	clear(c.at)
	c.items, c.keys, c.at = c.items[:0], c.keys[:0], c.at[:0]
}

// in is the place of an element that is processed for one window.
func in(pane beam.PaneInfo, w beam.Window, time beam.EventTime) *place {
	return &place{pane, []beam.Window{w}, time}
}
