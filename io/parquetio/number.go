package parquetio

import (
	"math"

	"github.com/bochner-ml/bochner/io/table"
)

// number says how a column of numbers is stored in rows without a call for each value.
type number struct {
	kind   int // 0 if it cannot be; otherwise one of the kinds below
	slot   int
	centre float64
}

const (
	fromDouble = 1 + iota
	fromFloat
	fromInt32
	fromInt64
)

// set finds out whether the numbers of a column can be stored so.
func (n *number) set(e *element, to *table.Target) {
	d := to.Decoder()
	if d == nil {
		return
	}
	centre, simple := d.Simple(to.Column)
	if !simple {
		return
	}
	n.slot, n.centre = d.Slot(to.Column), centre
	integer := e.logical == 0 && (e.converted < 0 || e.converted >= 15 && e.converted <= 18) || e.logical == logicalInteger && !e.unsigned
	switch {
	case e.physical == doubles:
		n.kind = fromDouble
	case e.physical == floats && centre == 0:
		n.kind = fromFloat
	case e.physical == int32s && integer:
		n.kind = fromInt32
	case e.physical == int64s && integer:
		n.kind = fromInt64
	}
}

// storeNumbers stores the next m values of the page, none of which is missing.
func (c *columnReader) storeNumbers(rows []float32, width, at, m int, bad bad) error {
	v := values{fixed: c.scratch.fixed[:]}
	n := &c.number
	for m > 0 {
		got, err := c.values.next(m, &v)
		if err != nil {
			return err
		}
		for i, bits := range v.fixed[:got] {
			x, ok := n.value(bits)
			if to := (at+i)*width + n.slot; ok {
				rows[to] = x
			} else if reason := c.put(c.to, rows[(at+i)*width:(at+i+1)*width], bits, nil); reason != "" {
				bad(at+i, c.field, reason)
			}
		}
		at, m = at+got, m-got
	}
	return nil
}

// value returns the value in a row of a number that needs no care: which is finite, and which
// rounds to the same float32 as the shortest decimal number that stands for it.
func (n *number) value(bits uint64) (x float32, ok bool) {
	var v float64
	switch n.kind {
	case fromDouble:
		v = math.Float64frombits(bits)
	case fromFloat:
		x = math.Float32frombits(uint32(bits))
		return x, math.Abs(float64(x)) <= math.MaxFloat32
	case fromInt32:
		v = float64(int32(bits))
	default:
		i := int64(bits)
		if i < -1<<53 || i > 1<<53 {
			return 0, false
		}
		v = float64(i)
	}
	const midpoint, mask = 1 << 28, 1<<29 - 1
	a := math.Abs(v)
	if math.Float64bits(v)&mask == midpoint || a < 0x1p-126 && a != 0 {
		return 0, false
	}
	x = float32(v)
	if !(math.Abs(float64(x)) <= math.MaxFloat32) {
		return 0, false
	}
	if n.centre != 0 {
		x = float32(v - n.centre)
	}
	return x, true
}
