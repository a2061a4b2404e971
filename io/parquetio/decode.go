package parquetio

import (
	"encoding/binary"
	"fmt"

	"github.com/bochner-ml/bochner/io/compress"
	"github.com/bochner-ml/bochner/io/parquetio/meta"
)

// batchRows is the largest number of values that are decoded at once.
const batchRows = 1024

// values are decoded values of a column: fixed holds the bits of values of up to 8 bytes,
// bytes all others.
type values struct {
	fixed []uint64
	bytes [][]byte
}

// decoder decodes the values of a page. next decodes up to n of them, and at least one.
type decoder interface {
	next(n int, v *values) (got int, err error)
}

// decoders are the decoders of a column, which are reused for its pages.
type decoders struct {
	plain plain
	split split
	truth hybrid
	bits  [batchRows]uint32
	delta delta
	ends  lengths
	front front
}

// fixedSize returns the number of bytes of a value of a physical type; 0 if it varies, −1 for
// a boolean.
func fixedSize(e *element) int {
	switch e.Physical {
	case meta.Boolean:
		return -1
	case meta.Int32, meta.Float:
		return 4
	case meta.Int64, meta.Double:
		return 8
	case meta.Int96:
		return 12
	case meta.FixedArray:
		return int(e.Length)
	}
	return 0
}

// open returns the decoder of values in b.
func (d *decoders) open(e *element, enc int64, b []byte) (decoder, error) {
	size := fixedSize(e)
	integer := e.Physical == meta.Int32 || e.Physical == meta.Int64
	switch {
	case enc == meta.Plain:
		d.plain = plain{b: b, size: size}
		return &d.plain, nil
	case enc == meta.RLE && e.Physical == meta.Boolean:
		packed, _, err := prefixed(b)
		if err != nil {
			return nil, err
		}
		return (*truths)(d), d.truth.set(packed, 1)
	case enc == meta.DeltaBinary && integer:
		return (*integers)(d), d.delta.set(b)
	case enc == meta.DeltaLength && e.Physical == meta.ByteArray:
		return &d.ends, d.ends.set(b)
	case enc == meta.DeltaBytes && (e.Physical == meta.ByteArray || e.Physical == meta.FixedArray):
		d.front.size = size
		return &d.front, d.front.set(b)
	case enc == meta.Split && size > 0 && e.Physical != meta.Int96:
		d.split = split{b: b, size: size, n: len(b) / size}
		return &d.split, nil
	}
	return nil, fmt.Errorf("has a page of encoding %d, which is not supported for %s", enc, e.what())
}

// plain decodes values that are stored one after another (PLAIN).
type plain struct {
	b    []byte
	size int // as fixedSize
	bit  int
}

// next decodes n values in the encoding PLAIN: bits, texts with their length, or numbers of size bytes.
func (p *plain) next(n int, v *values) (int, error) {
	switch {
	case p.size == -1:
		if n > 8*len(p.b)-p.bit {
			return 0, errPage
		}
		for i := range v.fixed[:n] {
			v.fixed[i] = uint64(p.b[p.bit>>3] >> (p.bit & 7) & 1)
			p.bit++
		}
		return n, nil
	case p.size == 0:
		for i := range v.bytes[:n] {
			if len(p.b) < 4 {
				return 0, errPage
			}
			size := binary.LittleEndian.Uint32(p.b)
			if uint64(size) > uint64(len(p.b)-4) {
				return 0, errPage
			}
			v.bytes[i] = p.b[4 : 4+size]
			p.b = p.b[4+size:]
		}
		return n, nil
	case n*p.size > len(p.b):
		return 0, errPage
	case p.size == 8 && v.fixed != nil:
		for i := range v.fixed[:n] {
			v.fixed[i] = binary.LittleEndian.Uint64(p.b[8*i:])
		}
	case p.size == 4 && v.fixed != nil:
		for i := range v.fixed[:n] {
			v.fixed[i] = uint64(binary.LittleEndian.Uint32(p.b[4*i:]))
		}
	default:
		for i := range v.bytes[:n] {
			v.bytes[i] = p.b[i*p.size : (i+1)*p.size]
		}
	}
	p.b = p.b[n*p.size:]
	return n, nil
}

// truths decodes booleans (RLE).
type truths decoders

func (t *truths) next(n int, v *values) (int, error) {
	err := t.truth.next(t.bits[:n])
	for i, bit := range t.bits[:n] {
		v.fixed[i] = uint64(bit)
	}
	return n, err
}

// integers decodes integers from their differences (DELTA_BINARY_PACKED).
type integers decoders

func (d *integers) next(n int, v *values) (int, error) {
	for i := range v.fixed[:n] {
		x, err := d.delta.next()
		if err != nil {
			return 0, err
		}
		v.fixed[i] = uint64(x)
	}
	return n, nil
}

// lengths decodes texts that follow all of their lengths (DELTA_LENGTH_BYTE_ARRAY).
type lengths struct {
	sizes delta
	b     []byte
}

func (l *lengths) set(b []byte) (err error) {
	if err := l.sizes.set(b); err != nil {
		return err
	}
	l.b, err = l.sizes.after()
	return err
}

func (l *lengths) next(n int, v *values) (int, error) {
	for i := range v.bytes[:n] {
		size, err := l.sizes.next()
		if err != nil || size < 0 || size > int64(len(l.b)) {
			return 0, errPage
		}
		v.bytes[i] = l.b[:size]
		l.b = l.b[size:]
	}
	return n, nil
}

// front decodes texts that share a prefix with the text before them (DELTA_BYTE_ARRAY).
type front struct {
	shared delta
	rest   lengths
	size   int    // of each value; 0 if it varies
	last   []byte // the last text, in memory that the next batch reuses
	text   []byte // of the batch
}

// frontBytes limits the bytes of the texts of a batch, which may be much longer than the stored ones.
const frontBytes = 1 << 20

func (f *front) set(b []byte) error {
	f.last = f.last[:0]
	if err := f.shared.set(b); err != nil {
		return err
	}
	b, err := f.shared.after()
	if err != nil {
		return err
	}
	return f.rest.set(b)
}

// next decodes up to n values that share their first bytes with the value before (DELTA_BYTE_ARRAY). It returns fewer
// values if they take more than frontBytes.
func (f *front) next(n int, v *values) (int, error) {
	var one [1][]byte
	rest := values{bytes: one[:]}
	f.text = f.text[:0]
	for i := range v.bytes[:n] {
		shared, err := f.shared.next()
		if err == nil {
			_, err = f.rest.next(1, &rest)
		}
		if err != nil || shared < 0 || shared > int64(len(f.last)) {
			return 0, errPage
		}
		size := int(shared) + len(one[0])
		if f.size > 0 && size != f.size {
			return 0, errPage
		}
		f.last = append(f.last[:shared], one[0]...)
		f.text = append(f.text, f.last...)
		v.bytes[i] = f.text[len(f.text)-size:]
		if len(f.text) > frontBytes {
			return i + 1, nil
		}
	}
	return n, nil
}

// split decodes numbers whose first bytes come first, then all second bytes, and so on (BYTE_STREAM_SPLIT).
type split struct {
	b       []byte
	size, n int
	at      int
	text    []byte
}

// next decodes n values whose first bytes are stored together, then their second bytes, and so on
// (BYTE_STREAM_SPLIT).
func (s *split) next(n int, v *values) (int, error) {
	if n > s.n-s.at {
		return 0, errPage
	}
	if v.fixed != nil {
		clear(v.fixed[:n])
		for k := range s.size {
			for i, c := range s.b[k*s.n+s.at:][:n] {
				v.fixed[i] |= uint64(c) << (8 * k)
			}
		}
	} else {
		s.text = compress.Grow(s.text[:0], n*s.size)
		for k := range s.size {
			for i, c := range s.b[k*s.n+s.at:][:n] {
				s.text[i*s.size+k] = c
			}
		}
		for i := range v.bytes[:n] {
			v.bytes[i] = s.text[i*s.size : (i+1)*s.size]
		}
	}
	s.at += n
	return n, nil
}
