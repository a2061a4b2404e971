package profile

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/wire"
)

// FrequentRow is a row with its label that occurs several times.
type FrequentRow struct {
	Hash   uint64
	X      []float32
	Y      []float64 // labels of the row, as in rowio.Block
	Weight float64   // 0 if rows have no weights
	Copies int64
}

// CopyCounter counts the copies of rows that are known in advance to be frequent, and keeps one row
// of each. The fold of a copy depends on how many copies precede it in the data. To let sums of
// parts of the data be added and subtracted, copies are only counted, and assigned to folds once
// all parts are known. Create it with NewCopyCounter. It is not safe for concurrent use.
type CopyCounter struct {
	frequent map[uint64]int // the rows of a FrequentHashes, by RowHash
	counted  map[uint64]int // its contents, whose copies are counted
	seed     uint64
	labels   FoldLabels
	rows     map[uint64]*FrequentRow // by the hash of their content
}

// NewCopyCounter returns a CopyCounter for the frequent rows of f, with no copies.
func NewCopyCounter(f *FrequentHashes, seed uint64, l FoldLabels) *CopyCounter {
	return &CopyCounter{frequent: f.Rows.index(), counted: f.Contents.index(), seed: seed, labels: l,
		rows: map[uint64]*FrequentRow{}}
}

// Hashes counts the frequent rows of a block. It appends the indices of the other rows to rest, and
// to dst the hashes that decide their folds, as Assigner.Hashes does.
func (c *CopyCounter) Hashes(dst []uint64, rest []int, b *rowio.Block) ([]uint64, []int) {
	for i := range b.N {
		h := RowHash(c.seed, b.Row(i))
		if _, ok := c.frequent[h]; ok {
			h = c.labels.contentOf(b, i, h)
			if _, ok := c.counted[h]; ok {
				c.add(h, b, i)
				continue
			}
			h = CopyHash(h, 0)
		}
		dst, rest = append(dst, h), append(rest, i)
	}
	return dst, rest
}

// add counts row i of the block, whose content has that hash, and keeps the row if it is the first.
func (c *CopyCounter) add(hash uint64, b *rowio.Block, i int) {
	row, ok := c.rows[hash]
	if !ok {
		k := len(b.Y) / max(b.N, 1)
		row = &FrequentRow{Hash: hash, X: slices.Clone(b.Row(i)), Y: slices.Clone(b.Y[i*k : (i+1)*k])}
		// Copies may differ in the sign of a zero and in the bits of a missing value.
		for j, x := range row.X {
			row.X[j] = x + 0
			if math.IsNaN(float64(x)) {
				row.X[j] = float32(math.NaN())
			}
		}
		if len(b.Weights) > 0 {
			row.Weight = b.Weights[i]
		}
		c.rows[hash] = row
	}
	row.Copies++
}

// Rows returns the counted rows in the order of their hashes.
func (c *CopyCounter) Rows() []FrequentRow {
	out := make([]FrequentRow, 0, len(c.rows))
	for _, h := range slices.Sorted(maps.Keys(c.rows)) {
		out = append(out, *c.rows[h])
	}
	return out
}

// AddFrequentRows returns the rows of a and b, with sign times the copies of b; both must be in the order
// of their hashes. Rows without copies are dropped. It fails if a row would have a negative number of copies.
func AddFrequentRows(a, b []FrequentRow, sign int64) ([]FrequentRow, error) {
	var out []FrequentRow
	for len(a) > 0 || len(b) > 0 {
		var c FrequentRow
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Hash < b[0].Hash:
			c, a = a[0], a[1:]
		case len(a) == 0 || b[0].Hash < a[0].Hash:
			c, b = b[0], b[1:]
			c.Copies *= sign
		default:
			c = a[0]
			c.Copies += sign * b[0].Copies
			a, b = a[1:], b[1:]
		}
		if c.Copies < 0 {
			return nil, fmt.Errorf("profile: a frequent row would occur %d times", c.Copies)
		}
		if c.Copies > 0 {
			out = append(out, c)
		}
	}
	return out, nil
}

// frequentRows is a list of FrequentRows with an encoding.
type frequentRows []FrequentRow

// Code implements wire.Coded. It writes the number of rows, the lengths of their values and labels, and each row.
func (all *frequentRows) Code(c *wire.Coder) {
	var first FrequentRow
	if len(*all) > 0 {
		first = (*all)[0]
	}
	n := c.Uvarint(uint64(len(*all)), math.MaxInt32)
	if n == 0 {
		return
	}
	dim, k := c.Uvarint(uint64(len(first.X)), rowio.MaxDim), c.Uvarint(uint64(len(first.Y)), 1<<17)
	if c.Check(n*(17+4*dim+8*k) <= uint64(c.Left())) && c.Reading() { // no overflow: n is below 2³¹
		*all = make([]FrequentRow, n)
	}
	for i := range *all {
		e := &(*all)[i]
		if c.Reading() {
			e.X, e.Y = make([]float32, dim), make([]float64, k)
		}
		c.Uint64(&e.Hash)
		e.Copies = int64(c.Uvarint(uint64(e.Copies), maxShardRows))
		c.Float64(&e.Weight)
		for j, x := range e.X {
			e.X[j] = math.Float32frombits(uint32(c.Int(int(math.Float32bits(x)), math.MaxUint32)))
		}
		for j := range e.Y {
			c.Float64(&e.Y[j])
			c.Check(exact.Finite(e.Y[j]))
		}
		c.Check(e.Copies >= 1 && e.Weight >= 0 && !math.IsInf(e.Weight, 0) && (i == 0 || e.Hash > (*all)[i-1].Hash))
	}
}

// AppendFrequentRows appends the encoding of rows, all with the same number of values and of labels.
func AppendFrequentRows(dst []byte, c []FrequentRow) []byte {
	return append(dst, wire.Marshal((*frequentRows)(&c))...)
}

// DecodeFrequentRows decodes what AppendFrequentRows appends. It fails unless it uses all of data.
func DecodeFrequentRows(data []byte) ([]FrequentRow, error) {
	var all frequentRows
	err := wire.Unmarshal(&all, data)
	return all, err
}
