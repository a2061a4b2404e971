package profile

import (
	"encoding"
	"encoding/binary"
	"errors"
	"math"

	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/wire"
)

var (
	_ encoding.BinaryAppender    = (*Sum)(nil)
	_ encoding.BinaryMarshaler   = (*Sum)(nil)
	_ encoding.BinaryUnmarshaler = (*Sum)(nil)
)

// Code codes the sum, as a sum of its own.
func (s *Sum) Code(c *wire.Coder) { c.Whole(s) }

// version is the first byte of an encoded Sum.
const version = 1

// Bits that are stored with the size of the sample.
const (
	long  = 1 << 31 // Options.Long
	typed = 1 << 30 // there are missing values or categories
	heavy = 1 << 29 // rows have weights
	multi = 1 << 28 // rows have several targets
	twice = 1 << 27 // rows of the sample have copies
)

const headerSize = 1 + 4 + 8 + 4 + 8

// maxRows is the largest number of rows that is accepted: with it the number of values,
// rows times columns, is far from overflow.
const maxRows = 1 << 40

var (
	errDamaged = errors.New("profile: damaged encoding")
	errVersion = errors.New("profile: encoded by another version of the program; use one version on all workers")
)

// AppendBinary appends the sum to b: a header (version, size of the sample,
// rows, columns, largest squared norm), the columns, missing values and counts of categories if
// there are any, the weights and the ranges of several targets likewise, the sample, with the copies
// of each row if any has several, and the labels.
// Sums of the same rows have equal encodings. The error is always nil.
func (s *Sum) AppendBinary(b []byte) ([]byte, error) {
	le := binary.LittleEndian
	b = append(b, version)
	size := uint32(s.opts.Sample)
	if s.opts.Long {
		size |= long
	}
	withTypes := s.typed()
	if withTypes {
		size |= typed
	}
	if s.weights.any() {
		size |= heavy
	}
	if len(s.targets) > 0 {
		size |= multi
	}
	repeats := s.sample.repeats()
	if repeats {
		size |= twice
	}
	b = le.AppendUint32(b, size)
	b = le.AppendUint64(b, uint64(s.rows))
	b = le.AppendUint32(b, uint32(len(s.columns)))
	b = le.AppendUint64(b, math.Float64bits(s.norm2))
	for j := range s.columns {
		b = s.columns[j].append(b)
	}
	if withTypes {
		b = s.appendTyped(b)
	}
	if s.weights.any() {
		b = s.weights.append(b, len(s.columns))
	}
	if len(s.targets) > 0 {
		b = binary.AppendUvarint(b, uint64(len(s.targets)))
		for _, r := range s.targets {
			b = le.AppendUint64(b, math.Float64bits(r.Min))
			b = le.AppendUint64(b, math.Float64bits(r.Max))
		}
	}
	b = binary.AppendUvarint(b, uint64(len(s.sample.rows)))
	for _, r := range s.sample.rows {
		b = le.AppendUint64(b, r.hash)
		b = binary.AppendUvarint(b, uint64(len(r.content)))
		b = append(b, r.content...)
		if repeats {
			b = binary.AppendUvarint(b, uint64(r.copies))
		}
	}
	return s.labels.AppendBinary(b)
}

// append writes the number of nonzero values, and if there are any their range and sums.
func (c *column) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(c.nonzero))
	if c.nonzero > 0 {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(c.min))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(c.max))
		b, _ = c.sum.AppendBinary(b)
		b, _ = c.squares.AppendBinary(b)
	}
	return b
}

// MarshalBinary is AppendBinary to a new slice.
func (s *Sum) MarshalBinary() ([]byte, error) {
	// The sample may be large, so it is not copied as the slice grows.
	n := headerSize + 64*len(s.columns)
	for _, r := range s.sample.rows {
		n += 8 + binary.MaxVarintLen64 + len(r.content)
	}
	return s.AppendBinary(make([]byte, 0, n))
}

// UnmarshalBinary sets s to the sum encoded in b, and fails unless it uses all of b. It
// allocates at most 184 bytes for each byte of b.
func (s *Sum) UnmarshalBinary(b []byte) error {
	if len(b) > 0 && b[0] != version {
		return errVersion
	}
	if len(b) < headerSize {
		return errDamaged
	}
	le := binary.LittleEndian
	t := Sum{
		opts: Options{Sample: int(le.Uint32(b[1:]) &^ (long | typed | heavy | multi | twice)),
			Long: le.Uint32(b[1:])&long != 0},
		rows:  int64(le.Uint64(b[5:])),
		norm2: math.Float64frombits(le.Uint64(b[17:])),
	}
	withTypes := le.Uint32(b[1:])&typed != 0
	dim := int(le.Uint32(b[13:]))
	header, b := b[:headerSize], b[headerSize:]
	switch {
	case t.opts.Sample < 1 || t.opts.Sample > maxSample,
		t.rows < 0 || t.rows > maxRows,
		dim > rows.MaxDim || dim > len(b), // a column takes at least a byte
		t.rows == 0 && dim > 0,
		!(t.norm2 >= 0) || math.IsInf(t.norm2, 0) || math.Signbit(t.norm2):
		return errDamaged
	}
	t.columns = make([]column, dim)
	for j := range t.columns {
		var ok bool
		if b, ok = t.columns[j].decode(b, t.rows); !ok {
			return errDamaged
		}
	}
	if withTypes {
		var ok bool
		if b, ok = t.decodeTyped(b); !ok {
			return errDamaged
		}
	}
	if le.Uint32(header[1:])&heavy != 0 {
		var ok bool
		if b, ok = t.weights.decode(b, dim); !ok {
			return errDamaged
		}
	}
	if le.Uint32(header[1:])&multi != 0 {
		var ok bool
		if b, ok = t.decodeTargets(b); !ok {
			return errDamaged
		}
	}
	b, ok := t.decodeSample(b, le.Uint32(header[1:])&twice != 0)
	if !ok {
		return errDamaged
	}
	if b, err := t.labels.Decode(b); err != nil || len(b) > 0 {
		return errDamaged
	}
	*s = t
	return nil
}

// decode reads a column of so many rows.
func (c *column) decode(b []byte, n int64) (rest []byte, ok bool) {
	nonzero, b, ok := uvarint(b)
	if !ok || nonzero > uint64(n) {
		return nil, false
	}
	if nonzero == 0 {
		return b, true
	}
	if len(b) < 8 {
		return nil, false
	}
	c.nonzero = int64(nonzero)
	c.min = math.Float32frombits(binary.LittleEndian.Uint32(b))
	c.max = math.Float32frombits(binary.LittleEndian.Uint32(b[4:]))
	b, err := c.sum.Decode(b[8:])
	if err != nil {
		return nil, false
	}
	if b, err = c.squares.Decode(b); err != nil {
		return nil, false
	}
	ok = c.min != 0 && c.max != 0 && c.min <= c.max &&
		rows.Finite(c.min) && rows.Finite(c.max) && c.squares.Sign() > 0
	return b, ok
}

// decodeTargets reads the ranges of several targets.
func (s *Sum) decodeTargets(b []byte) (rest []byte, ok bool) {
	n, b, ok := uvarint(b)
	if !ok || n < 2 || n > uint64(len(b)/16) || s.rows == 0 {
		return nil, false
	}
	s.targets = make([]Range, n)
	for c := range s.targets {
		r := &s.targets[c]
		r.Min, r.Max = math.Float64frombits(binary.LittleEndian.Uint64(b)),
			math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))
		if !rows.Finite(float32(r.Min)) || !rows.Finite(float32(r.Max)) || !(r.Min <= r.Max) {
			return nil, false
		}
		b = b[16:]
	}
	return b, true
}

func (s *Sum) decodeSample(b []byte, repeats bool) (rest []byte, ok bool) {
	n, b, ok := uvarint(b)
	if !ok || n > uint64(s.sampleSize()) || n > uint64(s.rows) || n > uint64(len(b)/9) || n == 0 && s.rows > 0 {
		return nil, false
	}
	if n > 0 {
		s.sample.rows = make([]sampled, n)
	}
	row := make([]float32, len(s.columns))
	for i := range s.sample.rows {
		if len(b) < 8 {
			return nil, false
		}
		r := &s.sample.rows[i]
		r.hash = binary.LittleEndian.Uint64(b)
		size, rest, ok := uvarint(b[8:])
		if !ok || size > uint64(len(rest)) {
			return nil, false
		}
		// Copy the content, because b may be the caller's buffer.
		r.content = append(make([]byte, 0, size), rest[:size]...)
		b, r.copies = rest[size:], 1
		if repeats {
			n, rest, ok := uvarint(b)
			if !ok || n < 1 || n > uint64(s.rows) {
				return nil, false
			}
			r.copies, b = int64(n), rest
		}
		if i > 0 && compareSampled(s.sample.rows[i-1], *r) >= 0 {
			return nil, false
		}
		clear(row)
		if !readContent(row, r.content) {
			return nil, false
		}
	}
	return b, repeats == s.sample.repeats()
}
