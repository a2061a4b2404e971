package safetensors

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Number is a type of number that files hold.
type Number interface {
	float32 | float64 | int32 | uint64
}

var magic = []byte("\x93NUMPY\x01\x00")

// NPYHeader is the header of a file: the type and the shape of its array, one or two sizes.
type NPYHeader struct {
	Shape []int
	DType string // <f4, <f8, <i4 or <u8, as NumPy writes float32, float64, int32 and uint64
}

// Count returns the number of values of the array.
func (h NPYHeader) Count() int {
	n := 1
	for _, s := range h.Shape {
		n *= s
	}
	return n
}

// dtype returns NumPy's name of the type and its size in bytes.
func dtype[T Number]() (name string, size int) {
	var zero T
	switch any(zero).(type) {
	case float32:
		return "<f4", 4
	case float64:
		return "<f8", 8
	case int32:
		return "<i4", 4
	}
	return "<u8", 8
}

// NPYWriter writes the numbers of one array, whose shape is given at the start.
type NPYWriter[T Number] struct {
	w    *bufio.Writer
	left int
	buf  []byte
}

// NewNPYWriter returns a Writer of an array with the given shape, after writing its header.
func NewNPYWriter[T Number](w io.Writer, shape ...int) (*NPYWriter[T], error) {
	name, _ := dtype[T]()
	h := NPYHeader{Shape: shape, DType: name}
	sizes := make([]string, len(shape))
	for i, s := range shape {
		if s < 0 {
			panic("npyio: negative size")
		}
		sizes[i] = strconv.Itoa(s)
	}
	if len(shape) == 1 {
		sizes = append(sizes, "") // a tuple of one has a comma
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", name,
		strings.TrimRight(strings.Join(sizes, ", "), " "))
	// The numbers begin at a multiple of 64 bytes.
	size := len(magic) + 2 + len(text) + 1
	text += strings.Repeat(" ", (64-size%64)%64) + "\n"
	b := bufio.NewWriterSize(w, 1<<16)
	b.Write(magic)
	b.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(text))))
	_, err := b.WriteString(text)
	return &NPYWriter[T]{w: b, left: h.Count()}, err
}

// Write writes the next values of the array. More values than the shape has are an error.
func (w *NPYWriter[T]) Write(v []T) error {
	if len(v) > w.left {
		return fmt.Errorf("npyio: %d numbers more than the shape says", len(v)-w.left)
	}
	w.left -= len(v)
	for len(v) > 0 {
		n := min(len(v), 4096)
		w.buf = w.buf[:0]
		for _, x := range v[:n] {
			switch x := any(x).(type) {
			case float32:
				w.buf = binary.LittleEndian.AppendUint32(w.buf, math.Float32bits(x))
			case float64:
				w.buf = binary.LittleEndian.AppendUint64(w.buf, math.Float64bits(x))
			case int32:
				w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(x))
			case uint64:
				w.buf = binary.LittleEndian.AppendUint64(w.buf, x)
			}
		}
		if _, err := w.w.Write(w.buf); err != nil {
			return err
		}
		v = v[n:]
	}
	return nil
}

// Close writes what is buffered. Missing values are an error. The
// underlying writer stays open.
func (w *NPYWriter[T]) Close() error {
	if w.left > 0 {
		return fmt.Errorf("npyio: %d numbers fewer than the shape says", w.left)
	}
	return w.w.Flush()
}

var npyHeader = regexp.MustCompile(`^\{'descr': '(<f4|<f8|<i4|<u8)', 'fortran_order': False, 'shape': \((\d+),(?: (\d+))?\), \} *\n$`)

// ReadNPYHeader reads the header at the start of r and nothing after it. It accepts what
// NewWriter and numpy.save write for arrays of one or two dimensions.
func ReadNPYHeader(r io.Reader) (NPYHeader, error) {
	head := make([]byte, len(magic)+2)
	if _, err := io.ReadFull(r, head); err != nil || !bytes.HasPrefix(head, magic) {
		return NPYHeader{}, errors.New("npyio: not an NPY file of version 1.0")
	}
	text := make([]byte, binary.LittleEndian.Uint16(head[len(magic):]))
	if _, err := io.ReadFull(r, text); err != nil {
		return NPYHeader{}, errors.New("npyio: the header ends early (truncated file?)")
	}
	m := npyHeader.FindSubmatch(text)
	if m == nil {
		return NPYHeader{}, fmt.Errorf("npyio: unsupported header %.100q: want little-endian float32, float64, int32 or "+
			"uint64 in row-major order, of one or two sizes", text)
	}
	h := NPYHeader{DType: string(m[1])}
	count := 1
	for _, size := range m[2:] {
		if size == nil {
			continue
		}
		n, err := strconv.Atoi(string(size))
		if err != nil || n > 0 && count > math.MaxInt/8/n {
			return NPYHeader{}, fmt.Errorf("npyio: the array is too large: %.100q", text)
		}
		count *= n
		h.Shape = append(h.Shape, n)
	}
	return h, nil
}

// ReadNPY returns the values of an array from the bytes of a whole file.
func ReadNPY[T Number](file []byte) (h NPYHeader, v []T, err error) {
	r := bytes.NewReader(file)
	if h, err = ReadNPYHeader(r); err != nil {
		return h, nil, err
	}
	name, size := dtype[T]()
	if name != h.DType {
		return h, nil, fmt.Errorf("npyio: the file holds %s, not %s", h.DType, name)
	}
	if r.Len() != size*h.Count() {
		return h, nil, fmt.Errorf("npyio: %d bytes of values, but shape %v takes %d", r.Len(), h.Shape, size*h.Count())
	}
	v = make([]T, h.Count())
	data := file[len(file)-r.Len():]
	for i := range v {
		at := data[size*i:]
		switch p := any(&v[i]).(type) {
		case *float32:
			*p = math.Float32frombits(binary.LittleEndian.Uint32(at))
		case *float64:
			*p = math.Float64frombits(binary.LittleEndian.Uint64(at))
		case *int32:
			*p = int32(binary.LittleEndian.Uint32(at))
		case *uint64:
			*p = binary.LittleEndian.Uint64(at)
		}
	}
	return h, v, nil
}
