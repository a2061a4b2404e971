package meta

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Footer is the metadata of a file.
type Footer struct {
	Elements []Element // the schema: a tree, each element before its children, from the root on
	Rows     int64
	Groups   []Group
}

// Element is an entry of the schema, about a column or a group of columns.
type Element struct {
	Physical  int64 // −1 for a group
	Length    int64 // of FixedArray
	Repeat    int64 // 0 required, 1 optional, 2 repeated
	Name      string
	Children  int64
	Converted int64 // −1 if there is none
	Logical   int64 // field of the union LogicalType, also for an older converted type; 0 if there is none
	Scale     int64
	Unit      int64 // 1 ms, 2 µs, 3 ns
	Unsigned  bool
}

// Group is a row group.
type Group struct {
	Rows   int64
	Chunks []Chunk // of all leaves of the schema
}

// Chunk is the part of a column in a row group. Its sizes count pages with their headers.
type Chunk struct {
	Physical   int64
	Codec      int64
	Values     int64
	Content    int64 // bytes after decompression
	Size       int64
	Data       int64 // where the first page of data begins in the file
	Dictionary int64 // where the dictionary begins; 0 if there is none
}

// Start returns where the chunk begins in the file.
func (c *Chunk) Start() int64 {
	if c.Dictionary > 0 && c.Dictionary < c.Data {
		return c.Dictionary
	}
	return c.Data
}

// ParseFooter parses a footer without its length and the Magic after it. Elements, groups and chunks are not checked.
func ParseFooter(b []byte) (f Footer, err error) {
	t := &reader{b: b}
	encrypted := false
	t.fields(func(id int64, kind byte) {
		switch {
		case id == 2 && kind == thriftList:
			t.structs(func() { f.Elements = append(f.Elements, t.element()) })
		case id == 4 && kind == thriftList:
			t.structs(func() { f.Groups = append(f.Groups, t.group()) })
		case id == 8:
			encrypted = true
			t.skip(kind)
		default:
			t.numbers(id, kind, nil, []*int64{3: &f.Rows})
		}
	})
	switch {
	case t.err != nil:
		return f, fmt.Errorf("its footer %w", t.err)
	case encrypted:
		return f, errors.New("has encrypted columns, which are not supported; decrypt it first")
	}
	return f, nil
}

// element reads a SchemaElement. Old types (ConvertedType) become the logical types that replaced them.
func (t *reader) element() (e Element) {
	e.Physical, e.Converted = -1, -1
	named := false
	ints := []*int64{1: &e.Physical, 2: &e.Length, 3: &e.Repeat, 5: &e.Children, 6: &e.Converted, 7: &e.Scale}
	t.fields(func(id int64, kind byte) {
		switch {
		case id == 4 && kind == thriftBinary:
			e.Name, named = string(t.bytes()), true
		case id == 10 && kind == thriftStruct:
			t.logical(&e)
		default:
			t.numbers(id, kind, ints, nil)
		}
	})
	if !named && e.Children == 0 {
		t.fail(errDamaged)
	}
	if old, ok := logicalOf[e.Converted]; ok && e.Logical == 0 {
		e.Logical, e.Unit, e.Unsigned = old.Logical, old.Unit, old.Unsigned
	}
	return e
}

// logical reads a LogicalType.
func (t *reader) logical(e *Element) {
	t.fields(func(id int64, kind byte) {
		e.Logical = id
		if kind != thriftStruct {
			t.skip(kind)
			return
		}
		t.fields(func(part int64, kind byte) {
			switch {
			case id == LogicalDecimal && part == 1 && kind == thriftI32:
				e.Scale = t.int()
			case id == LogicalInteger && part == 2:
				e.Unsigned = kind == thriftFalse
				t.skip(kind)
			case part == 2 && kind == thriftStruct: // the unit of a time
				t.fields(func(unit int64, kind byte) {
					e.Unit = unit
					t.skip(kind)
				})
			default:
				t.skip(kind)
			}
		})
	})
}

func (t *reader) group() (g Group) {
	t.fields(func(id int64, kind byte) {
		if id == 1 && kind == thriftList {
			t.structs(func() { g.Chunks = append(g.Chunks, t.chunk()) })
		} else {
			t.numbers(id, kind, nil, []*int64{3: &g.Rows})
		}
	})
	return g
}

// chunk reads a ColumnChunk with its ColumnMetaData. Encrypted columns and columns in other files are errors.
func (t *reader) chunk() (c Chunk) {
	seen := false
	ints := []*int64{1: &c.Physical, 4: &c.Codec}
	longs := []*int64{5: &c.Values, 6: &c.Content, 7: &c.Size, 9: &c.Data, 11: &c.Dictionary}
	t.fields(func(id int64, kind byte) {
		switch {
		case id == 1:
			t.fail(errors.New("names other files with the data, which is not supported"))
		case id == 3 && kind == thriftStruct:
			seen = true
			t.fields(func(id int64, kind byte) { t.numbers(id, kind, ints, longs) })
		case id == 8 || id == 9:
			t.fail(errors.New("says that a column is encrypted, which is not supported"))
		default:
			t.skip(kind)
		}
	})
	if !seen {
		t.fail(errDamaged)
	}
	return c
}

// Append appends the footer of a file of this module, with its length and the Magic. The columns are plain: required or
// optional, and of a type without parameters, except texts and unsigned integers of 64 bits.
func (f *Footer) Append(b []byte) []byte {
	t, from := writer{b: b}, len(b)
	t.i32(1, 1) // version of the format
	t.list(2, len(f.Elements), thriftStruct)
	for _, e := range f.Elements {
		t.element(func() { t.schema(e) })
	}
	t.i64(3, f.Rows)
	t.list(4, len(f.Groups), thriftStruct)
	for _, g := range f.Groups {
		t.element(func() { t.group(g, f.Elements[1:]) })
	}
	t.text(6, "bochner")
	t.stop()
	return append(binary.LittleEndian.AppendUint32(t.b, uint32(len(t.b)-from)), Magic...)
}

// schema writes a SchemaElement.
func (t *writer) schema(e Element) {
	if e.Physical >= 0 {
		t.i32(1, e.Physical)
		t.i32(3, e.Repeat)
	}
	t.text(4, e.Name)
	switch {
	case e.Physical < 0:
		t.i32(5, e.Children)
	case e.Physical == ByteArray:
		t.i32(6, 0) // text
		t.structure(10, func() { t.structure(LogicalString, func() {}) })
	case e.Unsigned:
		t.i32(6, 14) // 64 bits, unsigned
		t.structure(10, func() {
			t.structure(LogicalInteger, func() {
				t.field(1, thriftByte)
				t.b = append(t.b, 64)
				t.field(2, thriftFalse) // not signed
			})
		})
	}
}

// group writes a RowGroup.
func (t *writer) group(g Group, columns []Element) {
	var content, size int64
	t.list(1, len(g.Chunks), thriftStruct)
	for i, c := range g.Chunks {
		content += c.Content
		size += c.Size
		encodings := []int64{Plain, RLE}
		if c.Dictionary != 0 {
			encodings = append(encodings, Dictionary)
		}
		t.element(func() {
			t.i64(2, c.Start())
			t.structure(3, func() {
				t.i32(1, columns[i].Physical)
				t.list(2, len(encodings), thriftI32)
				for _, e := range encodings {
					t.varint(e)
				}
				t.list(3, 1, thriftBinary)
				t.bytes(columns[i].Name)
				t.i32(4, c.Codec)
				t.i64(5, g.Rows)
				t.i64(6, c.Content)
				t.i64(7, c.Size)
				t.i64(9, c.Data)
				if c.Dictionary != 0 {
					t.i64(11, c.Dictionary)
				}
			})
		})
	}
	t.i64(2, content)
	t.i64(3, g.Rows)
	t.i64(6, size)
}
