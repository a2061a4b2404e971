// Package rowio holds Block, the block of rows that every reader fills and every
// feature map takes, and Reader, the interface of the readers of all formats.
package rowio

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"github.com/bochner-ml/bochner/internal/blas"
)

// MaxRows is the largest number of rows in a Block. Products of 8-bit features
// summed over MaxRows rows stay below 2²⁴, so a block's Gram is exact in
// float32 and int32.
const MaxRows = blas.MaxRows

// MaxDim is the largest row length a reader accepts.
const MaxDim = 1 << 20

// Limits on the memory of a block, in values: 16 MiB for a block that is read, because
// a worker holds several, and 64 MiB for a block of features.
const (
	maxBlockValues   = 4 << 20
	maxFeatureValues = 16 << 20
)

// RowsPerBlock returns how many rows of length d a block holds: MaxRows, or fewer if they would
// take more than 16 MiB, but at least one.
func RowsPerBlock(d int) int { return fitting(d, maxBlockValues) }

// RowsPerFeatureBlock returns how many rows of d features a block holds: MaxRows, or fewer if they
// would take more than 64 MiB, but at least one.
func RowsPerFeatureBlock(d int) int { return fitting(d, maxFeatureValues) }

func fitting(d, values int) int { return max(1, min(MaxRows, values/max(d, 1))) }

// Block holds N ≤ MaxRows rows of D values.
type Block struct {
	N, D int
	X    []float32 // row-major N×D
	// Y has a class index or the same number of targets for each row; it is empty without labels.
	Y []float64

	// Weights has length N, or is empty if all rows have weight 1. Weights are finite and ≥ 0.
	Weights []float64

	// Bad lists, ascending, the rows that could not be read and hold zeros, if a reader
	// keeps the place of every row. Otherwise it is empty.
	Bad []int

	// Keys has length N, or is empty unless a reader was asked for the keys that assign rows to folds.
	Keys []uint64

	// Segments are the names of the segments of the rows, such as country=DE, if a reader was asked for
	// them. Otherwise it is empty.
	Segments []string

	// IDs are the untrimmed identifiers of the rows, if a reader was asked for them. Otherwise
	// it is empty.
	IDs []string

	// Lines are the positions of the rows in their file, if a reader records them.
	// Otherwise it is empty.
	Lines []int64
}

// NoID is the identifier of a row whose identifier is null. It is not UTF-8, so no text equals it.
const NoID = "\xff"

// Row returns row i of the block, sharing its memory.
func (b *Block) Row(i int) []float32 { return b.X[i*b.D : (i+1)*b.D] }

// Append appends row i of another block of the same width, with its labels, weight and key.
func (b *Block) Append(from *Block, i int) {
	b.N++
	b.X, b.Y = append(b.X, from.Row(i)...), append(b.Y, from.Labels(i)...)
	if len(from.Weights) > 0 {
		b.Weights = append(b.Weights, from.Weights[i])
	}
	if len(from.Keys) > 0 {
		b.Keys = append(b.Keys, from.Keys[i])
	}
}

// Labels returns the class or the targets of row i, sharing the block's memory; none if rows have no
// labels.
func (b *Block) Labels(i int) []float64 {
	k := len(b.Y) / b.N
	return b.Y[i*k : (i+1)*k]
}

// Reset empties the block for rows of length d and keeps its memory.
func (b *Block) Reset(d int) {
	b.N, b.D = 0, d
	b.X, b.Y, b.Weights, b.Bad, b.Lines, b.IDs, b.Keys = b.X[:0], b.Y[:0], b.Weights[:0], b.Bad[:0], b.Lines[:0],
		b.IDs[:0], b.Keys[:0]
	b.Segments = b.Segments[:0]
}

// Reserve allocates all rows of a block after Reset, which avoids the garbage of
// growing it. Unused pages take no memory.
func (b *Block) Reserve() {
	if n := RowsPerBlock(b.D) * b.D; cap(b.X) < n {
		b.X = make([]float32, len(b.X), n)
	}
}

// Reader yields the rows of one shard, in the order of the file.
type Reader interface {
	// Append appends the values of the next row to x and returns the extended slice and
	// the row's label as written in the file (nil if the data has none; valid until the
	// next call). Readers that know the row length append exactly this number of values; a
	// LIBSVM reader of unknown dimension appends as many as the row's largest index.
	//
	// The error is io.EOF after the last row; a *BadRow if this row cannot be used,
	// after which reading continues with the next; any other error if reading cannot
	// continue.
	Append(x []float32) (row []float32, label []byte, err error)

	// Line returns the position of the last row that Append read: the 1-based
	// line of its first byte for text, the 1-based record for binary formats,
	// counted from where the reader started.
	Line() int64
}

// BadRow is the error of a row that cannot be used; later rows still can.
type BadRow struct {
	Line   int64  // 1-based, counted as Reader.Line counts
	Column int    // 1-based field of the row; 0 if the whole row is at fault
	Reason string // for the person who fixes the file
	// NotNumber reports whether the fault is a value that is missing or not a number, in a
	// table that is read as numbers.
	NotNumber bool
}

func (e *BadRow) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("%d: %s", e.Line, e.Reason)
	}
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Reason)
}

// CheckFinite returns the reason why v cannot be a value of a row, or "".
func CheckFinite(v float32) string {
	switch {
	case math.IsNaN(float64(v)):
		return "NaN (missing values are not supported)"
	case math.IsInf(float64(v), 0):
		return "infinite, or too large for float32 (largest is 3.4e38)"
	}
	return ""
}

// Image is the shape of images; a zero height means that rows are not images.
type Image struct {
	Height, Width, Channels int
	Planar                  bool // channel by channel, otherwise pixel by pixel
}

// CheckSame returns an error if two shapes are known and differ: pixels would be taken for other pixels.
func (m Image) CheckSame(wanted Image, by string) error {
	if m == wanted || m.Height == 0 || wanted.Height == 0 {
		return nil
	}
	return fmt.Errorf("has images of %s, %s %s", m, by, wanted)
}

func (m Image) String() string {
	text := fmt.Sprintf("%d × %d pixels", m.Height, m.Width)
	switch {
	case m.Planar:
		return fmt.Sprintf("%s in %d channels, one after the other", text, m.Channels)
	case m.Channels > 1:
		return fmt.Sprintf("%s of %d channels", text, m.Channels)
	}
	return text
}

// Limits of the weight of a row that is not 0. They keep moments of any float32 values within
// the range of exact sums.
const (
	MinWeight = 0x1p-60
	MaxWeight = 0x1p60
)

// CheckWeight returns the reason why w cannot be the weight of a row, or "".
func CheckWeight(w float64) string {
	switch {
	case math.IsNaN(w):
		return "the weight is missing (NaN)"
	case w < 0:
		return fmt.Sprintf("weight %g is below 0", w)
	case w > MaxWeight || w > 0 && w < MinWeight:
		return fmt.Sprintf("weight %g is out of range (0, or from 1e-18 to 1e18)", w)
	}
	return ""
}

// ParseWeight returns the weight in a text, rounded to float32, or the reason why it is not a weight.
func ParseWeight(text []byte) (w float64, reason string) {
	if len(text) == 0 {
		return 0, "the weight is missing (write 0 for a row that is not to count)"
	}
	w, err := strconv.ParseFloat(string(text), 64)
	if err != nil && !math.IsInf(w, 0) {
		return 0, fmt.Sprintf("weight %.40q is not a number", text)
	}
	if reason := CheckWeight(w); reason != "" {
		return 0, reason
	}
	return float64(float32(w)), ""
}

// OrderedKey returns the key of a number that is not NaN, such as a time in seconds: keys are in the
// order of the numbers.
func OrderedKey(v float64) uint64 {
	b := math.Float64bits(v + 0) // −0 is 0
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

// KeyNumber returns the number of an OrderedKey.
func KeyNumber(key uint64) float64 {
	if key>>63 == 1 {
		return math.Float64frombits(key &^ (1 << 63))
	}
	return math.Float64frombits(^key)
}

// Float16 returns the value of a 16-bit float.
func Float16(b uint16) float32 {
	v := math.Float32frombits(uint32(b&0x7fff)<<13) * 0x1p112 // exponents differ by 112; subnormal numbers become normal
	if b&0x7c00 == 0x7c00 {
		v = math.Float32frombits(255<<23 | uint32(b&0x3ff)<<13) // infinite or NaN
	}
	return math.Float32frombits(math.Float32bits(v) | uint32(b>>15)<<31)
}

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
		if AllZero(v) {
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

// AllZero reports whether all values are 0 or −0.
func AllZero(v *[8]float32) bool {
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
