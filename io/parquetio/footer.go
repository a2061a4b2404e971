package parquetio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

const magic = "PAR1"

// tail is the number of bytes at the end of a file that are read first. Most footers fit in it.
const tail = 64 << 10

// footer is the metadata of a file.
type footer struct {
	columns []column
	names   []string // of the columns
	groups  []group
	rows    int64
}

// column is a column of the table: a field of the schema's root.
type column struct {
	name     string
	element  element
	leaf     int  // index of its chunk in a row group
	nested   bool // it has fields or repeated values that cannot become columns
	optional bool
	list     *list // list of which the column is an element; nil for a plain column
	item     int   // index of the element
}

// element is an entry of the schema, about a column or a group of columns.
type element struct {
	physical  int64 // −1 for a group
	length    int64 // of FIXED_LEN_BYTE_ARRAY
	repeat    int64 // 0 required, 1 optional, 2 repeated
	name      []byte
	children  int64
	converted int64 // −1 if there is none
	logical   int64 // field of the union LogicalType, also for an older converted type; 0 if there is none
	scale     int64
	unit      int64 // 1 ms, 2 µs, 3 ns
	unsigned  bool
}

// group is a row group.
type group struct {
	rows   int64
	chunks []chunk // of all leaves
}

// chunk is the part of a column in a row group.
type chunk struct {
	physical int64
	codec    int64
	values   int64
	start    int64 // in the file
	size     int64
	content  int64 // bytes after decompression
}

// footerSize returns the number of bytes of the footer, which ends the file. end holds the last
// bytes of the file, size is its size.
func footerSize(end []byte, size int64) (int64, error) {
	if n := len(end); n < 8 || size < 12 || string(end[n-4:]) != magic {
		if n >= 4 && string(end[n-4:]) == "PARE" {
			return 0, errors.New("is an encrypted Parquet file, which is not supported; decrypt it first")
		}
		return 0, errors.New("does not end like a Parquet file (truncated?)")
	}
	n := int64(binary.LittleEndian.Uint32(end[len(end)-8:])) + 8
	if n > size-4 {
		return 0, fmt.Errorf("is damaged: its footer has %d bytes, the file %d", n, size)
	}
	return n, nil
}

// parseFooter parses the footer, which ends with b, of a file of size bytes.
func parseFooter(b []byte, size int64) (*footer, error) {
	var f footer
	var elements []element
	t := &thrift{b: b[:len(b)-8]}
	encrypted := false
	t.fields(func(id int64, kind byte) {
		switch {
		case id == 2 && kind == thriftList:
			t.structs(func() { elements = append(elements, t.element()) })
		case id == 3 && kind == thriftI64:
			f.rows = t.int()
		case id == 4 && kind == thriftList:
			t.structs(func() { f.groups = append(f.groups, t.group()) })
		case id == 8:
			encrypted = true
			t.skip(kind)
		default:
			t.skip(kind)
		}
	})
	switch {
	case t.err != nil:
		return nil, fmt.Errorf("its footer %w", t.err)
	case encrypted:
		return nil, errors.New("has encrypted columns, which are not supported; decrypt it first")
	}
	leaves, err := f.schema(elements)
	if err == nil {
		err = f.check(leaves, size)
	}
	return &f, err
}

// element reads an element of the schema.
func (t *thrift) element() (e element) {
	e.physical, e.converted = -1, -1
	t.fields(func(id int64, kind byte) {
		switch {
		case id == 1 && kind == thriftI32:
			e.physical = t.int()
		case id == 2 && kind == thriftI32:
			e.length = t.int()
		case id == 3 && kind == thriftI32:
			e.repeat = t.int()
		case id == 4 && kind == thriftBinary:
			e.name = t.bytes()
		case id == 5 && kind == thriftI32:
			e.children = t.int()
		case id == 6 && kind == thriftI32:
			e.converted = t.int()
		case id == 7 && kind == thriftI32:
			e.scale = t.int()
		case id == 10 && kind == thriftStruct:
			t.logical(&e)
		default:
			t.skip(kind)
		}
	})
	if e.name == nil && e.children == 0 {
		t.fail(errThrift)
	}
	if old, ok := logicalOf[e.converted]; ok && e.logical == 0 {
		e.logical, e.unit, e.unsigned = old.logical, old.unit, old.unsigned
	}
	return e
}

// logical reads a LogicalType.
func (t *thrift) logical(e *element) {
	t.fields(func(id int64, kind byte) {
		e.logical = id
		if kind != thriftStruct {
			t.skip(kind)
			return
		}
		t.fields(func(part int64, kind byte) {
			switch {
			case id == logicalDecimal && part == 1 && kind == thriftI32:
				e.scale = t.int()
			case id == logicalInteger && part == 2:
				e.unsigned = kind == thriftFalse
				t.skip(kind)
			case part == 2 && kind == thriftStruct: // the unit of a time
				t.fields(func(unit int64, kind byte) {
					e.unit = unit
					t.skip(kind)
				})
			default:
				t.skip(kind)
			}
		})
	})
}

// group reads a row group.
func (t *thrift) group() (g group) {
	t.fields(func(id int64, kind byte) {
		switch {
		case id == 1 && kind == thriftList:
			t.structs(func() { g.chunks = append(g.chunks, t.chunk()) })
		case id == 3 && kind == thriftI64:
			g.rows = t.int()
		default:
			t.skip(kind)
		}
	})
	return g
}

// chunk reads the metadata of a column in a row group.
func (t *thrift) chunk() (c chunk) {
	var data, dictionary int64
	seen := false
	t.fields(func(id int64, kind byte) {
		switch {
		case id == 1:
			t.fail(errors.New("names other files with the data, which is not supported"))
		case id == 3 && kind == thriftStruct:
			seen = true
			t.fields(func(id int64, kind byte) {
				switch {
				case id == 1 && kind == thriftI32:
					c.physical = t.int()
				case id == 4 && kind == thriftI32:
					c.codec = t.int()
				case id == 5 && kind == thriftI64:
					c.values = t.int()
				case id == 6 && kind == thriftI64:
					c.content = t.int()
				case id == 7 && kind == thriftI64:
					c.size = t.int()
				case id == 9 && kind == thriftI64:
					data = t.int()
				case id == 11 && kind == thriftI64:
					dictionary = t.int()
				default:
					t.skip(kind)
				}
			})
		case id == 8 || id == 9:
			t.fail(errors.New("says that a column is encrypted, which is not supported"))
		default:
			t.skip(kind)
		}
	})
	if !seen {
		t.fail(errThrift)
	}
	c.start = data
	if dictionary > 0 && dictionary < data {
		c.start = dictionary
	}
	return c
}

// schema finds the columns among the elements, which are the fields of a tree, each before
// its children. It returns the number of leaves.
func (f *footer) schema(elements []element) (leaves int, err error) {
	if len(elements) == 0 {
		return 0, errors.New("its footer has no schema")
	}
	at := 1
	for range elements[0].children {
		if at >= len(elements) {
			return 0, errors.New("its schema is damaged")
		}
		e := &elements[at]
		c := column{name: string(e.name), element: *e, leaf: leaves, optional: e.repeat == 1}
		c.nested = e.physical < 0 || e.children > 0 || e.repeat == 2
		from := at
		for open := int64(1); open > 0; at++ {
			if at >= len(elements) || elements[at].children < 0 || elements[at].children > int64(len(elements)) {
				return 0, errors.New("its schema is damaged")
			}
			e := &elements[at]
			open += e.children - 1
			if e.children == 0 && e.physical >= 0 {
				leaves++
			}
		}
		if c.nested {
			if leaf, l := asList(elements[from:at]); l != nil {
				c.element, c.list = leaf, l
			}
		}
		f.columns = append(f.columns, c)
	}
	if at != len(elements) {
		return 0, errors.New("its schema is damaged")
	}
	return leaves, nil
}

// commonPages is how much of a column the pages of most writers have in memory: a page of data,
// a dictionary, and what its entries store, of 1 MiB each.
const commonPages = 3 << 20

// memory estimates the bytes that a reader of the used columns needs. Some writers make larger pages.
func (f *footer) memory(used map[string]bool) (most int64) {
	for i := range f.groups {
		var stored, pages, columns int64
		for j := range f.columns {
			c := &f.columns[j]
			if ch := &f.groups[i].chunks[min(c.leaf, len(f.groups[i].chunks)-1)]; used[c.name] && !c.nested && c.item == 0 {
				stored += ch.size
				pages += min(max(ch.content, 0), commonPages)
				columns++
			}
		}
		most = max(most, min(stored, max(groupBytes, columns*leastWindow))+pages)
	}
	return most
}

// rowsPerByte limits the rows of a row group, whose values may take almost no space.
const rowsPerByte = 1 << 16

// check checks the row groups of a file of size bytes. It drops groups without rows, because some
// writers place their columns, which nothing reads, outside of the file.
func (f *footer) check(leaves int, size int64) error {
	f.groups = slices.DeleteFunc(f.groups, func(g group) bool { return g.rows == 0 })
	total, stored := int64(0), int64(0)
	for i := range f.groups {
		g := &f.groups[i]
		if len(g.chunks) != leaves {
			return fmt.Errorf("is damaged: row group %d has %d columns, the schema %d", i+1, len(g.chunks), leaves)
		}
		bytes := int64(0)
		for j := range g.chunks {
			c := &g.chunks[j]
			if c.start < 4 || c.size < 0 || c.start > size || c.size > size-c.start {
				return fmt.Errorf("is damaged: column %d of row group %d is outside the file (truncated?)", j+1, i+1)
			}
			bytes += c.size
		}
		stored += bytes
		if stored > size {
			return errors.New("is damaged: its columns overlap")
		}
		if g.rows < 0 || bytes < math.MaxInt64/rowsPerByte && g.rows > bytes*rowsPerByte || g.rows > math.MaxInt64-total {
			return fmt.Errorf("is damaged: row group %d has %d rows in %d bytes", i+1, g.rows, bytes)
		}
		total += g.rows
	}
	if total != f.rows {
		return fmt.Errorf("is damaged: it has %d rows, but %d in row groups", f.rows, total)
	}
	return nil
}
