package parquetio

import "encoding/binary"

// delta decodes DELTA_BINARY_PACKED, one integer at a time.
type delta struct {
	b      []byte // after what has been read
	block  int    // values of a block
	per    int    // values of a miniblock
	total  int    // values that are left, in all
	value  int64
	first  bool
	least  int64  // smallest difference in the block
	widths []byte // of the miniblocks of this block that are left
	width  int
	bits   []byte // of the miniblock
	at     int    // in bits
	mini   int    // values left in the miniblock
}

// set begins to decode b.
func (d *delta) set(b []byte) error {
	*d = delta{b: b, first: true}
	block, n1 := binary.Uvarint(d.b)
	minis, n2 := binary.Uvarint(d.b[max(n1, 0):])
	total, n3 := binary.Uvarint(d.b[max(n1, 0)+max(n2, 0):])
	if n1 <= 0 || n2 <= 0 || n3 <= 0 || block == 0 || block > 1<<24 || minis == 0 || minis > block || block%minis != 0 ||
		total > 1<<40 {
		return errPage
	}
	d.b = d.b[n1+n2+n3:]
	d.block, d.per, d.total = int(block), int(block/minis), int(total)
	first, n := binary.Varint(d.b)
	if n <= 0 {
		return errPage
	}
	d.b, d.value = d.b[n:], first
	return nil
}

// next returns the next integer.
func (d *delta) next() (int64, error) {
	if d.total == 0 {
		return 0, errPage
	}
	d.total--
	if d.first {
		d.first = false
		return d.value, nil
	}
	if d.mini == 0 {
		if err := d.begin(); err != nil {
			return 0, err
		}
	}
	d.mini--
	v := uint64(0)
	if d.width > 0 {
		v = d.unpack()
	}
	d.value += d.least + int64(v)
	return d.value, nil
}

// begin begins the next miniblock.
func (d *delta) begin() error {
	if len(d.widths) == 0 {
		least, n := binary.Varint(d.b)
		minis := d.block / d.per
		if n <= 0 || len(d.b)-n < minis {
			return errPage
		}
		d.least, d.widths, d.b = least, d.b[n:n+minis], d.b[n+minis:]
	}
	d.width = int(d.widths[0])
	d.widths = d.widths[1:]
	size := (d.width*d.per + 7) / 8
	if d.width > 64 || size > len(d.b) {
		return errPage
	}
	d.bits, d.at, d.mini = d.b[:size], 0, d.per
	d.b = d.b[size:]
	return nil
}

func (d *delta) unpack() uint64 {
	from, shift := d.at>>3, d.at&7
	d.at += d.width
	var word [16]byte
	copy(word[:9], d.bits[from:])
	v := binary.LittleEndian.Uint64(word[:]) >> shift
	if shift+d.width > 64 {
		v |= uint64(word[8]) << (64 - shift)
	}
	if d.width < 64 {
		v &= 1<<d.width - 1
	}
	return v
}

// after returns what follows the integers, which it skips.
func (d delta) after() ([]byte, error) {
	for d.total > 0 {
		// A miniblock without bits is skipped at once.
		if !d.first && d.mini > 0 && d.width == 0 {
			n := min(d.mini, d.total)
			d.mini -= n
			d.total -= n
			continue
		}
		if _, err := d.next(); err != nil {
			return nil, err
		}
	}
	return d.b, nil
}
