package parquetio

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/parquetio/meta"
	"github.com/bochner-ml/bochner/io/rowio"
)

// sink takes the values of a column.
type sink = *dataset.FieldSink

// putFunc passes a value to its target: fixed holds the bits of values of up to 8 bytes, b
// the others.
type putFunc func(to sink, row []float32, fixed uint64, b []byte) (reason string)

// putFunc returns how the values of a column are passed, or the reason why they cannot be.
func (c *column) putFunc() (putFunc, error) {
	if c.nested {
		return nil, dataset.NestedColumnError(c.name)
	}
	if p := c.element.putFunc(); p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("column %s has values of %s, which are not supported; drop the column",
		dataset.Quote(c.name), c.element.what())
}

// what returns the name of a type for messages.
func (e *element) what() string {
	names := []string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}
	name := "an unknown type"
	if e.Physical >= 0 && e.Physical < int64(len(names)) {
		name = "type " + names[e.Physical]
	}
	switch {
	case e.Logical == meta.LogicalBSON:
		name += " (BSON)"
	case e.Logical != 0:
		name += fmt.Sprintf(" (logical type %d)", e.Logical)
	}
	return name
}

// putFunc returns the function that stores values of the column in rows, by its physical and logical type; nil if the
// type is not supported.
func (e *element) putFunc() putFunc {
	decimal := func(to sink, row []float32, _ uint64, b []byte) string { return to.Decimal(row, b, e.Scale) }
	switch e.Physical {
	case meta.Boolean:
		return func(to sink, row []float32, fixed uint64, _ []byte) string { return to.Bool(row, fixed != 0) }
	case meta.Int32, meta.Int64:
		return e.putInteger()
	case meta.Int96:
		return putInt96
	case meta.Float:
		return func(to sink, row []float32, fixed uint64, _ []byte) string {
			return to.Float32(row, math.Float32frombits(uint32(fixed)))
		}
	case meta.Double:
		return func(to sink, row []float32, fixed uint64, _ []byte) string {
			return to.Float(row, math.Float64frombits(fixed))
		}
	case meta.ByteArray:
		switch e.Logical {
		case 0, meta.LogicalString, meta.LogicalEnum, meta.LogicalJSON:
			return func(to sink, row []float32, _ uint64, b []byte) string { return to.Text(row, b) }
		case meta.LogicalDecimal:
			return decimal
		}
	case meta.FixedArray:
		switch {
		case e.Length < 1 || e.Length > maxFixed: // cannot be read
		case e.Logical == meta.LogicalDecimal:
			return decimal
		case e.Logical == meta.LogicalUUID && e.Length == 16:
			return func(to sink, row []float32, _ uint64, b []byte) string { return to.UUID(row, b) }
		case e.Logical == meta.LogicalFloat16 && e.Length == 2:
			return func(to sink, row []float32, _ uint64, b []byte) string {
				return to.Float(row, float64(rowio.Float16(binary.LittleEndian.Uint16(b))))
			}
		}
	}
	return nil
}

// putInteger returns how the values of an integer type are passed.
func (e *element) putInteger() putFunc {
	signed := func(fixed uint64) int64 { return int64(fixed) }
	if e.Physical == meta.Int32 {
		signed = func(fixed uint64) int64 { return int64(int32(fixed)) }
	}
	switch e.Logical {
	case meta.LogicalInteger:
		if mask := uint64(math.MaxUint64); e.Unsigned {
			if e.Physical == meta.Int32 {
				mask = math.MaxUint32
			}
			return func(to sink, row []float32, fixed uint64, _ []byte) string { return to.Uint(row, fixed&mask) }
		}
	case meta.LogicalDecimal:
		return func(to sink, row []float32, fixed uint64, _ []byte) string {
			var b [8]byte
			binary.BigEndian.PutUint64(b[:], uint64(signed(fixed)))
			return to.Decimal(row, b[:], e.Scale)
		}
	case meta.LogicalDate:
		return func(to sink, row []float32, fixed uint64, _ []byte) string {
			return to.Time(row, time.Unix(signed(fixed)*86400, 0), dataset.DateLayout)
		}
	case meta.LogicalTime, meta.LogicalTimestamp:
		layout := dataset.StampLayout
		if e.Logical == meta.LogicalTime {
			layout = dataset.ClockLayout
		}
		perSecond := map[int64]int64{1: 1e3, 2: 1e6, 3: 1e9}[e.Unit]
		if perSecond == 0 {
			return nil
		}
		return func(to sink, row []float32, fixed uint64, _ []byte) string {
			n := signed(fixed)
			return to.Time(row, time.Unix(n/perSecond, n%perSecond*(1e9/perSecond)), layout)
		}
	case 0, meta.LogicalUnknown:
	default:
		return nil
	}
	return func(to sink, row []float32, fixed uint64, _ []byte) string { return to.Int(row, signed(fixed)) }
}

// putInt96 passes a time of the oldest kind: nanoseconds of a Julian day.
func putInt96(to sink, row []float32, _ uint64, b []byte) string {
	nanos, day := int64(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint32(b[8:]))
	const day1970 = 2440588
	return to.Time(row, time.Unix((day-day1970)*86400+nanos/1e9, nanos%1e9), dataset.StampLayout)
}

// maxFixed is the largest number of bytes of a value of fixed length.
const maxFixed = 64
