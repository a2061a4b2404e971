package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
)

// File is an open safetensors file. Its fields are to be read only.
type File struct {
	Meta    map[string]string // nil if the file has none
	Tensors []Info            // in the order of the data

	r     io.ReaderAt
	data  int64 // where in the file the data begin
	index map[string]int
}

// Info describes an array of a file.
type Info struct {
	Name   string
	DType  DType // may be one that cannot be loaded
	Shape  []int // empty for a single number
	Offset int64 // of the first byte, from the beginning of the data
	Bytes  int64
}

// check compares the size with the type and the shape, if the type is known.
func (t Info) check() error {
	n, ok := product(t.Shape)
	if !ok {
		return fmt.Errorf("shape %v has too many values", t.Shape)
	}
	bits, ok := t.DType.bits()
	if !ok {
		return nil
	}
	if n > math.MaxInt/bits || n*bits%8 != 0 || int64(n*bits/8) != t.Bytes {
		return fmt.Errorf("%s of shape %v does not take the %d bytes of its data_offsets", t.DType, t.Shape, t.Bytes)
	}
	return nil
}

// Read reads the header of a file of size bytes. Every size in it is checked
// before it is used: the header is inside the file and at most 100 MB, each
// array's bytes are what its type and shape take, and the arrays fill the data
// from the first byte to the last, without overlap or hole. Types that cannot be
// loaded are no error. The numbers stay in r until [Values] reads them.
func Read(r io.ReaderAt, size int64) (*File, error) {
	if size < 8 {
		return nil, fmt.Errorf("safetensors: file of %d bytes; it begins with 8 bytes for the length of its header "+
			"(truncated, or another format?)", size)
	}
	var b [8]byte
	if err := readAt(r, b[:], 0); err != nil {
		return nil, fmt.Errorf("safetensors: length of the header: %w", err)
	}
	n := binary.LittleEndian.Uint64(b[:])
	if most := min(uint64(size-8), maxHeader); n > most {
		return nil, fmt.Errorf("safetensors: header of %d bytes; in a file of %d it has at most %d (truncated, or another "+
			"format?)", n, size, most)
	}
	header := make([]byte, n)
	if err := readAt(r, header, 8); err != nil {
		return nil, fmt.Errorf("safetensors: header: %w", err)
	}
	meta, tensors, err := parse(header)
	if err != nil {
		return nil, err
	}
	f := &File{Meta: meta, Tensors: tensors, r: r, data: 8 + int64(n), index: make(map[string]int, len(tensors))}
	slices.SortStableFunc(f.Tensors, func(a, b Info) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Bytes, b.Bytes))
	})
	end := int64(0)
	for i, t := range f.Tensors {
		if t.Offset != end {
			return nil, fmt.Errorf("safetensors: tensor %.60q: begins at byte %d of the data, but those before it end at %d",
				t.Name, t.Offset, end)
		}
		end += t.Bytes // no overflow: it is an offset of the header
		f.index[t.Name] = i
	}
	switch have := size - f.data; {
	case have < end:
		return nil, fmt.Errorf("safetensors: data of %d bytes, but the header declares %d (truncated?)", have, end)
	case have > end:
		return nil, fmt.Errorf("safetensors: data of %d bytes, %d more than the header declares", have, have-end)
	}
	return f, nil
}

// readAt fills b. The error is io.ErrUnexpectedEOF if the file is shorter than the size that Read was given.
func readAt(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	return err
}

// Lookup returns the description of a tensor.
func (f *File) Lookup(name string) (Info, bool) {
	i, ok := f.index[name]
	if !ok {
		return Info{}, false
	}
	return f.Tensors[i], true
}

// Values reads the numbers of a tensor, row-major. The error names the tensor if
// there is none of that name, or if it has another type than T.
func Values[T Value](f *File, name string) ([]T, error) {
	t, ok := f.Lookup(name)
	if !ok {
		return nil, fmt.Errorf("safetensors: no tensor %.60q; have %s", name, f.names())
	}
	want := dtypeOf[T]()
	if t.DType != want {
		return nil, fmt.Errorf("safetensors: tensor %.60q: numbers are %.60s, not %s", name, t.DType, want)
	}
	bits, _ := want.bits()
	out := make([]T, t.Bytes/int64(bits/8))
	buf := make([]byte, min(t.Bytes, chunkBytes))
	off := f.data + t.Offset
	for rest := out; len(rest) > 0; {
		n := min(len(rest), chunkBytes/(bits/8))
		b := buf[:n*(bits/8)]
		err := readAt(f.r, b, off)
		if err == nil {
			_, err = binary.Decode(b, binary.LittleEndian, rest[:n])
		}
		if err != nil {
			return nil, fmt.Errorf("safetensors: tensor %.60q: byte %d of the file: %w", name, off, err)
		}
		rest, off = rest[n:], off+int64(len(b))
	}
	return out, nil
}

// names lists the first names for an error message.
func (f *File) names() string {
	const most = 8
	s := ""
	for i, t := range f.Tensors {
		switch {
		case i == most:
			return fmt.Sprintf("%s and %d more", s, len(f.Tensors)-most)
		case i > 0:
			s += ", "
		}
		s += fmt.Sprintf("%.60q", t.Name)
	}
	return cmp.Or(s, "none")
}

// Encode returns the bytes that [Write] writes. It panics if Write returns an error,
// which is about names and metadata.
func Encode(meta map[string]string, tensors ...Tensor) []byte {
	var b bytes.Buffer
	if err := Write(&b, meta, tensors); err != nil {
		panic(err.Error())
	}
	return b.Bytes()
}

// Decode opens a file that is in memory.
func Decode(data []byte) (*File, error) {
	return Read(bytes.NewReader(data), int64(len(data)))
}

// Shaped reads the numbers of a tensor that must have that type and shape, and
// no NaN or infinity. A size of −1 is any. Nothing is allocated unless it fits.
func Shaped[T Value](f *File, name string, shape ...int) ([]T, error) {
	if t, ok := f.Lookup(name); ok && !slices.EqualFunc(t.Shape, shape,
		func(have, want int) bool { return want == -1 || have == want }) {
		return nil, fmt.Errorf("safetensors: tensor %.60q: shape %v, want %v", name, t.Shape, shape)
	}
	v, err := Values[T](f, name)
	if err != nil {
		return nil, err
	}
	for i, x := range v {
		if x-x != 0 {
			return nil, fmt.Errorf("safetensors: tensor %.60q: number %d is not finite", name, i)
		}
	}
	return v, nil
}
