package parquetio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/io/parquetio/meta"
)

// tail is the number of bytes at the end of a file that are read first. Most footers fit in it.
const tail = 64 << 10

// footer is the metadata of a file.
type footer struct {
	columns []column
	names   []string // of the columns
	groups  []meta.Group
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

// element is the type of a column, or of a part of it.
type element meta.Element

// footerSize returns the number of bytes of the footer, which ends the file. end holds the last
// bytes of the file, size is its size.
func footerSize(end []byte, size int64) (int64, error) {
	if n := len(end); n < 8 || size < 12 || string(end[n-4:]) != meta.Magic {
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
	about, err := meta.ParseFooter(b[:len(b)-8])
	if err != nil {
		return nil, err
	}
	f := &footer{groups: about.Groups, rows: about.Rows}
	leaves, err := f.schema(about.Elements)
	if err == nil {
		err = f.check(leaves, size)
	}
	return f, err
}

// schema finds the columns among the elements, which are the fields of a tree, each before
// its children. It returns the number of leaves.
func (f *footer) schema(elements []meta.Element) (leaves int, err error) {
	if len(elements) == 0 {
		return 0, errors.New("its footer has no schema")
	}
	at := 1
	for range elements[0].Children {
		if at >= len(elements) {
			return 0, errors.New("its schema is damaged")
		}
		e := &elements[at]
		c := column{name: e.Name, element: element(*e), leaf: leaves, optional: e.Repeat == 1}
		c.nested = e.Physical < 0 || e.Children > 0 || e.Repeat == 2
		from := at
		for open := int64(1); open > 0; at++ {
			if at >= len(elements) || elements[at].Children < 0 || elements[at].Children > int64(len(elements)) {
				return 0, errors.New("its schema is damaged")
			}
			e := &elements[at]
			open += e.Children - 1
			if e.Children == 0 && e.Physical >= 0 {
				leaves++
			}
		}
		if c.nested {
			if leaf, l := asList(elements[from:at]); l != nil {
				c.element, c.list = element(leaf), l
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
			if ch := &f.groups[i].Chunks[min(c.leaf, len(f.groups[i].Chunks)-1)]; used[c.name] && !c.nested && c.item == 0 {
				stored += ch.Size
				pages += min(max(ch.Content, 0), commonPages)
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
	f.groups = slices.DeleteFunc(f.groups, func(g meta.Group) bool { return g.Rows == 0 })
	total, stored := int64(0), int64(0)
	for i := range f.groups {
		g := &f.groups[i]
		if len(g.Chunks) != leaves {
			return fmt.Errorf("is damaged: row group %d has %d columns, the schema %d", i+1, len(g.Chunks), leaves)
		}
		bytes := int64(0)
		for j := range g.Chunks {
			c := &g.Chunks[j]
			if at := c.Start(); at < 4 || c.Size < 0 || at > size || c.Size > size-at {
				return fmt.Errorf("is damaged: column %d of row group %d is outside the file (truncated?)", j+1, i+1)
			}
			bytes += c.Size
		}
		stored += bytes
		if stored > size {
			return errors.New("is damaged: its columns overlap")
		}
		if g.Rows < 0 || bytes < math.MaxInt64/rowsPerByte && g.Rows > bytes*rowsPerByte || g.Rows > math.MaxInt64-total {
			return fmt.Errorf("is damaged: row group %d has %d rows in %d bytes", i+1, g.Rows, bytes)
		}
		total += g.Rows
	}
	if total != f.rows {
		return fmt.Errorf("is damaged: it has %d rows, but %d in row groups", f.rows, total)
	}
	return nil
}
