package npyio

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
)

// array reads records of a file.
type array struct {
	h     header
	in    *bufio.Reader
	first int64
	left  int64
	done  int64
	whole bool // in reads to the end of the file
}

const bufferSize = 256 << 10

func newArray(r io.Reader, h header, first, count int64, whole bool) *array {
	size := max(h.recordBytes(), min(bufferSize, h.recordBytes()*max(1, count)))
	return &array{h: h, in: bufio.NewReaderSize(r, int(size)), first: first, left: count, whole: whole}
}

// next returns the next record, valid until the next call. The error is io.EOF after the last.
func (a *array) next() ([]byte, error) {
	if a.left == 0 {
		if _, err := a.in.Peek(1); a.whole && err == nil {
			return nil, errors.New("has more bytes than its header says")
		} else if a.whole && err != io.EOF {
			return nil, err
		}
		return nil, io.EOF
	}
	b, err := a.in.Peek(int(a.h.recordBytes()))
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("ends after row %d of %d (truncated?): %w", a.first+a.done, a.h.Dims[0], err)
	}
	a.in.Discard(len(b)) // buffered, so it cannot fail
	a.left--
	a.done++
	return b, nil
}

// reader is the rowio.Reader of a shard.
type reader struct {
	data   *array
	labels labels // nil if they are not read
}

// labels gives the texts of labels, one by one, each valid until the next.
type labels interface{ next() ([]byte, error) }

// elements are labels in an array.
type elements struct {
	array *array
	text  []byte
}

func (e *elements) next() ([]byte, error) {
	b, err := e.array.next()
	if err != nil {
		return nil, err
	}
	e.text = append(e.array.h.appendText(e.text[:0], b), 0)
	return e.text[:len(e.text)-1], nil // not nil, which means no label column
}

var _ rowio.Reader = (*reader)(nil)

// Line returns the number of the last row.
func (r *reader) Line() int64 { return r.data.done }

// Append implements rowio.Reader. Rows with a number that is not finite as a float32 cannot be used.
func (r *reader) Append(x []float32) ([]float32, []byte, error) {
	b, err := r.data.next()
	if err != nil {
		return x, nil, err
	}
	var label []byte
	if r.labels != nil {
		if label, err = r.labels.next(); err != nil {
			return x, nil, fmt.Errorf("labels file: %w", err)
		}
		if reason := dataset.NotUTF8(label); reason != "" {
			return x, nil, &rowio.BadRow{Line: r.data.done, Reason: "label " + reason}
		}
	}
	n := len(x)
	x = r.data.h.appendNumbers(x, b)
	for i, v := range x[n:] {
		if reason := rowio.CheckFinite(v); reason != "" {
			return x[:n], nil, &rowio.BadRow{Line: r.data.done, Column: i + 1, Reason: reason}
		}
	}
	return x, label, nil
}

// appendNumbers appends the numbers of a record to x, rounded to the nearest float32.
func (h header) appendNumbers(x []float32, b []byte) []float32 {
	n := len(b) / h.Size
	x = slices.Grow(x, n)[:len(x)+n]
	dst := x[len(x)-n:]
	switch h.Kind {
	case 'f':
		switch h.Size {
		case 2:
			for i := range dst {
				dst[i] = rowio.Float16(binary.LittleEndian.Uint16(b[2*i:]))
			}
		case 4:
			for i := range dst {
				dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
			}
		case 8:
			for i := range dst {
				dst[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:])))
			}
		}
	case 'i':
		for i := range dst {
			dst[i] = float32(integer(b[i*h.Size:][:h.Size]))
		}
	default: // u and b
		for i := range dst {
			dst[i] = float32(unsigned(b[i*h.Size:][:h.Size]))
		}
	}
	return x
}

// unsigned returns a little-endian integer.
func unsigned(b []byte) (v uint64) {
	for i, c := range b {
		v |= uint64(c) << (8 * i)
	}
	return v
}

// integer returns a little-endian integer with a sign.
func integer(b []byte) int64 {
	free := 64 - 8*len(b)
	return int64(unsigned(b)<<free) >> free
}

// appendText appends the text of a label; nothing for NaN, which is missing.
func (h header) appendText(to, b []byte) []byte {
	switch h.Kind {
	case 'f':
		v, bits := 0.0, 32
		switch h.Size {
		case 2:
			v = float64(rowio.Float16(binary.LittleEndian.Uint16(b)))
		case 4:
			v = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		default:
			v, bits = math.Float64frombits(binary.LittleEndian.Uint64(b)), 64
		}
		if math.IsNaN(v) {
			return to
		}
		return strconv.AppendFloat(to, v, 'g', -1, bits)
	case 'i':
		return strconv.AppendInt(to, integer(b), 10)
	case 'u':
		return strconv.AppendUint(to, unsigned(b), 10)
	case 'b':
		return strconv.AppendBool(to, b[0] != 0)
	case 'S':
		return append(to, bytes.TrimRight(b, "\x00")...)
	}
	for ; len(b) >= 4; b = b[4:] {
		if c := binary.LittleEndian.Uint32(b); c != 0 && c <= utf8.MaxRune {
			to = utf8.AppendRune(to, rune(c))
		}
	}
	return to
}
