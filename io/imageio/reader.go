package imageio

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/io/rowio"
)

const bufferSize = 256 << 10

// reader yields records of an IDX file as rows, with labels from a second file
// if there is one. The label is the decimal text of the number.
type reader struct {
	data, labels *stream // labels is nil without a labels file
	first, count int64
	done         int64 // records read
	err          error // the end, or why reading stopped
	text         []byte
}

// stream is one of the files, after its header.
type stream struct {
	*bufio.Reader
	header
	what string // for messages
}

var _ rowio.Reader = (*reader)(nil)

// openStreams reads the headers of complete, decompressed streams, checks them against each
// other and returns a reader of all records. labels may be nil.
func openStreams(images, labels io.Reader) (*reader, error) {
	h, err := readHeader(images)
	if err != nil {
		return nil, err
	}
	var lh header
	if labels != nil {
		if lh, err = readHeader(labels); err != nil {
			return nil, fmt.Errorf("labels file: %w", err)
		}
		if err := check(h, lh); err != nil {
			return nil, err
		}
	}
	return newReader(images, labels, h, lh, 0, h.records()), nil
}

// newReader returns a reader of the records [first, first+count) of a file whose header is h. Both streams are
// already positioned at record first, at the offset from header.extent. labels may be nil; lh is then ignored.
// newReader panics if the file has no such records, or if check(h, lh) fails.
//
// A stream that ends early is an error, and so are bytes after the file's last record.
func newReader(images, labels io.Reader, h, lh header, first, count int64) *reader {
	if first < 0 || count < 0 || first > h.records()-count {
		panic("imageio: records out of range")
	}
	r := &reader{data: newStream(images, h, count, "data"), first: first, count: count}
	if labels != nil {
		if check(h, lh) != nil {
			panic("imageio: labels do not fit the data")
		}
		r.labels = newStream(labels, lh, count, "labels file")
	}
	return r
}

// newStream makes a buffer that can Peek at a record and is not larger than count records.
func newStream(r io.Reader, h header, count int64, what string) *stream {
	size := h.recordBytes()
	return &stream{bufio.NewReaderSize(r, int(min(int64(max(bufferSize, size)), int64(size)*count))), h, what}
}

// Line implements rowio.Reader: the 1-based number of the last record read.
func (r *reader) Line() int64 { return r.done }

// Append implements rowio.Reader. Only files of floating-point numbers have bad
// rows: those with a number that is not finite as a float32.
func (r *reader) Append(x []float32) ([]float32, []byte, error) {
	if r.err != nil {
		return x, nil, r.err
	}
	if r.done == r.count {
		r.err = r.end()
		return x, nil, r.err
	}
	image, err := r.record(r.data)
	if err != nil {
		return x, nil, err
	}
	var label []byte
	if r.labels != nil {
		b, err := r.record(r.labels)
		if err != nil {
			return x, nil, err
		}
		label = r.token(b)
	}
	r.done++
	n := len(x)
	row, bad, reason := appendNumbers(x, image, r.data.Type)
	if reason != "" {
		return row[:n], nil, &rowio.BadRow{Line: r.done, Column: bad + 1, Reason: reason}
	}
	return row, label, nil
}

// record returns the next record, valid until the next call.
func (r *reader) record(s *stream) ([]byte, error) {
	rec, err := s.Peek(s.recordBytes())
	switch {
	case err == io.EOF:
		r.err = fmt.Errorf("%s ends after record %d of %d (truncated?): %w", s.what, r.first+r.done, s.records(),
			io.ErrUnexpectedEOF)
		return nil, r.err
	case err != nil:
		r.err = fmt.Errorf("%s: record %d: %w", s.what, r.first+r.done+1, err)
		return nil, r.err
	}
	s.Discard(len(rec)) // buffered, so it cannot fail; the bytes stay until the next Peek
	return rec, nil
}

// end returns io.EOF, or an error if data follows the last record.
func (r *reader) end() error {
	if r.first+r.count < r.data.records() {
		return io.EOF
	}
	for _, s := range []*stream{r.data, r.labels} {
		if s == nil {
			continue
		}
		const most = 1 << 20
		n, err := io.CopyN(io.Discard, s, most)
		switch {
		case err != nil && err != io.EOF:
			return fmt.Errorf("%s: after record %d: %w", s.what, s.records(), err)
		case n == most:
			return fmt.Errorf("%s has %d or more bytes more than the header declares", s.what, n)
		case n > 0:
			return fmt.Errorf("%s has %d bytes more than the header declares", s.what, n)
		}
	}
	return io.EOF
}

// token writes the label as decimal text into the reader's buffer.
func (r *reader) token(b []byte) []byte {
	var v int64
	switch r.labels.Type {
	case typeUint8:
		v = int64(b[0])
	case typeInt8:
		v = int64(int8(b[0]))
	case typeInt16:
		v = int64(int16(binary.BigEndian.Uint16(b)))
	case typeInt32:
		v = int64(int32(binary.BigEndian.Uint32(b)))
	}
	r.text = strconv.AppendInt(r.text[:0], v, 10)
	return r.text
}

// appendNumbers appends the numbers of a record to x, the integers and the
// float64 among them rounded to the nearest float32. If a number is not finite,
// it returns its index and the reason.
func appendNumbers(x []float32, b []byte, typ byte) (row []float32, bad int, reason string) {
	n := len(b) / width(typ)
	x = slices.Grow(x, n)[:len(x)+n]
	dst := x[len(x)-n:]
	switch typ {
	case typeUint8:
		for i, v := range b[:len(dst)] {
			dst[i] = float32(v)
		}
	case typeInt8:
		for i := range dst {
			dst[i] = float32(int8(b[i]))
		}
	case typeInt16:
		for i := range dst {
			dst[i] = float32(int16(binary.BigEndian.Uint16(b[2*i:])))
		}
	case typeInt32:
		for i := range dst {
			dst[i] = float32(int32(binary.BigEndian.Uint32(b[4*i:])))
		}
	case typeFloat32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.BigEndian.Uint32(b[4*i:]))
			if reason := rowio.CheckFinite(dst[i]); reason != "" {
				return x, i, reason
			}
		}
	case typeFloat64:
		for i := range dst {
			dst[i] = float32(math.Float64frombits(binary.BigEndian.Uint64(b[8*i:])))
			if reason := rowio.CheckFinite(dst[i]); reason != "" {
				return x, i, reason
			}
		}
	}
	return x, 0, ""
}
