// Package npyio reads arrays that NumPy has saved: .npy files with two dimensions of numbers, in which each row
// is a row of the table. Labels are a second file with one dimension of numbers, truth values or texts.
//
// See https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
package npyio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/io/rowio"
)

const (
	magic = "\x93NUMPY"
	// maxHeader is the largest header that is read. NumPy itself writes at most a few hundred bytes for the
	// arrays that are supported.
	maxHeader = 1 << 14
	// maxText is the largest number of bytes of a text.
	maxText = 1 << 12
)

// header is the head of a file.
type header struct {
	Kind byte // f, i, u, b, U or S
	Size int  // of an element in bytes
	Dims []int64
	At   int64 // where the elements begin
	// Columns means that the columns are one after another (Fortran order).
	Columns bool
}

// recordBytes returns the size of a row.
func (h header) recordBytes() int64 { return h.rowLen() * int64(h.Size) }

// rowLen returns the number of elements of a row.
func (h header) rowLen() int64 {
	if len(h.Dims) < 2 {
		return 1
	}
	return h.Dims[1]
}

// extent returns the offset and the number of bytes of the records [first, first+count).
func (h header) extent(first, count int64) (off, n int64) {
	return h.At + first*h.recordBytes(), count * h.recordBytes()
}

// readHeader reads the header at the beginning of r and nothing after it. Rows have 1 to rowio.MaxDim elements,
// and all together have less than 2⁶² bytes.
func readHeader(r io.Reader) (h header, err error) {
	var b [12]byte
	if _, err := io.ReadFull(r, b[:10]); err != nil {
		return h, short(err)
	}
	if string(b[:6]) != magic || b[6] < 1 || b[6] > 3 {
		return h, fmt.Errorf("begins with % x, which is not an NPY array of version 1, 2 or 3", b[:8])
	}
	n, at := int(binary.LittleEndian.Uint16(b[8:])), 10
	if b[6] > 1 {
		if _, err := io.ReadFull(r, b[10:12]); err != nil {
			return h, short(err)
		}
		n, at = int(min(binary.LittleEndian.Uint32(b[8:]), maxHeader+1)), 12
	}
	if n > maxHeader {
		return h, fmt.Errorf("has a header of more than %d bytes, which only arrays of records need; save a plain array",
			maxHeader)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, short(err)
	}
	h.At = int64(at + n)
	return h, h.parse(string(text))
}

func short(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF { // not errors.Is: a decompressor's message says more
		return fmt.Errorf("its header is incomplete (truncated?): %w", io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("header: %w", err)
}

var errHeader = errors.New("has a header that numpy.save does not write; save the array again")

// dictionary matches a header.
var dictionary = regexp.MustCompile(`(?s)^\{'descr': (.*?), 'fortran_order': (.*?), 'shape': (.*?)(?:, )?\}[ \n]*$`)

// parse parses the dictionary of the header, as in
//
//	{'descr': '<f4', 'fortran_order': False, 'shape': (60000, 784), }
func (h *header) parse(text string) error {
	m := dictionary.FindStringSubmatch(text)
	if m == nil {
		return errHeader
	}
	if err := h.parseType(m[1]); err != nil {
		return err
	}
	if err := h.parseShape(m[3]); err != nil {
		return err
	}
	if m[2] != "False" && m[2] != "True" {
		return errHeader
	}
	h.Columns = m[2] == "True" && h.rowLen() > 1
	return nil
}

// parseType parses a type such as '<f4'.
func (h *header) parseType(descr string) error {
	if len(descr) < 5 || descr[0] != '\'' || descr[len(descr)-1] != '\'' {
		return fmt.Errorf("is an array of records (%.40s); save a plain array of numbers for each part", descr)
	}
	order, kind := descr[1], descr[2]
	size, err := strconv.ParseUint(descr[3:len(descr)-1], 10, 16)
	if err != nil {
		return errHeader
	}
	h.Kind, h.Size = kind, int(size)
	whole := size == 1 || size == 2 || size == 4 || size == 8
	switch {
	case order == '>':
		return fmt.Errorf(`has big-endian numbers (%s); save it as little-endian, in Python: numpy.save("FILE", numpy.load("FILE").astype("<%c%d"))`, descr, kind, size)
	case order != '<' && order != '|':
		return errHeader
	case kind == 'O':
		return errors.New("has Python objects; save an array of numbers")
	case kind == 'f' && (size == 2 || size == 4 || size == 8), (kind == 'i' || kind == 'u') && whole, kind == 'b' && size == 1:
		return nil
	case kind == 'U' && size > 0 && size <= maxText/4:
		h.Size *= 4
		return nil
	case kind == 'S' && size > 0 && size <= maxText:
		return nil
	}
	return fmt.Errorf(`has elements of the type %s, which is not supported; save it as numbers, in Python: numpy.save("FILE", numpy.load("FILE").astype("f4"))`, descr)
}

// parseShape parses a shape such as (3, 4) or (3,).
func (h *header) parseShape(shape string) error {
	inner, begun := strings.CutPrefix(shape, "(")
	inner, ended := strings.CutSuffix(inner, ")")
	if !begun || !ended || inner == "" {
		return errHeader
	}
	for _, part := range strings.Split(strings.TrimSuffix(inner, ","), ",") {
		n, err := strconv.ParseUint(strings.TrimPrefix(part, " "), 10, 48)
		if err != nil || len(h.Dims) == 32 {
			return errHeader
		}
		h.Dims = append(h.Dims, int64(n))
	}
	if len(h.Dims) > 2 {
		return fmt.Errorf(`has %d dimensions, want 2; in Python: a = numpy.load("FILE"); numpy.save("FILE", a.reshape(len(a), -1))`, len(h.Dims))
	}
	if d := h.rowLen(); d < 1 || d > rowio.MaxDim {
		return fmt.Errorf("has rows of %d numbers; a row has 1 to %d", d, rowio.MaxDim)
	}
	return nil
}

// isText reports whether elements are texts.
func (h header) isText() bool { return h.Kind == 'U' || h.Kind == 'S' }

// checkData returns an error for an array that is not a table of numbers.
func (h header) checkData() error {
	switch {
	case h.isText():
		return errors.New("is an array of texts; rows are numbers")
	case len(h.Dims) != 2:
		return errors.New(`has one dimension; if each number is a row, save it with two, in Python: numpy.save("FILE", numpy.load("FILE").reshape(-1, 1))`)
	}
	return nil
}

// checkLabels returns an error for an array that does not hold one label for each of n rows.
func (h header) checkLabels(n int64) error {
	switch {
	case len(h.Dims) == 2 && h.Dims[1] != 1:
		return fmt.Errorf("has rows of %d labels; want one for each row of the data (are the two files swapped?)", h.Dims[1])
	case h.Dims[0] != n:
		return fmt.Errorf("has %d labels for %d rows", h.Dims[0], n)
	}
	return nil
}

// checkSize compares the size of an uncompressed file with its header.
func (h header) checkSize(size int64) error {
	off, n := h.extent(0, h.Dims[0])
	if n < 0 || n/h.recordBytes() != h.Dims[0] || off+n != size {
		return fmt.Errorf("has %d bytes, which is not the size of %d rows of %d bytes (truncated?)", size, h.Dims[0],
			h.recordBytes())
	}
	return nil
}
