package schema

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/wire"
)

var (
	_ encoding.BinaryAppender    = (*Survey)(nil)
	_ encoding.BinaryMarshaler   = (*Survey)(nil)
	_ encoding.BinaryUnmarshaler = (*Survey)(nil)
)

// Code codes the survey, as a sum of its own.
func (s *Survey) Code(c *wire.Coder) { c.Whole(s) }

// surveyVersion is the first byte of an encoded Survey.
const surveyVersion = 2

var (
	errDamaged = errors.New("schema: damaged encoding of a survey")
	errVersion = errors.New("schema: survey encoded by another version of the program; use one version on all workers")
)

// AppendBinary appends the survey to b. Surveys of the same fields have equal encodings. The
// error is always nil.
func (s *Survey) AppendBinary(b []byte) ([]byte, error) {
	b = append(b, surveyVersion, byte(bits.TrailingZeros64(uint64(s.limit))), s.rules.Decimal, s.rules.Thousands)
	b = binary.AppendUvarint(b, uint64(len(s.rules.Missing)))
	for _, code := range s.rules.Missing {
		b = appendText(b, code)
	}
	b = binary.AppendUvarint(b, uint64(len(s.columns)))
	for i := range s.columns {
		b = s.columns[i].append(b)
	}
	return b, nil
}

// MarshalBinary is AppendBinary to a new slice.
func (s *Survey) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func (c *survey) append(b []byte) []byte {
	for _, n := range append([]int64{c.fields, c.null, c.empty}, c.codes...) {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = append(b, byte(c.zeros))
	b = binary.AppendUvarint(b, uint64(len(c.levels.entries)))
	for _, e := range c.levels.sorted() {
		b = binary.AppendUvarint(b, uint64(e.size))
		b = append(b, c.levels.stored(&e)...)
		if e.size > MaxLevelText {
			b = binary.LittleEndian.AppendUint64(b, e.hash)
		}
		b = binary.AppendUvarint(b, uint64(e.n))
	}
	if c.zeros == 0 {
		return b
	}
	b = c.rest.append(b)
	if c.rest.of(isNumber) > 0 {
		b = c.cells.AppendBinary(b)
	}
	return b
}

func (t *tally) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(t.n))
	for _, n := range t.counts {
		b = binary.AppendUvarint(b, uint64(n))
	}
	if t.of(isNumber) > 0 {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(t.min))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(t.max))
	}
	b = binary.AppendUvarint(b, uint64(t.short))
	b = binary.AppendUvarint(b, uint64(t.long))
	return appendText(b, t.odd)
}

// source reads what AppendBinary has written. After an error everything is zero.
type source struct {
	b   []byte
	bad bool
}

func (r *source) Fail() { r.b, r.bad = nil, true }

func (r *source) Failed() bool { return r.bad }

func (r *source) Byte() byte {
	if len(r.b) == 0 {
		r.Fail()
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

// uvarint reads a number of at most limit, in its shortest form.
func (r *source) Uvarint(limit uint64) uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || n > 1 && r.b[n-1] == 0 || v > limit {
		r.Fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count reads a number of things of which each takes so many bytes at least.
func (r *source) Count(each int) int { return int(r.Uvarint(uint64(len(r.b) / each))) }

func (r *source) uint64() uint64 {
	b := r.bytes(8)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

func (r *source) bytes(n int) []byte {
	if n > len(r.b) {
		r.Fail()
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// UnmarshalBinary sets s to the survey encoded in b, and fails unless it uses all of b. It
// allocates at most 700 bytes for each byte of b.
func (s *Survey) UnmarshalBinary(b []byte) error {
	if len(b) > 0 && b[0] != surveyVersion {
		return errVersion
	}
	r := &source{b: b}
	r.Byte()
	limit := r.Byte()
	if limit > uint8(bits.TrailingZeros64(maxColumnWeight)) {
		return errDamaged
	}
	rules := Rules{Decimal: r.Byte(), Thousands: r.Byte()}
	for range r.Count(1) {
		rules.Missing = append(rules.Missing, string(r.bytes(int(r.Uvarint(MaxLevelText)))))
	}
	columns := r.Count(5 + len(rules.Missing))
	if r.bad || columns < 1 || columns > rows.MaxDim+1 || len(rules.Missing) > MaxCodes {
		return errDamaged
	}
	t := NewSurvey(columns, rules)
	t.limit = 1 << limit
	for i := range t.columns {
		c := &t.columns[i]
		c.decode(r, t.maxCells())
		if r.bad || c.weight > t.limit {
			return errDamaged
		}
		t.total += t.share(c)
	}
	if len(r.b) > 0 || t.total > maxWeight && t.limit > 1 {
		return errDamaged
	}
	*s = *t
	return nil
}

func (c *survey) decode(r *source, limit int) {
	fields := r.Uvarint(1 << 50)
	left := fields // fields that are not accounted for
	take := func() int64 {
		n := r.Uvarint(left)
		left -= n
		return int64(n)
	}
	c.fields, c.null, c.empty = int64(fields), take(), take()
	for i := range c.codes {
		c.codes[i] = take()
	}
	c.zeros = uint(r.Byte())
	n := r.Count(3)
	if r.bad || c.zeros > 64 {
		r.Fail()
		return
	}
	var last level
	for i := range n {
		e := level{size: uint32(r.Uvarint(math.MaxUint32))}
		stored := r.bytes(int(min(e.size, MaxLevelText)))
		if e.hash = xxhash.Sum64(stored); e.size > MaxLevelText {
			e.hash = r.uint64()
		}
		e.n = take()
		if r.bad || e.size == 0 || e.n == 0 || !c.keeps(e.hash) {
			r.Fail()
			return
		}
		if i > 0 && cmp.Or(bytes.Compare(c.levels.stored(&last), stored), cmp.Compare(last.size, e.size),
			cmp.Compare(last.hash, e.hash)) >= 0 {
			r.Fail()
			return
		}
		c.levels.add(e.hash, stored, e.size, e.n)
		c.weight += e.weight()
		last = c.levels.entries[i]
	}
	if c.zeros > 0 {
		c.rest.decode(r, left)
		left -= uint64(c.rest.n)
		if c.rest.of(isNumber) > 0 {
			c.cells.Decode(r, limit, uint64(c.rest.of(isNumber)))
		}
	}
	if left != 0 {
		r.Fail()
	}
}

func (t *tally) decode(r *source, limit uint64) {
	t.n = int64(r.Uvarint(limit))
	for i := range t.counts {
		t.counts[i] = int64(r.Uvarint(uint64(t.n)))
	}
	numbers := t.of(isNumber)
	if numbers > 0 {
		t.min, t.max = math.Float64frombits(r.uint64()), math.Float64frombits(r.uint64())
	}
	t.short, t.long = uint32(r.Uvarint(math.MaxUint32)), uint32(r.Uvarint(math.MaxUint32))
	t.odd = string(r.bytes(int(r.Uvarint(maxExample))))
	negative := func(v float64) bool { return v == 0 && math.Signbit(v) }
	if t.n == 0 || !(t.min <= t.max) || t.max-t.min != t.max-t.min || negative(t.min) || negative(t.max) ||
		t.short < 1 || t.short > t.long || (numbers < t.n) != (t.odd != "") || t.of(isWhole) > numbers ||
		t.of(hasZeros) > numbers {
		r.Fail()
	}
}
