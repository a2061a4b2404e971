package parquet

import (
	"encoding/binary"
	"io"
	"math/bits"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Numbers of the format (apache/parquet-format, parquet.thrift).
const (
	magic = "PAR1"

	typeInt32     = 1
	typeInt64     = 2
	typeFloat     = 4
	typeDouble    = 5
	typeByteArray = 6

	encodingPlain      = 0
	encodingRuns       = 3 // of definition levels
	encodingDictionary = 8

	codecZstd = 6

	pageData       = 0
	pageDictionary = 2
)

// schemaElement describes a column.
type schemaElement struct {
	name     string
	physical int64
	unsigned bool
	optional bool
}

// file writes the parts of a file in turn. It keeps the first error.
type file struct {
	out    io.Writer
	at     int64
	err    error
	rows   int64
	groups []rowGroup
	page   []byte // scratch
	packed []byte
}

// rowGroup is the entry of a row group in the footer.
type rowGroup struct {
	rows   int
	chunks []columnChunk
}

// columnChunk is a column in a row group. Sizes count its pages with their headers.
type columnChunk struct {
	dictionary int64 // where its page begins; 0 if there is none
	data       int64
	plain      int64 // bytes before compression
	stored     int64
}

func (f *file) write(b []byte) {
	if f.err != nil {
		return
	}
	var n int
	n, f.err = f.out.Write(b)
	f.at += int64(n)
}

// begin begins a row group, and the file before the first.
func (f *file) begin(rows int) {
	f.start()
	f.rows += int64(rows)
	f.groups = append(f.groups, rowGroup{rows: rows})
}

func (f *file) start() {
	if f.at == 0 {
		f.write([]byte(magic))
	}
}

// chunk writes a column of the open row group; present are the encoded definition levels.
func (f *file) chunk(c *column, rows int, present []byte) {
	f.page = f.page[:0]
	if c.optional {
		f.page = binary.LittleEndian.AppendUint32(f.page, uint32(len(present)))
		f.page = append(f.page, present...)
	}
	encoding := int64(encodingPlain)
	if c.dictionary != nil {
		encoding = encodingDictionary
		f.page = appendIndices(f.page, c.indices, c.entries)
	} else {
		f.page = append(f.page, c.plain...)
	}
	var k columnChunk
	if c.dictionary != nil {
		k.dictionary = f.at
		f.writePage(&k, pageDictionary, c.dictionary, func(t *thrift) {
			t.structure(7, func() {
				t.i32(1, int64(c.entries))
				t.i32(2, encodingPlain)
			})
		})
	}
	k.data = f.at
	f.writePage(&k, pageData, f.page, func(t *thrift) {
		t.structure(5, func() {
			t.i32(1, int64(rows))
			t.i32(2, encoding)
			t.i32(3, encodingRuns)
			t.i32(4, encodingRuns)
		})
	})
	group := &f.groups[len(f.groups)-1]
	group.chunks = append(group.chunks, k)
}

// writePage writes a page and adds its size to the chunk's. All pages are compressed: some
// readers take the codec of a column from its first row group.
func (f *file) writePage(k *columnChunk, kind int64, page []byte, about func(*thrift)) {
	f.packed = zstdEncoder().EncodeAll(page, f.packed[:0])
	var t thrift
	t.i32(1, kind)
	t.i32(2, int64(len(page)))
	t.i32(3, int64(len(f.packed)))
	about(&t)
	t.stop()
	f.write(t.b)
	f.write(f.packed)
	k.plain += int64(len(t.b) + len(page))
	k.stored += int64(len(t.b) + len(f.packed))
}

// end writes the footer.
func (f *file) end(columns []*schemaElement) error {
	f.start()
	var t thrift
	t.i32(1, 1) // version of the format
	t.list(2, 1+len(columns), thriftStruct)
	t.element(func() {
		t.text(4, "schema")
		t.i32(5, int64(len(columns)))
	})
	for _, c := range columns {
		t.element(func() { t.column(c) })
	}
	t.i64(3, f.rows)
	t.list(4, len(f.groups), thriftStruct)
	for _, g := range f.groups {
		t.element(func() { t.rowGroup(g, columns) })
	}
	t.text(6, "bochner")
	t.stop()
	t.b = binary.LittleEndian.AppendUint32(t.b, uint32(len(t.b)))
	f.write(append(t.b, magic...))
	return f.err
}

// column writes a SchemaElement.
func (t *thrift) column(c *schemaElement) {
	const (
		required, optional  = 0, 1
		convertedText       = 0
		convertedUnsigned64 = 14
	)
	t.i32(1, c.physical)
	if c.optional {
		t.i32(3, optional)
	} else {
		t.i32(3, required)
	}
	t.text(4, c.name)
	switch {
	case c.physical == typeByteArray:
		t.i32(6, convertedText)
		t.structure(10, func() { t.structure(1, func() {}) })
	case c.unsigned:
		t.i32(6, convertedUnsigned64)
		t.structure(10, func() {
			t.structure(10, func() {
				t.i8(1, 64)
				t.no(2) // not signed
			})
		})
	}
}

// rowGroup writes a RowGroup.
func (t *thrift) rowGroup(g rowGroup, columns []*schemaElement) {
	var plain, stored int64
	t.list(1, len(g.chunks), thriftStruct)
	for i, k := range g.chunks {
		plain, stored = plain+k.plain, stored+k.stored
		first := k.data
		encodings := []int64{encodingPlain, encodingRuns}
		if k.dictionary != 0 {
			first = k.dictionary
			encodings = append(encodings, encodingDictionary)
		}
		t.element(func() {
			t.i64(2, first)
			t.structure(3, func() {
				t.i32(1, columns[i].physical)
				t.list(2, len(encodings), thriftI32)
				for _, e := range encodings {
					t.varint(e)
				}
				t.list(3, 1, thriftBinary)
				t.bytes(columns[i].name)
				t.i32(4, codecZstd)
				t.i64(5, int64(g.rows))
				t.i64(6, k.plain)
				t.i64(7, k.stored)
				t.i64(9, k.data)
				if k.dictionary != 0 {
					t.i64(11, k.dictionary)
				}
			})
		})
	}
	t.i64(2, plain)
	t.i64(3, int64(g.rows))
	t.i64(6, stored)
}

// zstdEncoder is used by all files. Its output depends on the input alone.
var zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("export: parquet: " + err.Error()) // the options are constants
	}
	return e
})

// appendPresence appends definition levels of one bit, as runs.
func appendPresence(b []byte, runs []runOf) []byte {
	for i := 0; i < len(runs); {
		n, present := 0, runs[i].present
		for ; i < len(runs) && runs[i].present == present; i++ {
			n += runs[i].n
		}
		b = binary.AppendUvarint(b, uint64(n)<<1)
		if present {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	return b
}

// appendIndices appends indices of a dictionary: their number of bits, and then one run of them,
// the lowest bits first.
func appendIndices(b []byte, indices []int32, entries int) []byte {
	width := max(1, bits.Len(uint(max(entries-1, 0))))
	b = append(b, byte(width))
	if len(indices) == 0 {
		return b
	}
	groups := (len(indices) + 7) / 8
	b = binary.AppendUvarint(b, uint64(groups)<<1|1)
	end := len(b) + groups*width
	var held uint64
	have := 0
	for _, index := range indices {
		held |= uint64(uint32(index)) << have
		for have += width; have >= 8; have -= 8 {
			b = append(b, byte(held))
			held >>= 8
		}
	}
	if have > 0 {
		b = append(b, byte(held))
	}
	return append(b, make([]byte, end-len(b))...)
}
