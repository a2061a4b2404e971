package parquetio

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
)

// Physical types.
const (
	boolean = iota
	int32s
	int64s
	int96s
	floats
	doubles
	byteArray
	fixedArray
)

// Members of the union LogicalType.
const (
	logicalString    = 1
	logicalEnum      = 4
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTime      = 7
	logicalTimestamp = 8
	logicalInteger   = 10
	logicalUnknown   = 11
	logicalJSON      = 12
	logicalBSON      = 13
	logicalUUID      = 14
	logicalFloat16   = 15
)

// logicalOf maps the older converted types to logical types.
var logicalOf = map[int64]element{
	0: {logical: logicalString}, 4: {logical: logicalEnum}, 5: {logical: logicalDecimal}, 6: {logical: logicalDate},
	7: {logical: logicalTime, unit: 1}, 8: {logical: logicalTime, unit: 2},
	9: {logical: logicalTimestamp, unit: 1}, 10: {logical: logicalTimestamp, unit: 2},
	11: {logical: logicalInteger, unsigned: true}, 12: {logical: logicalInteger, unsigned: true},
	13: {logical: logicalInteger, unsigned: true}, 14: {logical: logicalInteger, unsigned: true},
	15: {logical: logicalInteger}, 16: {logical: logicalInteger},
	17: {logical: logicalInteger}, 18: {logical: logicalInteger},
	19: {logical: logicalJSON}, 20: {logical: logicalBSON}, 21: {logical: -1},
}

// putFunc passes a value to its target: fixed holds the bits of values of up to 8 bytes, b
// the others.
type putFunc func(to *dataset.FieldSink, row []float32, fixed uint64, b []byte) (reason string)

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
	if e.physical >= 0 && e.physical < int64(len(names)) {
		name = "type " + names[e.physical]
	}
	switch {
	case e.logical == logicalBSON:
		name += " (BSON)"
	case e.logical != 0:
		name += fmt.Sprintf(" (logical type %d)", e.logical)
	}
	return name
}

func (e *element) putFunc() putFunc {
	switch e.physical {
	case boolean:
		return func(to *dataset.FieldSink, row []float32, fixed uint64, _ []byte) string {
			return to.Bool(row, fixed != 0)
		}
	case int32s, int64s:
		return e.putInteger()
	case int96s:
		return putInt96
	case floats:
		return func(to *dataset.FieldSink, row []float32, fixed uint64, _ []byte) string {
			return to.Float32(row, math.Float32frombits(uint32(fixed)))
		}
	case doubles:
		return func(to *dataset.FieldSink, row []float32, fixed uint64, _ []byte) string {
			return to.Float(row, math.Float64frombits(fixed))
		}
	case byteArray:
		switch e.logical {
		case 0, logicalString, logicalEnum, logicalJSON:
			return putText
		case logicalDecimal:
			return putDecimal(e.scale)
		}
	case fixedArray:
		switch {
		case e.length < 1 || e.length > maxFixed:
		case e.logical == logicalDecimal:
			return putDecimal(e.scale)
		case e.logical == logicalUUID && e.length == 16:
			return func(to *dataset.FieldSink, row []float32, _ uint64, b []byte) string { return to.UUID(row, b) }
		case e.logical == logicalFloat16 && e.length == 2:
			return func(to *dataset.FieldSink, row []float32, _ uint64, b []byte) string {
				return to.Float(row, float64(rowio.Float16(binary.LittleEndian.Uint16(b))))
			}
		}
	}
	return nil
}

// putInteger returns how the values of an integer type are passed.
func (e *element) putInteger() putFunc {
	signed := func(fixed uint64) int64 { return int64(fixed) }
	if e.physical == int32s {
		signed = func(fixed uint64) int64 { return int64(int32(fixed)) }
	}
	switch e.logical {
	case logicalInteger:
		if e.unsigned && e.physical == int32s {
			return func(to *dataset.FieldSink, row []float32, fixed uint64, _ []byte) string {
				return to.Uint(row, uint64(uint32(fixed)))
			}
		} else if e.unsigned {
			return func(to *dataset.FieldSink, row []float32, fixed uint64, _ []byte) string { return to.Uint(row, fixed) }
		}
	case logicalDecimal:
		scale := e.scale
		return func(to *dataset.FieldSink, row []float32, fixed uint64, _ []byte) string {
			var b [8]byte
			binary.BigEndian.PutUint64(b[:], uint64(signed(fixed)))
			return to.Decimal(row, b[:], scale)
		}
	case logicalDate:
		return func(to *dataset.FieldSink, row []float32, fixed uint64, _ []byte) string {
			return to.Time(row, time.Unix(signed(fixed)*86400, 0), dataset.DateLayout)
		}
	case logicalTime, logicalTimestamp:
		layout := dataset.StampLayout
		if e.logical == logicalTime {
			layout = dataset.ClockLayout
		}
		perSecond := map[int64]int64{1: 1e3, 2: 1e6, 3: 1e9}[e.unit]
		if perSecond == 0 {
			return nil
		}
		return func(to *dataset.FieldSink, row []float32, fixed uint64, _ []byte) string {
			n := signed(fixed)
			return to.Time(row, time.Unix(n/perSecond, n%perSecond*(1e9/perSecond)), layout)
		}
	case 0, logicalUnknown:
	default:
		return nil
	}
	return func(to *dataset.FieldSink, row []float32, fixed uint64, _ []byte) string {
		return to.Int(row, signed(fixed))
	}
}

// putInt96 passes a time of the oldest kind: nanoseconds of a Julian day.
func putInt96(to *dataset.FieldSink, row []float32, _ uint64, b []byte) string {
	nanos, day := int64(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint32(b[8:]))
	const day1970 = 2440588
	return to.Time(row, time.Unix((day-day1970)*86400+nanos/1e9, nanos%1e9), dataset.StampLayout)
}

func putText(to *dataset.FieldSink, row []float32, _ uint64, b []byte) string { return to.Text(row, b) }

// putDecimal passes a decimal number.
func putDecimal(scale int64) putFunc {
	return func(to *dataset.FieldSink, row []float32, _ uint64, b []byte) string {
		return to.Decimal(row, b, scale)
	}
}

// maxFixed is the largest number of bytes of a value of fixed length.
const maxFixed = 64
