package meta

import (
	"encoding/binary"
	"errors"
)

// reader reads the compact protocol of Apache Thrift. The first error stays; reads after it return zeros.
type reader struct {
	b   []byte
	at  int
	err error
}

// ErrShort means that the bytes end before the metadata.
var ErrShort = errors.New("ends early")

var errDamaged = errors.New("is damaged (its metadata cannot be decoded)")

// Types of the protocol.
const (
	thriftStop = iota
	thriftTrue
	thriftFalse
	thriftByte
	thriftI16
	thriftI32
	thriftI64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
)

func (t *reader) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *reader) byte() byte {
	if t.err != nil || t.at >= len(t.b) {
		t.fail(ErrShort)
		return 0
	}
	t.at++
	return t.b[t.at-1]
}

func (t *reader) uvarint() uint64 {
	if t.err != nil {
		return 0
	}
	v, n := binary.Uvarint(t.b[t.at:])
	switch {
	case n == 0:
		t.fail(ErrShort)
	case n < 0:
		t.fail(errDamaged)
	}
	if n <= 0 {
		return 0
	}
	t.at += n
	return v
}

// int reads an integer of 16, 32 or 64 bits.
func (t *reader) int() int64 {
	v := t.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// bytes reads a string, which shares the memory of the input.
func (t *reader) bytes() []byte {
	n := t.uvarint()
	if t.err != nil || n > uint64(len(t.b)-t.at) {
		t.fail(ErrShort)
		return nil
	}
	t.at += int(n)
	return t.b[t.at-int(n) : t.at]
}

// fields calls read for each field of a struct. It must consume the field, with skip if need be.
func (t *reader) fields(read func(id int64, kind byte)) {
	id := int64(0)
	for t.err == nil {
		head := t.byte()
		kind := head & 15
		if t.err != nil || kind == thriftStop {
			return
		}
		if delta := head >> 4; delta != 0 {
			id += int64(delta)
		} else {
			id = t.int()
		}
		read(id, kind)
	}
}

// list reads the beginning of a list. Each element takes at least one byte.
func (t *reader) list() (n int, kind byte) {
	head := t.byte()
	size := uint64(head >> 4)
	if size == 15 {
		size = t.uvarint()
	}
	if t.err != nil || size > uint64(len(t.b)-t.at) {
		t.fail(ErrShort)
		return 0, 0
	}
	return int(size), head & 15
}

// numbers reads the field id into its place in ints or longs, if the field is an integer of 32 or of 64 bits and has a
// place there. It skips other fields.
func (t *reader) numbers(id int64, kind byte, ints, longs []*int64) {
	to := ints
	if kind == thriftI64 {
		to = longs
	}
	if kind != thriftI32 && kind != thriftI64 || id < 0 || id >= int64(len(to)) || to[id] == nil {
		t.skip(kind)
		return
	}
	*to[id] = t.int()
}

// structs calls read for each struct of a list of them.
func (t *reader) structs(read func()) {
	n, kind := t.list()
	for range n {
		if kind != thriftStruct {
			t.fail(errDamaged)
		}
		if t.err != nil {
			return
		}
		read()
	}
}

// skip skips a field.
func (t *reader) skip(kind byte) { t.skipDeep(kind, 32) }

// element returns the kind of an element of a list: a boolean is a byte there, whereas its kind is the value of a
// field.
func element(kind byte) byte {
	if kind == thriftTrue || kind == thriftFalse {
		return thriftByte
	}
	return kind
}

// skipDeep skips the value of a field.
func (t *reader) skipDeep(kind byte, depth int) {
	if depth == 0 {
		t.fail(errDamaged)
	}
	if t.err != nil {
		return
	}
	switch kind {
	case thriftTrue, thriftFalse: // no bytes
	case thriftByte:
		t.byte()
	case thriftI16, thriftI32, thriftI64:
		t.uvarint()
	case thriftDouble:
		if len(t.b)-t.at < 8 {
			t.fail(ErrShort)
			return
		}
		t.at += 8
	case thriftBinary:
		t.bytes()
	case thriftList, thriftSet:
		n, kind := t.list()
		for range n {
			t.skipDeep(element(kind), depth-1)
			if t.err != nil {
				return
			}
		}
	case thriftMap:
		n := t.uvarint()
		if n == 0 {
			return
		}
		kinds := t.byte()
		for range n {
			t.skipDeep(element(kinds>>4), depth-1)
			t.skipDeep(element(kinds&15), depth-1)
			if t.err != nil {
				return
			}
		}
	case thriftStruct:
		t.fields(func(_ int64, kind byte) { t.skipDeep(kind, depth-1) })
	default:
		t.fail(errDamaged)
	}
}
