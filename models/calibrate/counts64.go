package calibrate

import "encoding/binary"

// putCounts appends counts of 0 or more.
func putCounts(b []byte, v ...int64) []byte {
	for _, n := range v {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

// takeCounts reads len(v) counts from the start of b, and reports whether they
// are complete and below 2⁴⁸.
func takeCounts(b *[]byte, v []int64) bool {
	for i := range v {
		n, size := binary.Uvarint(*b)
		if size <= 0 || n > 1<<48 {
			return false
		}
		v[i], *b = int64(n), (*b)[size:]
	}
	return true
}
