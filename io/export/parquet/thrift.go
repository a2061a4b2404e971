package parquet

import "encoding/binary"

// Types of the compact protocol of Apache Thrift.
const (
	thriftFalse  = 2
	thriftByte   = 3
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

// thrift writes the compact protocol, in which Parquet has its metadata. The fields of a struct
// are written in the order of their numbers.
type thrift struct {
	b    []byte
	last int // number of the last field of the open struct
}

// field begins a field.
func (t *thrift) field(id int, kind byte) {
	t.b = append(t.b, byte(id-t.last)<<4|kind) // numbers differ by less than 16
	t.last = id
}

func (t *thrift) varint(v int64) { t.b = binary.AppendVarint(t.b, v) }

func (t *thrift) bytes(text string) {
	t.b = append(binary.AppendUvarint(t.b, uint64(len(text))), text...)
}

func (t *thrift) i8(id int, v int8) {
	t.field(id, thriftByte)
	t.b = append(t.b, byte(v))
}

func (t *thrift) i32(id int, v int64) {
	t.field(id, thriftI32)
	t.varint(v)
}

func (t *thrift) i64(id int, v int64) {
	t.field(id, thriftI64)
	t.varint(v)
}

// no writes a boolean field that is false.
func (t *thrift) no(id int) { t.field(id, thriftFalse) }

func (t *thrift) text(id int, text string) {
	t.field(id, thriftBinary)
	t.bytes(text)
}

// list begins a list of n elements, which follow.
func (t *thrift) list(id, n int, kind byte) {
	t.field(id, thriftList)
	if n < 15 {
		t.b = append(t.b, byte(n)<<4|kind)
		return
	}
	t.b = binary.AppendUvarint(append(t.b, 15<<4|kind), uint64(n))
}

// structure writes a field that is a struct, whose fields are written by the function.
func (t *thrift) structure(id int, fields func()) {
	t.field(id, thriftStruct)
	t.element(fields)
}

// element writes a struct in a list.
func (t *thrift) element(fields func()) {
	outer := t.last
	t.last = 0
	fields()
	t.stop()
	t.last = outer
}

// stop ends a struct.
func (t *thrift) stop() { t.b = append(t.b, 0) }
