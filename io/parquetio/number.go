package parquetio

import (
	"encoding/binary"
	"math"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/parquetio/meta"
)

// number describes a column of numbers that can be stored in rows without a call for each value.
type number struct {
	kind   int // one of the kinds below; 0 if the column needs a call for each value
	slot   int
	centre float64
}

const (
	fromDouble = 1 + iota
	fromFloat
	fromInt32
	fromInt64
)

// set finds out whether the numbers of a column can be stored in this way.
func (n *number) set(e *element, to *dataset.FieldSink) {
	d := to.Decoder()
	if d == nil {
		return
	}
	centre, simple := d.Simple(to.Column)
	if !simple {
		return
	}
	n.slot, n.centre = d.Slot(to.Column), centre
	integer := e.Logical == 0 || e.Logical == meta.LogicalInteger && !e.Unsigned
	switch {
	case e.Physical == meta.Double:
		n.kind = fromDouble
	case e.Physical == meta.Float && centre == 0:
		n.kind = fromFloat
	case e.Physical == meta.Int32 && integer:
		n.kind = fromInt32
	case e.Physical == meta.Int64 && integer:
		n.kind = fromInt64
	}
}

// storeNumbers stores the next m values of the page, none of which is missing.
func (c *columnReader) storeNumbers(rows []float32, width, at, m int, reject rejectFunc) error {
	n := &c.number
	if p, ok := c.values.(*plain); ok && n.kind == fromDouble {
		if 8*m > len(p.b) {
			return errPage
		}
		c.storeDoubles(rows, width, at, p.b[:8*m], reject)
		p.b = p.b[8*m:]
		return nil
	}
	v := values{fixed: c.scratch.fixed[:]}
	for m > 0 {
		got, err := c.values.next(m, &v)
		if err != nil {
			return err
		}
		for i, bits := range v.fixed[:got] {
			if x, ok := n.value(bits); ok {
				rows[(at+i)*width+n.slot] = x
			} else {
				c.storeOne(rows, width, at+i, bits, reject)
			}
		}
		at += got
		m -= got
	}
	return nil
}

// storeOne stores a number that needs care.
func (c *columnReader) storeOne(rows []float32, width, at int, bits uint64, reject rejectFunc) {
	reject.check(at, c.field, c.put(c.to, rows[at*width:(at+1)*width], bits, nil))
}

// The bits of the least and the greatest float64 whose float32 is normal.
const (
	leastBits = 0x3810000000000000
	maxBits   = 0x47efffffe0000000
)

// Half way between two float32, a float64 has only the first of the bits that float32 lacks.
const (
	lackedBits = 1<<29 - 1
	halfWay    = 1 << 28
)

// plainDouble reports whether the float64 with these bits needs no care: it is finite, and it
// rounds to the same float32 as the shortest decimal number that stands for it.
func plainDouble(bits uint64) bool {
	a := bits &^ (1 << 63)
	return bits&lackedBits != halfWay && a-leastBits <= maxBits-leastBits || a == 0
}

// storeDoubles stores the numbers in b.
func (c *columnReader) storeDoubles(rows []float32, width, at int, b []byte, reject rejectFunc) {
	centre := c.number.centre
	for to := at*width + c.number.slot; len(b) >= 8; b, at, to = b[8:], at+1, to+width {
		bits := binary.LittleEndian.Uint64(b)
		switch v := math.Float64frombits(bits); {
		case !plainDouble(bits):
			c.storeOne(rows, width, at, bits, reject)
		case centre != 0:
			rows[to] = float32(v - centre)
		default:
			rows[to] = float32(v)
		}
	}
}

// value returns the value in a row of a number that needs no care.
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
	if !plainDouble(math.Float64bits(v)) {
		return 0, false
	}
	if n.centre != 0 {
		return float32(v - n.centre), true
	}
	return float32(v), true
}
