package parquetio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/bochner-ml/bochner/io/compress"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/parquetio/meta"
	"github.com/bochner-ml/bochner/io/schema"
)

// columnReader reads the values of a column, page by page.
type columnReader struct {
	*column
	field   int // of the layout
	to      *dataset.FieldSink
	put     putFunc
	number  number // how numbers are stored, if that is simple
	scratch *buffers
	stream  stream
	codec   int64
	left    int64 // values in the chunk after this page
	page    int64 // values left in this page
	content []byte
	pageValues
}

// pageValues holds the encoded levels and values of a page, and the dictionary of the chunk.
type pageValues struct {
	reps     hybrid // repetition levels of lists
	levels   hybrid // definition levels, if the column is optional
	values   decoder
	decoders *decoders
	indexed  bool // values are indices of the dictionary
	index    hybrid
	dict     dictionary
}

// buffers are memory that all columns of a reader share.
type buffers struct {
	levels [batchRows]uint32
	index  [batchRows]uint32
	fixed  [batchRows]uint64
	bytes  [batchRows][]byte
	blocks compress.Blocks
}

// rejectFunc is called for a row of the batch that cannot be used.
type rejectFunc func(row, field int, reason string)

// check calls reject if there is a reason.
func (reject rejectFunc) check(row, field int, reason string) {
	if reason != "" {
		reject(row, field, reason)
	}
}

// begin begins the chunk of a row group.
func (c *columnReader) begin(ch *meta.Chunk) error {
	_, decodable := blockOf[ch.Codec]
	switch {
	case ch.Physical != c.element.Physical:
		return c.errorf("is damaged: a row group has another type than the schema")
	case ch.Codec < 0 || ch.Codec >= int64(len(codecNames)):
		return c.errorf("is compressed with an unknown codec (%d)", ch.Codec)
	case ch.Codec != meta.None && !decodable:
		return c.errorf("is compressed with %s, which is not supported; write it with Snappy, Zstandard or gzip",
			codecNames[ch.Codec])
	}
	c.codec, c.left, c.page = ch.Codec, ch.Values, 0
	c.dict.reset()
	c.stream.begin(ch)
	return nil
}

func (c *columnReader) errorf(format string, args ...any) error {
	return fmt.Errorf("column %s: "+format, append([]any{dataset.Quote(c.name)}, args...)...)
}

// next begins the next page with values.
func (c *columnReader) next() error {
	for c.page == 0 {
		h, err := c.header()
		if err != nil {
			return err
		}
		body, err := c.stream.peek(h.Stored)
		if err != nil {
			return err
		}
		c.stream.skip(h.Stored)
		switch h.Kind {
		case meta.PageDictionary:
			err = c.openDictionary(&h, body)
		case meta.PageData, meta.PageDataV2:
			if h.Values > c.left {
				return errPage
			}
			var b []byte
			if b, err = h.content(c.content, body, c.codec, &c.scratch.blocks); err == nil {
				if c.codec != meta.None && !(h.Kind == meta.PageDataV2 && !h.Compressed) {
					c.content = b
				}
				err = c.openPage(&h, b)
			}
			c.left -= h.Values
			c.page = h.Values
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// openDictionary opens the page with the dictionary.
func (c *columnReader) openDictionary(h *header, body []byte) (err error) {
	d := &c.dict
	if d.content, err = h.content(d.content, body, c.codec, &c.scratch.blocks); err != nil {
		return err
	}
	if c.codec == meta.None { // the content is in the memory of the stream, which later pages overwrite
		d.own = append(d.own[:0], d.content...)
		d.content = d.own
	}
	if err := d.set(&c.element, h.Encoding, h.Values); err != nil {
		return err
	}
	if c.number.kind != 0 {
		d.convert(&c.number)
	}
	return nil
}

// header reads the header of the next page.
func (c *columnReader) header() (h header, err error) {
	for size := int64(256); ; size *= 4 {
		var b []byte
		if b, err = c.stream.peek(size); err != nil {
			return h, err
		}
		var n int
		h.Page, n, err = meta.ParsePage(b)
		if errors.Is(err, meta.ErrShort) && int64(len(b)) == size {
			continue
		}
		if err != nil || n == 0 {
			return h, errPage
		}
		c.stream.skip(int64(n))
		return h, h.check(c.stream.left())
	}
}

// openPage begins the values of a page.
func (c *columnReader) openPage(h *header, b []byte) error {
	b, err := c.openLevels(h, b)
	if err != nil {
		return err
	}
	c.indexed = h.Encoding == meta.Dictionary || h.Encoding == meta.PlainDictionary
	switch {
	case !c.indexed:
		c.values, err = c.decoders.open(&c.element, h.Encoding, b)
		return err
	case len(b) == 0:
		return c.index.set(nil, 0)
	}
	return c.index.set(b[1:], int(b[0]))
}

// openLevels begins the levels of a page, which b begins with, and returns the rest.
func (c *columnReader) openLevels(h *header, b []byte) (rest []byte, err error) {
	repBits, defBits := 0, 0
	switch {
	case c.list != nil:
		repBits, defBits = 1, bits.Len(uint(c.list.full))
	case c.optional:
		defBits = 1
	}
	if defBits > 0 && h.Kind == meta.PageData && h.Levels != meta.RLE {
		return nil, fmt.Errorf("has levels of encoding %d, which is not supported", h.Levels)
	}
	for _, l := range []struct {
		to   *hybrid
		bits int
		size int64 // PageDataV2
	}{{&c.reps, repBits, h.RepBytes}, {&c.levels, defBits, h.DefBytes}} {
		var levels []byte
		if h.Kind == meta.PageDataV2 {
			levels, b = b[:l.size], b[l.size:]
		} else if l.bits > 0 {
			levels, b, err = prefixed(b)
		}
		if err == nil && l.bits > 0 {
			err = l.to.set(levels, l.bits)
		}
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// prefixed splits b, which begins with a length in 4 bytes, into the bytes of this length and the rest.
func prefixed(b []byte) (first, rest []byte, err error) {
	if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
		return nil, nil, errPage
	}
	n := binary.LittleEndian.Uint32(b)
	return b[4 : 4+n], b[4+n:], nil
}

// read stores the values of n rows.
func (c *columnReader) read(rows []float32, width, n int, reject rejectFunc) error {
	for at := 0; at < n; {
		if c.page == 0 {
			if c.left == 0 {
				return errPage
			}
			if err := c.next(); err != nil {
				return err
			}
		}
		m := int(min(int64(n-at), c.page, batchRows))
		if err := c.store(rows, width, at, m, reject); err != nil {
			return err
		}
		at += m
		c.page -= int64(m)
	}
	return nil
}

// store stores the next m values of the page from a row on.
func (c *columnReader) store(rows []float32, width, at, m int, reject rejectFunc) error {
	levels, present := c.scratch.levels[:m], m
	if c.optional && !c.levels.ones(m) {
		if err := c.levels.next(levels); err != nil {
			return err
		}
		present = 0
		for _, l := range levels {
			present += int(l)
		}
	}
	switch {
	case c.indexed:
		return c.storeIndexed(rows, width, at, levels, present, reject)
	case c.number.kind != 0 && present == m:
		return c.storeNumbers(rows, width, at, m, reject)
	}
	return c.storeValues(rows, width, at, levels, present, reject)
}

// storeValues stores values of the page. If fewer are present than there are levels, levels of 0 are missing values.
func (c *columnReader) storeValues(rows []float32, width, at int, levels []uint32, present int,
	reject rejectFunc) error {
	v := values{fixed: c.scratch.fixed[:]}
	if size := fixedSize(&c.element); size == 0 || size > 8 || c.element.Physical == meta.FixedArray {
		v.fixed, v.bytes = nil, c.scratch.bytes[:]
	}
	all := present == len(levels)
	used, got := 0, 0 // decoded values
	for j, level := range levels {
		row := rows[(at+j)*width : (at+j+1)*width]
		if !all && level == 0 {
			reject.check(at+j, c.field, c.to.Null(row))
			continue
		}
		if used == got {
			var err error
			if got, err = c.values.next(present, &v); err != nil {
				return err
			}
			present -= got
			used = 0
		}
		fixed, b := v.at(used)
		used++
		if c.number.kind != 0 {
			if x, ok := c.number.value(fixed); ok {
				row[c.number.slot] = x
				continue
			}
		}
		reject.check(at+j, c.field, c.put(c.to, row, fixed, b))
	}
	return nil
}

// storeIndexed is storeValues with values of the dictionary.
func (c *columnReader) storeIndexed(rows []float32, width, at int, levels []uint32, present int,
	reject rejectFunc) error {
	index := c.scratch.index[:present]
	if err := c.index.next(index); err != nil {
		return err
	}
	all := present == len(levels)
	if all && c.dict.decoder != nil && c.dict.width == 1 {
		return c.storeEntries(rows, width, at, index, reject)
	}
	for j, level := range levels {
		row := rows[(at+j)*width : (at+j+1)*width]
		if !all && level == 0 {
			reject.check(at+j, c.field, c.to.Null(row))
			continue
		}
		i := index[0]
		index = index[1:]
		if c.dict.recall(row, i) {
			continue
		}
		if i >= c.dict.n {
			return errPage
		}
		reject.check(at+j, c.field, c.dict.store(c, row, i))
	}
	return nil
}

// storeEntries stores the entries of the dictionary with some indices, one value each.
func (c *columnReader) storeEntries(rows []float32, width, at int, index []uint32, reject rejectFunc) error {
	d := &c.dict
	known, stored := d.known, d.stored[:len(d.known)]
	to := at*width + d.from
	for j, i := range index {
		switch {
		case int(i) >= len(known):
			return errPage
		case known[i]:
			rows[to] = stored[i]
		default:
			reject.check(at+j, c.field, d.store(c, rows[(at+j)*width:(at+j+1)*width], i))
		}
		to += width
	}
	return nil
}

// at returns value i.
func (v *values) at(i int) (fixed uint64, b []byte) {
	if v.fixed != nil {
		return v.fixed[i], nil
	}
	return 0, v.bytes[i]
}

// dictionary holds the values of a dictionary page, and the decoded values that they store in a row.
type dictionary struct {
	content []byte
	own     []byte
	n       uint32
	size    int
	ends    []uint32 // of texts in content
	decoder *schema.Decoder
	from    int       // first value of the column in a row
	width   int       // values of the column
	known   []bool    // entries whose values are remembered
	stored  []float32 // these values
}

// remember makes the dictionary remember what its entries store.
func (d *dictionary) remember(to *dataset.FieldSink) {
	d.decoder = to.Decoder()
	if d.decoder != nil {
		d.from, d.width = d.decoder.Slot(to.Column), d.decoder.SlotWidth(to.Column)
	}
}

func (d *dictionary) reset() { d.n, d.known = 0, d.known[:0] }

// set takes the entries in content.
func (d *dictionary) set(e *element, enc, n int64) error {
	if enc != meta.Plain && enc != meta.PlainDictionary {
		return fmt.Errorf("has a dictionary of encoding %d, which is not supported", enc)
	}
	if n > int64(len(d.content)) || e.Physical == meta.Boolean || d.n > 0 {
		return errPage
	}
	d.size = fixedSize(e)
	d.ends = d.ends[:0]
	if d.size > 0 && n*int64(d.size) > int64(len(d.content)) {
		return errPage
	}
	if d.size == 0 {
		at := 0
		for range n {
			if len(d.content)-at < 4 {
				return errPage
			}
			size := binary.LittleEndian.Uint32(d.content[at:])
			at += 4
			if uint64(size) > uint64(len(d.content)-at) {
				return errPage
			}
			at += int(size)
			d.ends = append(d.ends, uint32(at))
		}
	}
	d.n = uint32(n)
	if d.decoder != nil {
		d.known = append(d.known[:0], make([]bool, n)...)
		d.stored = slices.Grow(d.stored[:0], int(n)*d.width)[:int(n)*d.width]
	}
	return nil
}

// convert decodes all entries of numbers, except those that need care.
func (d *dictionary) convert(n *number) {
	for i := range d.known {
		fixed, _ := d.at(uint32(i))
		d.stored[i], d.known[i] = n.value(fixed)
	}
}

// at returns entry i.
func (d *dictionary) at(i uint32) (fixed uint64, b []byte) {
	if d.size == 0 {
		from := uint32(0)
		if i > 0 {
			from = d.ends[i-1]
		}
		return 0, d.content[from+4 : d.ends[i]]
	}
	b = d.content[int(i)*d.size:][:d.size]
	switch d.size {
	case 4:
		fixed = uint64(binary.LittleEndian.Uint32(b))
	case 8:
		fixed = binary.LittleEndian.Uint64(b)
	}
	return fixed, b
}

// recall stores the values of entry i in a row, if they are known.
func (d *dictionary) recall(row []float32, i uint32) bool {
	if int(i) >= len(d.known) || !d.known[i] {
		return false
	}
	if d.width == 1 {
		row[d.from] = d.stored[i]
	} else {
		copy(row[d.from:d.from+d.width], d.stored[int(i)*d.width:])
	}
	return true
}

// store stores the values of entry i and remembers them, unless the decoder counts it.
func (d *dictionary) store(c *columnReader, row []float32, i uint32) (reason string) {
	fixed, b := d.at(i)
	if d.decoder == nil {
		return c.put(c.to, row, fixed, b)
	}
	before := d.decoder.Counted()
	reason = c.put(c.to, row, fixed, b)
	if reason == "" && d.decoder.Counted() == before {
		copy(d.stored[int(i)*d.width:], row[d.from:d.from+d.width])
		d.known[i] = true
	}
	return reason
}
