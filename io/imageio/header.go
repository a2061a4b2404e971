// Package imageio reads files of images without names: IDX, the format of MNIST, and the binary
// versions of CIFAR-10 and CIFAR-100.
//
// An IDX file has a header with the type and the sizes of an array, and then its numbers,
// big-endian and row-major. The first dimension counts the records. Class labels are a second file
// of one dimension. See http://yann.lecun.com/exdb/mnist/.
//
// A record of CIFAR has one or two label bytes and an image of 32×32 pixels: the red plane, then
// green, then blue. There is no header. See https://www.cs.toronto.edu/~kriz/cifar.html.
package imageio

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/bochner-ml/bochner/io/rowio"
)

// The types of numbers, as the third byte of the file names them.
const (
	typeUint8   = 0x08
	typeInt8    = 0x09
	typeInt16   = 0x0b
	typeInt32   = 0x0c
	typeFloat32 = 0x0d
	typeFloat64 = 0x0e
)

// maxDims is the largest supported number of dimensions.
const maxDims = 8

// header is the head of an IDX file.
type header struct {
	Type byte  // typeUint8, typeInt8, typeInt16, typeInt32, typeFloat32 or typeFloat64
	Dims []int // 1 to maxDims sizes: the number of records, then the sizes of each
}

// width returns the size of one number in bytes, 0 for an unknown type.
func width(typ byte) int {
	switch typ {
	case typeUint8, typeInt8:
		return 1
	case typeInt16:
		return 2
	case typeInt32, typeFloat32:
		return 4
	case typeFloat64:
		return 8
	}
	return 0
}

// sniff reports whether a file that begins with head looks like an IDX file. Four bytes are enough.
func sniff(head []byte) bool {
	return len(head) >= 4 && head[0] == 0 && head[1] == 0 && width(head[2]) > 0 && 1 <= head[3] && head[3] <= maxDims
}

// readHeader reads the header at the start of r and nothing after it. The returned
// header is valid: a known type, 1 to maxDims dimensions, at least 0 records of 1 to
// rowio.MaxDim numbers.
func readHeader(r io.Reader) (header, error) {
	var b [4 + 4*maxDims]byte
	if n, err := io.ReadFull(r, b[:4]); err != nil {
		return header{}, headerError(n, 4, err)
	}
	if !sniff(b[:4]) {
		return header{}, fmt.Errorf("file starts with % x; an IDX file starts with 00 00, the type (08, 09, 0b, "+
			"0c, 0d or 0e) and the number of dimensions (01 to %02x)", b[:4], maxDims)
	}
	h := header{Type: b[2], Dims: make([]int, b[3])}
	if n, err := io.ReadFull(r, b[4:h.size()]); err != nil {
		return header{}, headerError(4+n, h.size(), err)
	}
	for i := range h.Dims {
		v := binary.BigEndian.Uint32(b[4+4*i:])
		if v > math.MaxInt32 {
			return header{}, fmt.Errorf("header: dimension %d is %d; sizes are 0 to %d", i+1, int32(v), math.MaxInt32)
		}
		h.Dims[i] = int(v)
	}
	n := 1
	for _, d := range h.Dims[1:] {
		if d == 0 || n > rowio.MaxDim/d {
			return header{}, fmt.Errorf("header: records of sizes %v; a record has 1 to %d numbers", h.Dims[1:],
				rowio.MaxDim)
		}
		n *= d
	}
	return h, nil
}

func headerError(n int, size int64, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF { // not errors.Is: a decompressor's message says more
		return fmt.Errorf("header ends after %d of %d bytes (truncated?): %w", n, size, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("header: %w", err)
}

// size returns the size of the header itself in bytes.
func (h header) size() int64 { return int64(4 + 4*len(h.Dims)) }

// records returns the number of records.
func (h header) records() int64 { return int64(h.Dims[0]) }

// rowLen returns the number of values of a record: the product of all sizes but the first.
func (h header) rowLen() int {
	n := 1
	for _, d := range h.Dims[1:] {
		n *= d
	}
	return n
}

// recordBytes returns the size of a record in bytes.
func (h header) recordBytes() int { return h.rowLen() * width(h.Type) }

// extent returns where in the file the records [first, first+count) are: the
// offset of the first and the bytes of them all.
func (h header) extent(first, count int64) (off, n int64) {
	size := int64(h.recordBytes())
	return h.size() + first*size, count * size
}

// checkSize compares the size of an uncompressed file with the size its header
// declares.
func (h header) checkSize(size int64) error {
	off, n := h.extent(0, h.records())
	switch want := off + n; {
	case size < want:
		return fmt.Errorf("%d bytes, but the header declares %d: %d records of %d bytes (truncated?)", size, want,
			h.records(), h.recordBytes())
	case size > want:
		return fmt.Errorf("%d bytes more than the header declares: %d records of %d bytes", size-want, h.records(),
			h.recordBytes())
	}
	return nil
}

// check returns an error unless labels is the header of a labels file for images: one
// dimension, integers, and the same number of records.
func check(images, labels header) error {
	switch {
	case len(labels.Dims) != 1:
		return fmt.Errorf("labels file has %d dimensions %v; labels have one (are the two files swapped?)",
			len(labels.Dims), labels.Dims)
	case labels.Type == typeFloat32 || labels.Type == typeFloat64:
		return fmt.Errorf("labels file has type %02x, floating point; labels are integers (08, 09, 0b or 0c)",
			labels.Type)
	case images.records() != labels.records():
		return fmt.Errorf("%d records in the data, but %d in the labels file", images.records(), labels.records())
	}
	return nil
}
