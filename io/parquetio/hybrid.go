package parquetio

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

var errPage = errors.New("a page is damaged")

// hybrid decodes the mix of runs and packed integers in which Parquet stores levels and
// indices of dictionaries, a few at a time.
type hybrid struct {
	b     []byte
	width int    // bits of a value
	run   uint64 // values left of a run
	value uint32 // that the run repeats
	pack  []byte // what is left of packed values
	bit   int    // first unread bit of it
	left  int    // packed values
}

// set begins to decode b.
func (h *hybrid) set(b []byte, width int) error {
	*h = hybrid{b: b, width: width}
	if width > 32 {
		return errPage
	}
	return nil
}

// begin begins the next run.
func (h *hybrid) begin() error {
	head, n := binary.Uvarint(h.b)
	if n <= 0 || head>>1 == 0 {
		return errPage
	}
	h.b = h.b[n:]
	if head&1 == 0 {
		size := (h.width + 7) / 8
		if len(h.b) < size {
			return errPage
		}
		h.run, h.value = head>>1, 0
		for i, c := range h.b[:size] {
			h.value |= uint32(c) << (8 * i)
		}
		if bits.Len32(h.value) > h.width {
			h.run = 0 // so that next fails too
			return errPage
		}
		h.b = h.b[size:]
		return nil
	}
	// The last group of a page may be cut off after the values that exist.
	groups := head >> 1
	size := uint64(len(h.b))
	if groups <= size {
		size = min(size, groups*uint64(h.width))
	}
	if h.width == 0 {
		h.run, h.value = groups*8, 0
		return nil
	}
	h.pack, h.bit = h.b[:size], 0
	h.left = int(min(size*8/uint64(h.width), groups*8))
	h.b = h.b[size:]
	if h.left == 0 {
		return errPage
	}
	return nil
}

// ones skips n values and returns true if they are in one run of ones.
func (h *hybrid) ones(n int) bool {
	if h.run == 0 && h.left == 0 && h.begin() != nil {
		h.b = nil // so that next fails too
		return false
	}
	if h.run < uint64(n) || h.value != 1 {
		return false
	}
	h.run -= uint64(n)
	return true
}

// next decodes len(dst) values.
func (h *hybrid) next(dst []uint32) error {
	for n := 0; n < len(dst); {
		if h.run == 0 && h.left == 0 {
			if err := h.begin(); err != nil {
				return err
			}
		}
		if h.run > 0 {
			m := int(min(h.run, uint64(len(dst)-n)))
			for i := range dst[n : n+m] {
				dst[n+i] = h.value
			}
			h.run -= uint64(m)
			n += m
			continue
		}
		m := min(h.left, len(dst)-n)
		h.unpack(dst[n : n+m])
		h.left -= m
		n += m
	}
	return nil
}

// unpack decodes packed values.
func (h *hybrid) unpack(dst []uint32) {
	mask := uint64(1)<<h.width - 1
	bit, width := h.bit, h.width
	i := 0
	for ; i < len(dst) && bit>>3+8 <= len(h.pack); i++ {
		dst[i] = uint32(binary.LittleEndian.Uint64(h.pack[bit>>3:]) >> (bit & 7) & mask)
		bit += width
	}
	for ; i < len(dst); i++ {
		var last [8]byte
		copy(last[:], h.pack[bit>>3:])
		dst[i] = uint32(binary.LittleEndian.Uint64(last[:]) >> (bit & 7) & mask)
		bit += width
	}
	h.bit = bit
}
