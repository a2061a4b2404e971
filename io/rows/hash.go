package rows

import (
	"encoding/binary"
	"math"

	"github.com/cespare/xxhash/v2"
)

// Hash returns the content hash of a row: XXH64 with that seed over eight bytes
// for each value other than zero, in the order of the columns: the index of the
// column, counted from 0, and the bits of the float32, both as little-endian
// uint32. Folds and samples are chosen by it, and so models depend on it: this
// stream never changes.
//
// Values of zero, of either sign, leave no trace. A row therefore has the same
// hash whether it comes from a dense or a sparse file, and however many zeros
// stand behind it.
func Hash(seed uint64, row []float32) uint64 {
	var d xxhash.Digest
	d.ResetWithSeed(seed)
	var buf [8 * hashChunk]byte
	n := 0
	i := 0
	// Values are packed without a branch on each, but zeros, which pictures and
	// sparse data are full of, are passed by in eights.
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

// hashChunk is the number of values handed to XXH64 at once.
const hashChunk = 128

// empty reports whether all values are zeros, of either sign.
func empty(v *[8]float32) bool {
	return (math.Float32bits(v[0])|math.Float32bits(v[1])|math.Float32bits(v[2])|math.Float32bits(v[3])|
		math.Float32bits(v[4])|math.Float32bits(v[5])|math.Float32bits(v[6])|math.Float32bits(v[7]))<<1 == 0
}

// pack writes column i at buf[n:] and returns the end of what is to be kept: 8
// bytes further, or n itself if x is zero.
func pack(buf *[8 * hashChunk]byte, n, i int, x float32) int {
	b := math.Float32bits(x)
	binary.LittleEndian.PutUint64(buf[n&(8*hashChunk-8):], uint64(b)<<32|uint64(uint32(i)))
	b <<= 1
	return n + int((b|-b)>>31<<3)
}

// HashBlock returns the content hashes of the block's rows, in memory taken
// from dst if it is large enough.
func HashBlock(dst []uint64, seed uint64, b *Block) []uint64 {
	dst = dst[:0]
	for i := range b.N {
		dst = append(dst, Hash(seed, b.Row(i)))
	}
	return dst
}
