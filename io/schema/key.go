package schema

import (
	"fmt"
	"math"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rowio"
)

// Key describes how the key of a row is made, by which the row is assigned to a fold.
type Key struct {
	By      Role     `json:"by"`      // role of the columns: group, fold or time
	Columns []string `json:"columns"` // their names
	// Layout is how times are written; "" if they are numbers.
	Layout string `json:"layout,omitempty"`
	// Unnamed is true if rows without a group name form one group; otherwise they cannot be used.
	Unnamed bool `json:"unnamed,omitempty"`
}

// maxFold is the largest number of a fold.
const maxFold = 1 << 30

// RowKey returns the key of a row from the texts of its columns, or the reason why it has none. The key of a group is a
// hash, equal for numbers of equal value; the key of a fold is its number; the key of a time grows with the time.
func (k *Key) RowKey(text func(i int) []byte) (key uint64, reason string) {
	if k.By != "group" {
		v, reason := k.number(text(0))
		if reason != "" || k.By == When {
			return rowio.OrderedKey(v), reason
		}
		if v != math.Trunc(v) || v < 0 || v > maxFold {
			return 0, fmt.Sprintf("column %q: the number of a fold must be a whole number from 0 to %d (have %.40q)",
				k.Columns[0], maxFold, text(0))
		}
		return uint64(v), ""
	}
	var d xxhash.Digest
	d.Reset()
	for i := range k.Columns {
		t := text(i)
		if len(t) == 0 && !k.Unnamed {
			return 0, fmt.Sprintf("column %q: the group is missing", k.Columns[i])
		}
		addName(&d, t)
	}
	return d.Sum64(), ""
}

// GroupKey returns the key of a group that one column names.
func GroupKey(text []byte) uint64 {
	var d xxhash.Digest
	d.Reset()
	addName(&d, text)
	return d.Sum64()
}

// addName adds the name of a group to a hash: a number as its shortest text, or from 2⁵³ on with all its digits.
func addName(d *xxhash.Digest, text []byte) {
	var number [32]byte
	d.Write(canonicalName(number[:0], text))
	d.Write([]byte{0})
}

// canonicalName returns a name, or for a number the same text, in the buffer, however the number is written.
func canonicalName(buffer, text []byte) []byte {
	v, err := strconv.ParseFloat(string(text), 64)
	switch {
	case err != nil:
		return text
	case math.Abs(v) < 1<<53:
		return AppendFloat(buffer, v+0)
	}
	return []byte(canonicalLabel(text))
}

// number returns a number, or the seconds of a time since 1970.
func (k *Key) number(text []byte) (v float64, reason string) {
	if len(text) == 0 {
		return 0, fmt.Sprintf("column %q: the %s is missing", k.Columns[0], k.By)
	}
	if k.Layout != "" {
		t, ok := timeLayoutOf(k.Layout).Parse(text)
		if !ok {
			return 0, fmt.Sprintf("column %q: %.40q is not a time (%s)", k.Columns[0], text, k.Layout)
		}
		return float64(t.UnixMicro()) / 1e6, ""
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !exact.Finite(v) {
		return 0, fmt.Sprintf("column %q: %.40q is not a number", k.Columns[0], text)
	}
	return v, ""
}
