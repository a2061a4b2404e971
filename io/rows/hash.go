package rows

import (
	"encoding/binary"
	"math"

	"github.com/cespare/xxhash/v2"
)

// Hash returns the content hash of a row: XXH64 with the seed over eight bytes for each
// nonzero value in column order: the 0-based column index and the bits of the float32,
// both as little-endian uint32. Folds and samples are chosen by it, so models depend on
// it: this stream never changes.
//
// Zeros of either sign do not affect the hash. So a row has the same hash in a dense
// and a sparse file, and with any number of trailing zeros.
func Hash(seed uint64, row []float32) uint64 {
	var d xxhash.Digest
	d.ResetWithSeed(seed)
	var buf [8 * hashChunk]byte
	n := 0
	i := 0
	// Values are packed without a branch on each, but zeros, frequent in images and
	// sparse data, are skipped in groups of eight.
	for ; i+8 <= len(row); i += 8 {
		v := (*[8]float32)(row[i:])
		if empty(v) {
			continue
		}
		for j, x := range v {
			n = pack(&buf, n, i+j, x)
		}
		if n > 8*(hashChunk-8) {
			d.Write(buf[:n])
			n = 0
		}
	}
	for ; i < len(row); i++ {
		n = pack(&buf, n, i, row[i])
	}
	d.Write(buf[:n])
	return d.Sum64()
}

// hashChunk is the number of values passed to XXH64 at once.
const hashChunk = 128

// empty reports whether all values are zeros, of either sign.
func empty(v *[8]float32) bool {
	return (math.Float32bits(v[0])|math.Float32bits(v[1])|math.Float32bits(v[2])|math.Float32bits(v[3])|
		math.Float32bits(v[4])|math.Float32bits(v[5])|math.Float32bits(v[6])|math.Float32bits(v[7]))<<1 == 0
}

// pack writes column i at buf[n:] and returns the new end: n+8, or n if x is zero.
func pack(buf *[8 * hashChunk]byte, n, i int, x float32) int {
	b := math.Float32bits(x)
	binary.LittleEndian.PutUint64(buf[n&(8*hashChunk-8):], uint64(b)<<32|uint64(uint32(i)))
	b <<= 1
	return n + int((b|-b)>>31<<3)
}

// HashBlock returns the content hashes of the block's rows, in dst if it is large enough.
func HashBlock(dst []uint64, seed uint64, b *Block) []uint64 {
	dst = dst[:0]
	for i := range b.N {
		dst = append(dst, Hash(seed, b.Row(i)))
	}
	return dst
}
