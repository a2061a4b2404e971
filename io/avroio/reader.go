package avroio

import (
	"bufio"
	"bytes"
	"context"
	stdbinary "encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/bochner-ml/bochner/io/compress"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
)

const magic = "Obj\x01"

// syncLen is the length of the marker that follows each block.
const syncLen = 16

// header is the beginning of a file.
type header struct {
	schema *node
	codec  string
	sync   []byte
	size   int      // in bytes
	lists  []listOf // of each field, while it is read; of length 0 if it is none
}

// parseHeader parses the header that head, the beginning of a file, begins with.
func parseHeader(head []byte) (h header, err error) {
	d := decoder{b: head[min(len(magic), len(head)):]}
	var schema []byte
	d.elements(func(int) {
		switch key, value := string(d.take(d.long())), d.take(d.long()); key {
		case "avro.schema":
			schema = value
		case "avro.codec":
			h.codec = string(value)
		}
	})
	h.sync = d.take(syncLen)
	if d.err != nil || !bytes.HasPrefix(head, []byte(magic)) {
		return h, fmt.Errorf("its header is damaged, cut off, or longer than %d bytes", dataset.HeadBytes)
	}
	h.size = len(head) - len(d.b)
	if !slices.Contains([]string{"", "null", "deflate", "snappy", "zstandard"}, h.codec) {
		return h, fmt.Errorf("is compressed with %.40q, which is not supported; write it with deflate, snappy or zstandard",
			h.codec)
	}
	h.schema, err = parseSchema(schema)
	return h, err
}

// reader reads the records of a shard.
type reader struct {
	*dataset.Record
	header
	in      *bufio.Reader
	at      int64 // in the file, of what in reads next
	begin   int64 // where the first block begins
	end     int64 // blocks that begin here or later are not read; −1 for all
	skip    bool  // the shard may begin inside a block
	begun   bool
	stored  []byte
	content []byte
	blocks  compress.Blocks
	values  decoder
	left    int64 // records left in the block
	line    int64
}

var (
	_ rowio.Reader   = (*reader)(nil)
	_ dataset.Seeker = (*reader)(nil)
)

// read opens a shard. All shards except the first read the header separately from their blocks.
func read(ctx context.Context, in *dataset.Input) (rowio.Reader, error) {
	off, _ := start(in.File, in.Shard)
	first, err := in.Open(ctx, in.File.Object, in.File.Compression, off, -1)
	if err != nil {
		return nil, err
	}
	r := &reader{at: off, end: in.Shard.End, skip: !in.Shard.Exact && off > 0}
	head := first
	if off > 0 {
		beginning, err := in.File.Object.Open(ctx, 0, dataset.HeadBytes)
		if err != nil {
			return nil, err
		}
		defer beginning.Close()
		head = beginning
	}
	var rest []byte
	if r.header, rest, err = readHeader(head); err != nil {
		return nil, err
	}
	if off == 0 {
		r.at = int64(r.size)
		first = io.MultiReader(bytes.NewReader(rest), first)
	}
	r.in = bufio.NewReaderSize(first, 1<<16)
	layout := in.Layout().(*dataset.TableLayout)
	lengths := r.listsIn(layout)
	names, err := r.columns(lengths)
	if err == nil {
		err = layout.Unchanged(names)
	}
	if err != nil {
		return nil, err
	}
	fields, err := dataset.NewFields(in, layout)
	if err != nil {
		return nil, err
	}
	r.Record = dataset.NewRecord(fields)
	at := 0
	for _, n := range lengths {
		r.lists = append(r.lists, listOf{n, fields.Reads(at, n)})
		at += max(1, n)
	}
	return r, nil
}

// start is the part of a file that is read first: from the marker before the shard.
func start(f *dataset.File, s dataset.Shard) (off, n int64) {
	switch {
	case f.Compressed() || s.Start <= syncLen:
		return 0, -1
	case s.Exact:
		return s.Start, -1
	}
	return s.Start - syncLen, -1
}

// readHeader reads a header, whose length is not known before it has been parsed, and returns
// what it has read after it.
func readHeader(r io.Reader) (h header, rest []byte, err error) {
	head := make([]byte, 0, 1<<12)
	for {
		n, readErr := io.ReadFull(r, head[len(head):cap(head)])
		head = head[:len(head)+n]
		if h, err = parseHeader(head); err == nil {
			return h, head[h.size:], nil
		}
		if readErr != nil || len(head) >= dataset.HeadBytes {
			return h, nil, err
		}
		head = slices.Grow(head, len(head))
	}
}

// Line returns the number of the last record, counted from the beginning of the shard.
func (r *reader) Line() int64 { return r.line }

// Span returns where the blocks of the shard begin and end in the file.
func (r *reader) Span() (begin, end int64) { return r.begin, r.at }

// Append implements rowio.Reader.
func (r *reader) Append(x []float32) ([]float32, []byte, error) {
	for r.left == 0 {
		if err := r.next(); err != nil {
			return x, nil, err
		}
	}
	r.left--
	r.line++
	r.Begin(x)
	d := &r.values
	at := 0
	for i := range r.schema.fields {
		n := r.schema.fields[i].node
		switch list := r.lists[i]; {
		case list.used:
			r.elements(n, at, list.n)
			at += list.n
		case list.n > 0 || r.To[at].Sink == nil:
			d.skip(n, 0)
			at += max(1, list.n)
		default:
			to, row, _ := r.Field(at)
			r.Check(at, d.value(n, to, row))
			at++
		}
		if d.err != nil {
			break
		}
	}
	if d.err != nil || r.left == 0 && len(d.b) > 0 {
		return x, nil, fmt.Errorf("near record %d: %w", r.line, errBlock)
	}
	return r.End(x, r.line)
}

// recordsPerByte limits the records of a block, which may take almost no space.
const recordsPerByte = 1 << 16

// next reads the next block, and the marker after it.
func (r *reader) next() error {
	if !r.begun {
		r.begun = true
		if r.skip {
			if err := r.seek(); err != nil {
				return err
			}
		}
		r.begin = r.at
	}
	if r.end >= 0 && r.at >= r.end {
		return io.EOF
	}
	count, err := r.long()
	if err == io.EOF {
		return err
	}
	if err == nil {
		err = r.openBlock(count)
	}
	if err != nil {
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("ends inside a block (truncated file?)")
		}
		return fmt.Errorf("the block at byte %d after record %d: %w", r.at, r.line, err)
	}
	r.left = count
	return nil
}

// openBlock reads the rest of a block of count records, and opens it.
func (r *reader) openBlock(count int64) error {
	size, err := r.long()
	if err != nil {
		return err
	}
	if count < 0 || size < 0 || size > compress.MaxBlock || count > (size+1)*recordsPerByte {
		return errBlock
	}
	if r.stored, err = r.full(r.stored[:0], size+syncLen); err != nil {
		return err
	}
	if !bytes.Equal(r.stored[size:], r.sync) {
		return errBlock
	}
	if err := r.open(r.stored[:size]); err != nil {
		return err
	}
	if count == 0 && len(r.values.b) > 0 {
		return errBlock
	}
	return nil
}

// long reads an integer before a block.
func (r *reader) long() (int64, error) {
	v := uint64(0)
	for shift := 0; shift < 64; shift += 7 {
		c, err := r.in.ReadByte()
		if err != nil {
			if shift > 0 {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		r.at++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return int64(v>>1) ^ -int64(v&1), nil
		}
	}
	return 0, errBlock
}

// full reads n bytes into dst, which grows no faster than the input.
func (r *reader) full(dst []byte, n int64) ([]byte, error) {
	for int64(len(dst)) < n {
		from := len(dst)
		more := min(n-int64(from), max(1<<16, int64(from)))
		dst = slices.Grow(dst, int(more))[:from+int(more)]
		got, err := io.ReadFull(r.in, dst[from:])
		r.at += int64(got)
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// open decompresses a block.
func (r *reader) open(b []byte) (err error) {
	switch r.codec {
	case "deflate":
		r.content, err = r.blocks.Append(r.content[:0], b, compress.DeflateBlock, -1)
	case "zstandard":
		r.content, err = r.blocks.Append(r.content[:0], b, compress.ZstdBlock, -1)
	case "snappy": // a checksum of the content follows
		if len(b) < 4 {
			return errBlock
		}
		sum := stdbinary.BigEndian.Uint32(b[len(b)-4:])
		r.content, err = r.blocks.Append(r.content[:0], b[:len(b)-4], compress.SnappyBlock, -1)
		if err == nil && crc32.ChecksumIEEE(r.content) != sum {
			err = errors.New("its checksum does not match (corrupt file)")
		}
	default:
		r.values = decoder{b: b}
		return nil
	}
	r.values = decoder{b: r.content}
	return err
}

// seek skips the rest of a block that began before the shard, and its marker.
func (r *reader) seek() error {
	for {
		b, err := r.in.Peek(1 << 15)
		if i := bytes.Index(b, r.sync); i >= 0 {
			r.in.Discard(i + syncLen)
			r.at += int64(i + syncLen)
			return nil
		}
		if err != nil {
			n, _ := r.in.Discard(len(b))
			r.at += int64(n)
			if err == io.EOF {
				return nil // the next block, if any, belongs to no later shard
			}
			return err
		}
		n, _ := r.in.Discard(len(b) - syncLen + 1)
		r.at += int64(n)
	}
}
