package safetensors

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

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
			panic("safetensors: tensor is not made by Of")
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
