package meta

// Page is the header of a page.
type Page struct {
	Kind       int64 // PageData, PageDictionary or PageDataV2; pages of other kinds have no values
	Size       int64 // after decompression
	Stored     int64 // in the file
	CRC        int64
	HasCRC     bool
	Values     int64
	Encoding   int64
	Levels     int64 // PageData: encoding of definition levels
	DefBytes   int64 // PageDataV2
	RepBytes   int64
	Compressed bool
}

// ParsePage parses the header that b begins with and returns its length. The error is ErrShort if b ends before it.
func ParsePage(b []byte) (p Page, n int, err error) {
	t := &reader{b: b}
	p.Compressed = true
	t.fields(func(id int64, kind byte) {
		switch {
		case (id == 5 || id == 7 || id == 8) && kind == thriftStruct:
			ints := []*int64{1: &p.Values, 2: &p.Encoding, 3: &p.Levels}
			if id == 8 {
				ints = []*int64{1: &p.Values, 4: &p.Encoding, 5: &p.DefBytes, 6: &p.RepBytes}
			}
			t.fields(func(part int64, kind byte) {
				if id == 8 && part == 7 {
					p.Compressed = kind != thriftFalse
				}
				t.numbers(part, kind, ints, nil)
			})
		case id == 4 && kind == thriftI32:
			p.CRC, p.HasCRC = t.int(), true
		default:
			t.numbers(id, kind, []*int64{1: &p.Kind, 2: &p.Size, 3: &p.Stored}, nil)
		}
	})
	return p, t.at, t.err
}

// Append appends the header of a page of the kind PageData or PageDictionary, whose levels are encoded by RLE.
func (p *Page) Append(b []byte) []byte {
	t := writer{b: b}
	t.i32(1, p.Kind)
	t.i32(2, p.Size)
	t.i32(3, p.Stored)
	about := 5
	if p.Kind == PageDictionary {
		about = 7
	}
	t.structure(about, func() {
		t.i32(1, p.Values)
		t.i32(2, p.Encoding)
		if p.Kind == PageData {
			t.i32(3, RLE)
			t.i32(4, RLE)
		}
	})
	t.stop()
	return t.b
}
