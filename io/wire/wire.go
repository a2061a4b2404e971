// Package wire encodes and merges sums that one worker computes and another adds up. A type has one method,
// Code, which passes its fields to a Coder. The Coder writes, reads or adds them, so that encoding, decoding
// and merging cannot differ. Marshal, Unmarshal and Merge run it. Numbers are little-endian.
package wire

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/exact"
)

// Coded is a sum that has an encoding. Code passes each of its fields to c, in an order that depends only on
// earlier fields, and calls Check with conditions on them. It may change fields only while c reads.
type Coded interface{ Code(c *Coder) }

// Part is a part of a sum with its own encoding, which shows where it ends.
type Part interface {
	AppendBinary(b []byte) ([]byte, error)
	Decode(b []byte) (rest []byte, err error)
}

// Coder writes, reads or adds the fields that it is given. It adds counts and exact sums. Other numbers of fixed size
// must be equal. Anything else makes Merge panic. Once the encoding turns out to be damaged, it reads zeros.
type Coder struct {
	b       []byte
	reading bool
	adding  bool
	bad     bool
}

// Marshal returns the encoding of a sum.
func Marshal(sum Coded) []byte {
	var c Coder
	sum.Code(&c)
	return c.b
}

// Unmarshal decodes b into dst, which must be zero. It returns an error, and leaves dst unusable, if
// Marshal would not return b.
func Unmarshal(dst Coded, b []byte) error {
	c := Coder{b: b, reading: true}
	dst.Code(&c)
	if c.bad || len(c.b) > 0 {
		return fmt.Errorf("wire: damaged encoding of %T", dst)
	}
	return nil
}

// Merge adds src to dst, field by field. It panics if fields that cannot be added differ, because the sums are then
// of different kinds. Code of a type that is merged in another way begins with Merged.
func Merge[T Coded](dst, src T) {
	c := Coder{b: Marshal(src), adding: true}
	dst.Code(&c)
	if c.bad || len(c.b) > 0 {
		panic(fmt.Sprintf("wire: merge of a %T of another kind", dst))
	}
}

// Merged reports whether c adds fields. It then reads a sum into zero, and calls merge with it.
func Merged[T Coded](c *Coder, zero T, merge func(T)) bool {
	if !c.adding {
		return false
	}
	c.reading, c.adding = true, false
	zero.Code(c)
	c.reading, c.adding = false, true
	if !c.bad {
		merge(zero)
	}
	return true
}

// other returns a number of the sum that is added.
func (c *Coder) other(limit uint64, size int) uint64 {
	c.reading, c.adding = true, false
	n := c.fixed(0, limit, size)
	c.reading, c.adding = false, true
	return n
}

// Reading reports whether c reads, and has not found damage.
func (c *Coder) Reading() bool { return c.reading && !c.bad }

// Left returns how many bytes are still to be read.
func (c *Coder) Left() int { return len(c.b) }

// Check tells c whether a condition on the earlier fields holds. If it does not, an encoding that c reads is damaged.
// Check reports whether c has found no damage yet.
func (c *Coder) Check(ok bool) bool {
	if c.reading && !ok {
		c.fail()
	}
	return !c.bad
}

func (c *Coder) fail() { c.b, c.bad = nil, true }

// bytes returns room for n bytes that are written, or n bytes that were read; nil after damage.
func (c *Coder) bytes(n int) []byte {
	if c.adding {
		c.fail()
		return nil
	}
	if !c.reading {
		c.b = append(c.b, make([]byte, n)...)
		return c.b[len(c.b)-n:]
	}
	if !c.Check(n <= len(c.b)) {
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

// fixed codes a number of at most limit in size bytes, up to 8, and returns it.
func (c *Coder) fixed(v, limit uint64, size int) uint64 {
	if c.adding {
		if c.other(limit, size) != v {
			c.fail()
		}
		return v
	}
	var number [8]byte
	if c.reading {
		copy(number[:], c.bytes(size))
		v = binary.LittleEndian.Uint64(number[:])
	} else {
		binary.LittleEndian.PutUint64(number[:], v)
		copy(c.bytes(size), number[:])
	}
	if !c.Check(v <= limit) {
		return 0
	}
	return v
}

// Uint64 codes numbers of 8 bytes.
func (c *Coder) Uint64(fields ...*uint64) {
	for _, v := range fields {
		if n := c.fixed(*v, math.MaxUint64, 8); c.reading {
			*v = n
		}
	}
}

// Counts codes numbers ≥ 0, of 8 bytes each.
func (c *Coder) Counts(fields ...*int64) {
	for _, v := range fields {
		if c.adding {
			*v += int64(c.other(math.MaxInt64, 8))
			continue
		}
		n := uint64(*v)
		if c.Uint64(&n); c.reading {
			*v = int64(n)
		}
		c.Check(*v >= 0)
	}
}

// Float64 codes numbers of 8 bytes.
func (c *Coder) Float64(fields ...*float64) {
	for _, v := range fields {
		n := math.Float64bits(*v)
		if c.Uint64(&n); c.reading {
			*v = math.Float64frombits(n)
		}
	}
}

// Largest codes a number of 8 bytes. The larger of two is kept when they are merged.
func (c *Coder) Largest(v *float64) {
	if c.adding {
		*v = max(*v, math.Float64frombits(c.other(math.MaxUint64, 8)))
		return
	}
	c.Float64(v)
}

// Float32 codes numbers of 4 bytes.
func (c *Coder) Float32(fields ...*float32) {
	for _, v := range fields {
		if n := c.Int(int(math.Float32bits(*v)), math.MaxUint32); c.reading {
			*v = math.Float32frombits(uint32(n))
		}
	}
}

// Bool codes a byte, 0 or 1.
func (c *Coder) Bool(v *bool) {
	n := 0
	if *v {
		n = 1
	}
	n = c.Byte(n, 1)
	if c.reading {
		*v = n == 1
	}
}

// Byte codes a number of at most limit, which is below 256, and returns it.
func (c *Coder) Byte(v, limit int) int { return int(c.fixed(uint64(v), uint64(limit), 1)) }

// Int codes a number of 0 to limit in 4 bytes, and returns it.
func (c *Coder) Int(v, limit int) int { return int(c.fixed(uint64(v), uint64(limit), 4)) }

// Short codes a number of 0 to limit in 2 bytes, and returns it.
func (c *Coder) Short(v, limit int) int { return int(c.fixed(uint64(v), uint64(limit), 2)) }

// Uvarint codes a number of at most limit in as few bytes as it takes, and returns it.
func (c *Coder) Uvarint(v, limit uint64) uint64 {
	if c.adding {
		c.fail()
	}
	if !c.reading {
		c.b = binary.AppendUvarint(c.b, v)
		return v
	}
	v, n := binary.Uvarint(c.b)
	if !c.Check(n > 0 && (n == 1 || c.b[n-1] != 0) && v <= limit) {
		return 0
	}
	c.b = c.b[n:]
	return v
}

// Text codes a text of at most limit bytes after its length.
func (c *Coder) Text(v *string, limit int) {
	if b := c.Raw([]byte(*v), c.Int(len(*v), limit)); c.reading {
		*v = string(b)
	}
}

// Raw codes n bytes. It writes v, or returns the read bytes, which share the memory of the encoding.
func (c *Coder) Raw(v []byte, n int) []byte {
	b := c.bytes(n)
	if !c.reading {
		copy(b, v)
	}
	return b
}

// Bytes codes at most limit bytes after their length.
func (c *Coder) Bytes(v *[]byte, limit int) {
	if b := c.Raw(*v, c.Int(len(*v), limit)); c.reading {
		*v = append([]byte(nil), b...)
	}
}

// Part codes parts with encodings of their own. Only exact sums can be added.
func (c *Coder) Part(parts ...Part) {
	for _, p := range parts {
		var err error
		switch {
		case c.adding:
			var other exact.Sum
			if c.b, err = other.Decode(c.b); err != nil {
				c.fail()
			}
			p.(*exact.Sum).Merge(&other)
		case c.reading:
			c.b, err = p.Decode(c.b)
		default:
			c.b, err = p.AppendBinary(c.b)
		}
		c.Check(err == nil)
	}
}

// Optional codes whether *v is nil, and if it is not, calls code with it.
func Optional[T any](c *Coder, v **T, code func(*T)) {
	present := *v != nil
	c.Bool(&present)
	if !present {
		return
	}
	if c.reading {
		*v = new(T)
	}
	code(*v)
}

// Each codes the number of elements of v, at most limit, and calls code with each.
func Each[T any](c *Coder, v *[]T, limit int, code func(*T)) {
	Items(c, v, c.Int(len(*v), limit), code)
}

// Items calls code with each of the n elements of v. It does not code n.
func Items[T any](c *Coder, v *[]T, n int, code func(*T)) {
	for i := 0; i < n && !c.bad; i++ {
		if c.reading {
			*v = append(*v, *new(T)) // not all at once: fewer may follow
		}
		code(&(*v)[i])
	}
}

// All codes the number of elements of v, and each.
func All[T any, P interface {
	*T
	Coded
}](c *Coder, v *[]T, limit int) {
	Each(c, v, limit, func(one *T) { P(one).Code(c) })
}

// Map codes the number of elements of m, and each, in the order of their keys, after its key. empty
// returns an element for code to read.
func Map[K cmp.Ordered, V any](c *Coder, m map[K]V, limit int, key func(*K), empty func() V, code func(V)) {
	keys := slices.Sorted(maps.Keys(m))
	Each(c, &keys, limit, func(k *K) {
		v := m[*k]
		key(k)
		if c.reading {
			c.Check(len(m) == 0 || *k > keys[len(keys)-2])
			v = empty()
		}
		code(v)
		if c.Reading() {
			m[*k] = v
		}
	})
}
