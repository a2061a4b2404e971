package safetensors

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// DType is the type of an array's numbers, as the header spells it.
type DType string

const (
	F32 DType = "F32"
	F64 DType = "F64"
	I8  DType = "I8"
	I16 DType = "I16"
	I32 DType = "I32"
	I64 DType = "I64"
	U8  DType = "U8"
	U16 DType = "U16"
	U32 DType = "U32"
	U64 DType = "U64"
)

// Value is a type that arrays can be written from and read to.
type Value interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// dtypeOf returns F32 for float32, U8 for uint8, and so on.
func dtypeOf[T Value]() DType {
	name := reflect.TypeFor[T]().Name()
	return DType(strings.ToUpper(name[:1]) + strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz"))
}

// bits returns the size of one number. Types that are known but have no Go
// counterpart are among them, so that their arrays' sizes are checked too.
func (d DType) bits() (n int, ok bool) {
	switch d {
	case "F4":
		return 4, true
	case "F6_E2M3", "F6_E3M2":
		return 6, true
	case U8, I8, "BOOL", "F8_E4M3", "F8_E5M2", "F8_E8M0":
		return 8, true
	case U16, I16, "F16", "BF16":
		return 16, true
	case U32, I32, F32:
		return 32, true
	case U64, I64, F64, "C64":
		return 64, true
	}
	return 0, false
}

// product returns the number of values of a shape, 1 for the empty one. It is
// not ok if a product on the way is above the largest int.
func product(shape []int) (n int, ok bool) {
	n = 1
	for _, d := range shape {
		if d < 0 || d > 0 && n > math.MaxInt/d {
			return 0, false
		}
		n *= d
	}
	return n, true
}

// Tensor is a named array to be written. It is made by [NewTensor].
type Tensor struct {
	name  string
	shape []int
	dtype DType
	n     int                  // values
	slice func(lo, hi int) any // []T of the values lo to hi
}

// NewTensor returns a tensor of a row-major array, whose memory it shares. No shape at all means a single
// number. NewTensor panics if the length of data is not the product of the shape.
func NewTensor[T Value](name string, data []T, shape ...int) Tensor {
	if n, ok := product(shape); !ok || n != len(data) {
		panic("safetensors: shape does not fit the length of the data")
	}
	return Tensor{name, shape, dtypeOf[T](), len(data), func(lo, hi int) any { return data[lo:hi] }}
}

const (
	metadataKey = "__metadata__"
	maxHeader   = 100_000_000 // as in the reference implementation
	chunkBytes  = 256 << 10
)

// order is the order of types in the data, as in the reference implementation.
// Larger numbers come first, so that every array is aligned.
var order = []DType{U64, I64, F64, F32, U32, I32, U16, I16, I8, U8}

// Write writes a file of the tensors, with meta as its metadata (none if empty).
// The bytes depend on what is written only: tensors are ordered by type, then
// by name, the metadata by key, and the header is padded with spaces to a
// multiple of 8 bytes. They are the bytes that the reference implementation
// writes (of several keys of metadata it has its own order).
//
// The error is one of w, or names a tensor whose name cannot be written. The
// data pass through a small buffer.
func Write(w io.Writer, meta map[string]string, tensors []Tensor) error {
	tensors = slices.Clone(tensors)
	slices.SortStableFunc(tensors, func(a, b Tensor) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.dtype), slices.Index(order, b.dtype)),
			cmp.Compare(a.name, b.name))
	})
	head, err := header(meta, tensors)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return fmt.Errorf("safetensors: header: %w", err)
	}
	for _, t := range tensors {
		if err := t.write(w); err != nil {
			return fmt.Errorf("safetensors: tensor %.60q: %w", t.name, err)
		}
	}
	return nil
}

// write writes the numbers.
func (t *Tensor) write(w io.Writer) (err error) {
	bits, _ := t.dtype.bits()
	step := chunkBytes / (bits / 8)
	buf := make([]byte, 0, min(chunkBytes, t.n*bits/8))
	for lo := 0; lo < t.n && err == nil; lo += step {
		if buf, err = binary.Append(buf[:0], binary.LittleEndian, t.slice(lo, min(lo+step, t.n))); err == nil {
			_, err = w.Write(buf)
		}
	}
	return err
}

// header returns the length and the header, for tensors whose data follow one
// another.
func header(meta map[string]string, tensors []Tensor) ([]byte, error) {
	b := append(make([]byte, 8), '{')
	var err error
	if len(meta) > 0 {
		b = append(b, `"`+metadataKey+`":{`...)
		for i, k := range slices.Sorted(maps.Keys(meta)) {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendString(b, k); err != nil {
				return nil, fmt.Errorf("safetensors: metadata key %.60q: %w", k, err)
			}
			b = append(b, ':')
			if b, err = appendString(b, meta[k]); err != nil {
				return nil, fmt.Errorf("safetensors: metadata %.60q: %w", k, err)
			}
		}
		b = append(b, '}')
	}
	seen := make(map[string]bool, len(tensors))
	end := int64(0)
	for _, t := range tensors {
		switch {
		case t.slice == nil:
			panic("safetensors: tensor is not made by NewTensor")
		case t.name == metadataKey:
			return nil, fmt.Errorf("safetensors: tensor %q: the name is taken by the metadata", t.name)
		case seen[t.name]:
			return nil, fmt.Errorf("safetensors: tensor %.60q: two have this name", t.name)
		}
		seen[t.name] = true
		if len(b) > 9 {
			b = append(b, ',')
		}
		if b, err = appendString(b, t.name); err != nil {
			return nil, fmt.Errorf("safetensors: tensor %.60q: %w", t.name, err)
		}
		b = append(b, `:{"dtype":"`+string(t.dtype)+`","shape":[`...)
		for i, d := range t.shape {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, int64(d), 10)
		}
		b = append(b, `],"data_offsets":[`...)
		b = strconv.AppendInt(b, end, 10)
		bits, _ := t.dtype.bits()
		end += int64(t.n) * int64(bits/8)
		b = append(b, ',')
		b = strconv.AppendInt(b, end, 10)
		b = append(b, `]}`...)
	}
	b = append(b, '}')
	for len(b)%8 != 0 {
		b = append(b, ' ')
	}
	n := len(b) - 8
	switch {
	case n > maxHeader:
		return nil, fmt.Errorf("safetensors: header of %d bytes; readers accept %d", n, maxHeader)
	case len(tensors) > maxTensors || len(meta) > maxMeta:
		return nil, fmt.Errorf("safetensors: %d tensors and %d keys of metadata; Read accepts %d and %d", len(tensors),
			len(meta), maxTensors, maxMeta)
	}
	binary.LittleEndian.PutUint64(b, uint64(n))
	return b, nil
}

// appendString appends a JSON string, with no more escapes than JSON demands.
// encoding/json has changed its choice of escapes between releases.
func appendString(b []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("%.60q is not UTF-8", s)
	}
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, `\b`...)
		case '\t':
			b = append(b, `\t`...)
		case '\n':
			b = append(b, `\n`...)
		case '\f':
			b = append(b, `\f`...)
		case '\r':
			b = append(b, `\r`...)
		default:
			if c < ' ' {
				b = fmt.Appendf(b, `\u%04x`, c)
			} else {
				b = append(b, c)
			}
		}
	}
	return append(b, '"'), nil
}
