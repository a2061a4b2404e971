package profile

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"

	"github.com/cespare/xxhash/v2"

	"github.com/bochner-ml/bochner/io/rowio"
)

// In a table of at most Few different rows, which occur at least ten times on average, copies are
// assigned to folds one by one.
const (
	Few          = 32
	fewestCopies = 10
)

// salt separates the choice of folds from the choice of samples, which uses hashes under the seed itself.
const salt = 0x666f6c64 // "fold"

// RowHash returns the hash of a row's numbers that decides its fold.
func RowHash(seed uint64, row []float32) uint64 { return rowio.Hash(seed^salt, row) }

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// content returns the hash of a row, given the hashes of its numbers and its label.
func content(row, label uint64) uint64 { return mix(row + mix(label)) }

// contentOf returns the hash of the content of row i of a block, given the hash of its numbers. The weight
// of a row is part of its content, because copies must be equal.
func (l FoldLabels) contentOf(b *rowio.Block, i int, row uint64) uint64 {
	h := row
	for _, y := range b.Labels(i) {
		h = content(h, l.key(y))
	}
	if len(b.Weights) > 0 {
		h = content(h, math.Float64bits(b.Weights[i]))
	}
	return h
}

// golden is 2⁶⁴ over the golden ratio, the step of SplitMix64.
const golden = 0x9e3779b97f4a7c15

// CopyHash returns the hash that decides the fold of copy k, from 0, of the content with that hash.
func CopyHash(content uint64, k int64) uint64 { return mix(content + golden*uint64(k+1)) }

// FoldLabels turns labels into numbers for hashes: a class into the hash of its name.
type FoldLabels struct{ class []uint64 } // empty for targets

// FoldLabelsOf returns the FoldLabels of rows whose Y is an index into names.
func FoldLabelsOf(names []string) FoldLabels {
	class := make([]uint64, len(names))
	for i, name := range names {
		class[i] = xxhash.Sum64String(name)
	}
	return FoldLabels{class}
}

// key returns the number that stands for the label y in hashes.
func (l FoldLabels) key(y float64) uint64 {
	if len(l.class) > 0 {
		return l.class[int(y)]
	}
	return math.Float64bits(y + 0) // −0 is 0
}

// HashSet is a set of hashes in ascending order. In JSON it is their little-endian bytes.
type HashSet []uint64

// MarshalJSON writes the hashes as base64.
func (s HashSet) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 8*len(s))
	for _, h := range s {
		b = binary.LittleEndian.AppendUint64(b, h)
	}
	return json.Marshal(base64.StdEncoding.EncodeToString(b))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *HashSet) UnmarshalJSON(data []byte) error {
	var b []byte
	if err := json.Unmarshal(data, &b); err != nil {
		return err
	}
	if len(b)%8 != 0 {
		return errors.New("profile: damaged set of hashes")
	}
	*s = make(HashSet, 0, len(b)/8)
	for ; len(b) > 0; b = b[8:] {
		*s = append(*s, binary.LittleEndian.Uint64(b))
	}
	return nil
}

// index returns the position of each hash.
func (s HashSet) index() map[uint64]int {
	at := make(map[uint64]int, len(s))
	for i, h := range s {
		at[h] = i
	}
	return at
}
