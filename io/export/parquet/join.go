package parquet

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/bochner-ml/bochner/io/export"
)

// errPart is about a file that this package has not written.
var errPart = errors.New("parquet: a part is damaged")

// join writes one file with the row groups of files of the same columns, in their order.
func join(out io.Writer, parts []export.Part) error {
	f := file{out: out}
	f.start()
	var columns []*schemaElement
	for _, p := range parts {
		about, body, err := footerOf(p)
		if err != nil {
			return err
		}
		elements, groups, err := about.groups()
		if err != nil {
			return err
		}
		if len(groups) == 0 {
			continue
		}
		if columns == nil {
			columns = elements
		}
		shift := f.at - int64(len(magic))
		for _, g := range groups {
			if len(g.chunks) != len(columns) {
				return errPart
			}
			for i := range g.chunks {
				if k := &g.chunks[i]; k.dictionary != 0 {
					k.dictionary += shift
				}
				g.chunks[i].data += shift
			}
			f.rows += int64(g.rows)
			f.groups = append(f.groups, g)
		}
		if err := f.copy(p, body); err != nil {
			return err
		}
	}
	return f.end(columns)
}

// copy copies the n bytes of a part after its magic.
func (f *file) copy(p export.Part, n int64) error {
	r, err := p.Open(int64(len(magic)), n)
	if err != nil {
		return err
	}
	defer r.Close()
	copied, err := io.Copy(f.out, r)
	f.at += copied
	if err == nil && copied != n {
		err = errPart
	}
	return err
}

// footerOf reads the footer of a part, and returns the number of bytes between the magic and the footer.
func footerOf(p export.Part) (about fields, body int64, err error) {
	const end = 8 // its size and the magic
	last, err := p.Read(p.Size-end, end)
	if err != nil {
		return nil, 0, err
	}
	n := int64(binary.LittleEndian.Uint32(last))
	body = p.Size - end - n - int64(len(magic))
	if body < 0 || string(last[4:]) != magic {
		return nil, 0, errPart
	}
	b, err := p.Read(p.Size-end-n, n)
	if err != nil {
		return nil, 0, err
	}
	r := metadata{b: b}
	about = r.fields(0)
	return about, body, r.err
}

// groups returns the columns and the row groups that a footer describes.
func (f fields) groups() (columns []*schemaElement, groups []rowGroup, err error) {
	for i, e := range f.list(2) {
		if i > 0 { // after the root
			logical := e.fields(10).fields(10)
			columns = append(columns, &schemaElement{name: string(e.text(4)), physical: e.number(1), optional: e.number(3) == 1,
				unsigned: logical != nil})
		}
	}
	for _, g := range f.list(4) {
		group := rowGroup{rows: int(g.number(3))}
		for _, c := range g.list(1) {
			about := c.fields(3)
			group.chunks = append(group.chunks, columnChunk{dictionary: about.number(11), data: about.number(9),
				plain: about.number(6), stored: about.number(7)})
		}
		if len(group.chunks) != len(columns) {
			return nil, nil, errPart
		}
		groups = append(groups, group)
	}
	return columns, groups, nil
}

// fields are the fields of a struct of Thrift by number: int64, []byte, []fields of a list of structs, or fields.
type fields map[int]any

func (f fields) number(id int) int64      { v, _ := f[id].(int64); return v }
func (f fields) text(id int) []byte       { v, _ := f[id].([]byte); return v }
func (f fields) list(id int) []fields     { v, _ := f[id].([]fields); return v }
func (f fields) fields(id int) (v fields) { v, _ = f[id].(fields); return v }

// metadata reads what a thrift has written. The first error stays, and ends it.
type metadata struct {
	b   []byte
	err error
}

func (m *metadata) byte() byte {
	if len(m.b) == 0 {
		m.err = errPart
		return 0
	}
	c := m.b[0]
	m.b = m.b[1:]
	return c
}

func (m *metadata) uvarint() uint64 {
	v, n := binary.Uvarint(m.b)
	if n <= 0 {
		m.err, m.b = errPart, nil
		return 0
	}
	m.b = m.b[n:]
	return v
}

// fields reads the fields of a struct that is nested in depth others.
func (m *metadata) fields(depth int) fields {
	f := fields{}
	if depth > 8 {
		m.err = errPart
	}
	for id := 0; m.err == nil; {
		c := m.byte()
		if c == 0 {
			break
		}
		if c>>4 == 0 {
			m.err = errPart // a thrift writes short numbers of fields alone
		}
		id += int(c >> 4)
		f[id] = m.value(c&15, depth)
	}
	return f
}

func (m *metadata) value(kind byte, depth int) any {
	switch kind {
	case thriftFalse:
		return nil
	case thriftByte:
		return int64(m.byte())
	case thriftI32, thriftI64:
		v := m.uvarint()
		return int64(v>>1) ^ -int64(v&1)
	case thriftBinary:
		n := m.uvarint()
		if n > uint64(len(m.b)) {
			m.err = errPart
			return nil
		}
		text := m.b[:n]
		m.b = m.b[n:]
		return text
	case thriftStruct:
		return m.fields(depth + 1)
	case thriftList:
		c := m.byte()
		n := uint64(c >> 4)
		if n == 15 {
			n = m.uvarint()
		}
		var structs []fields
		for range min(n, uint64(len(m.b))) {
			if v := m.value(c&15, depth+1); m.err != nil {
				break
			} else if f, ok := v.(fields); ok {
				structs = append(structs, f)
			}
		}
		return structs
	}
	m.err = errPart
	return nil
}
