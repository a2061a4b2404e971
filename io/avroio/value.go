package avroio

import (
	stdbinary "encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"time"

	"github.com/bochner-ml/bochner/io/dataset"
)

// maxValue is the largest number of bytes of a value.
const maxValue = 1 << 30

var errBlock = errors.New("a block is damaged")

// decoder reads values from the content of a block. The first error stays.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail() { d.err = errBlock }

// long reads an integer.
func (d *decoder) long() int64 {
	v, n := stdbinary.Uvarint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return int64(v>>1) ^ -int64(v&1)
}

// take takes n bytes, which share the memory of the block.
func (d *decoder) take(n int64) []byte {
	if n < 0 || n > int64(len(d.b)) {
		d.fail()
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

// branch reads which branch of a union follows, and returns it.
func (d *decoder) branch(n *node) *node {
	i := d.long()
	if i < 0 || i >= int64(len(n.parts)) {
		d.fail()
		return &node{}
	}
	return n.parts[i]
}

// skip skips a value.
func (d *decoder) skip(n *node, depth int) {
	if depth > maxDepth {
		d.fail()
	}
	if d.err != nil || n.empty() { // empty records of empty records would take twice as long at each depth
		return
	}
	switch n.kind {
	case boolean:
		d.take(1)
	case integer, enum:
		d.long()
	case float:
		d.take(4)
	case double:
		d.take(8)
	case binary, text:
		d.take(d.long())
	case fixed:
		d.take(int64(n.size))
	case union:
		d.skip(d.branch(n), depth+1)
	case record:
		for i := range n.fields {
			d.skip(n.fields[i].node, depth+1)
		}
	case array, mapping:
		d.skipItems(n, depth)
	}
}

// skipItems skips an array or a map, which are lists of blocks.
func (d *decoder) skipItems(n *node, depth int) {
	for d.err == nil {
		count := d.long()
		switch {
		case count == 0:
			return
		case count < 0: // the block's size follows
			d.take(d.long())
			continue
		case n.kind == array && n.parts[0].empty(): // of which there may be any number
			continue
		}
		for range count {
			if n.kind == mapping {
				d.take(d.long())
			}
			d.skip(n.parts[0], depth+1)
			if d.err != nil {
				return
			}
		}
	}
}

// value passes a value to its target and returns the reason why it cannot be used.
func (d *decoder) value(n *node, to *dataset.FieldSink, row []float32) (reason string) {
	for range maxDepth {
		if n.kind != union {
			break
		}
		n = d.branch(n)
	}
	if d.err != nil {
		return ""
	}
	switch n.kind {
	case null:
		return to.Null(row)
	case boolean:
		if b := d.take(1); d.err == nil {
			return to.Bool(row, b[0] != 0)
		}
	case integer:
		if v := d.long(); d.err == nil {
			return passInteger(n, to, row, v)
		}
	case float:
		if b := d.take(4); d.err == nil {
			return to.Float32(row, math.Float32frombits(stdbinary.LittleEndian.Uint32(b)))
		}
	case double:
		if b := d.take(8); d.err == nil {
			return to.Float(row, math.Float64frombits(stdbinary.LittleEndian.Uint64(b)))
		}
	case binary, text, fixed:
		size := int64(n.size)
		if n.kind != fixed {
			size = d.long()
		}
		if b := d.take(size); d.err == nil {
			return passBytes(n, to, row, b)
		}
	case enum:
		i := d.long()
		if d.err == nil && i >= 0 && i < int64(len(n.symbols)) {
			return to.Text(row, n.symbols[i])
		}
		d.fail()
	default:
		d.skip(n, 0)
		return dataset.IsNested
	}
	return ""
}

// perSecond are the units of times.
var perSecond = map[string]int64{
	"time-millis": 1e3, "time-micros": 1e6,
	"timestamp-millis": 1e3, "timestamp-micros": 1e6, "timestamp-nanos": 1e9,
	"local-timestamp-millis": 1e3, "local-timestamp-micros": 1e6, "local-timestamp-nanos": 1e9,
}

// passInteger passes an integer, or the date or time that it stands for.
func passInteger(n *node, to *dataset.FieldSink, row []float32, v int64) string {
	if n.logical == "" {
		return to.Int(row, v)
	}
	if n.logical == "date" {
		return to.Time(row, time.Unix(v*86400, 0), dataset.DateLayout)
	}
	per := perSecond[n.logical]
	if per == 0 {
		return to.Int(row, v)
	}
	t := time.Unix(v/per, v%per*(1e9/per))
	if n.logical[:5] == "time-" {
		return to.Time(row, t, dataset.ClockLayout)
	}
	return to.Time(row, t, dataset.StampLayout)
}

// passBytes passes a text, or the number that bytes stand for.
func passBytes(n *node, to *dataset.FieldSink, row []float32, b []byte) string {
	switch {
	case n.logical == "decimal" && n.kind != text:
		return to.Decimal(row, b, n.scale)
	case n.logical == "uuid" && n.kind == fixed && len(b) == 16:
		return to.UUID(row, b)
	case n.kind == fixed:
		return to.Text(row, hex.AppendEncode(nil, b))
	}
	return to.Text(row, b)
}
