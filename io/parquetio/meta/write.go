package meta

import "encoding/binary"

// writer writes the compact protocol of Apache Thrift. Fields of a struct are written in the order of their numbers.
type writer struct {
	b    []byte
	last int // number of the last field of the open struct
}

// field begins a field.
func (t *writer) field(id int, kind byte) {
	t.b = append(t.b, byte(id-t.last)<<4|kind) // numbers differ by less than 16
	t.last = id
}

func (t *writer) varint(v int64) { t.b = binary.AppendVarint(t.b, v) }

func (t *writer) bytes(text string) {
	t.b = append(binary.AppendUvarint(t.b, uint64(len(text))), text...)
}

func (t *writer) i32(id int, v int64) {
	t.field(id, thriftI32)
	t.varint(v)
}

func (t *writer) i64(id int, v int64) {
	t.field(id, thriftI64)
	t.varint(v)
}

func (t *writer) text(id int, text string) {
	t.field(id, thriftBinary)
	t.bytes(text)
}

// list begins a list of n elements, which follow.
func (t *writer) list(id, n int, kind byte) {
	t.field(id, thriftList)
	if n < 15 {
		t.b = append(t.b, byte(n)<<4|kind)
		return
	}
	t.b = binary.AppendUvarint(append(t.b, 15<<4|kind), uint64(n))
}

// structure writes a field that is a struct, whose fields are written by the function.
func (t *writer) structure(id int, fields func()) {
	t.field(id, thriftStruct)
	t.element(fields)
}

// element writes a struct in a list.
func (t *writer) element(fields func()) {
	outer := t.last
	t.last = 0
	fields()
	t.stop()
	t.last = outer
}

// stop ends a struct.
func (t *writer) stop() { t.b = append(t.b, 0) }
