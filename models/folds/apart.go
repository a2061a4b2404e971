package folds

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/io/rows"
)

// Content is a row with its label that occurs many times.
type Content struct {
	Hash   uint64
	X      []float32
	Y      []float64 // labels of the row, as in rows.Block
	Weight float64   // of the row; 0 if rows have none
	Copies int64
}

// Apart counts copies of contents that are known in advance to be frequent, and holds one row of
// each. Which fold a copy is in depends on how many copies there are before it. So that sums of
// parts of the data can be added and subtracted, copies are counted apart, and assigned when all
// are counted. Create it with NewApart. It is not safe for concurrent use.
type Apart struct {
	frequent, counted map[uint64]int
	seed              uint64
	labels            Labels
	contents          map[uint64]*Content
}

// NewApart returns an empty Apart for the frequent rows of f.
func NewApart(f *Frequency, seed uint64, l Labels) *Apart {
	return &Apart{frequent: f.Rows.index(), counted: f.Contents.index(), seed: seed, labels: l, contents: map[uint64]*Content{}}
}

// Hashes counts those rows of a block that are counted apart. It appends to rest the indices of
// the others, and to dst their hashes, which decide their folds as those of Assigner.Hashes.
func (a *Apart) Hashes(dst []uint64, rest []int, b *rows.Block) ([]uint64, []int) {
	for i := range b.N {
		h := Hash(a.seed, b.Row(i))
		if _, ok := a.frequent[h]; ok {
			h = a.labels.contentOf(b, i, h)
			if _, ok := a.counted[h]; ok {
				a.add(h, b, i)
				continue
			}
			h = CopyHash(h, 0)
		}
		dst, rest = append(dst, h), append(rest, i)
	}
	return dst, rest
}

func (a *Apart) add(hash uint64, b *rows.Block, i int) {
	c, ok := a.contents[hash]
	if !ok {
		k := len(b.Y) / max(b.N, 1)
		c = &Content{Hash: hash, X: slices.Clone(b.Row(i)), Y: slices.Clone(b.Y[i*k : (i+1)*k])}
		// Copies may differ in the sign of a zero and in the bits of a missing value.
		for j, x := range c.X {
			if c.X[j] = x + 0; x != x {
				c.X[j] = float32(math.NaN())
			}
		}
		if len(b.Weights) > 0 {
			c.Weight = b.Weights[i]
		}
		a.contents[hash] = c
	}
	c.Copies++
}

// Contents returns the contents in the order of their hashes.
func (a *Apart) Contents() []Content {
	out := make([]Content, 0, len(a.contents))
	for _, h := range slices.Sorted(maps.Keys(a.contents)) {
		out = append(out, *a.contents[h])
	}
	return out
}

// AddContents returns the contents of a and b, with sign times the copies of b; both are in the
// order of their hashes. Contents without copies are left out. It fails if there would be fewer
// copies than none.
func AddContents(a, b []Content, sign int64) ([]Content, error) {
	var out []Content
	for len(a) > 0 || len(b) > 0 {
		var c Content
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
			return nil, fmt.Errorf("folds: a frequent row would occur %d times", c.Copies)
		}
		if c.Copies > 0 {
			out = append(out, c)
		}
	}
	return out, nil
}

// AppendContents appends the encoding of contents with rows of d numbers and k labels.
func AppendContents(dst []byte, contents []Content) []byte {
	le := binary.LittleEndian
	dst = binary.AppendUvarint(dst, uint64(len(contents)))
	if len(contents) == 0 {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(len(contents[0].X)))
	dst = binary.AppendUvarint(dst, uint64(len(contents[0].Y)))
	for _, c := range contents {
		dst = le.AppendUint64(dst, c.Hash)
		dst = binary.AppendUvarint(dst, uint64(c.Copies))
		dst = le.AppendUint64(dst, math.Float64bits(c.Weight))
		for _, x := range c.X {
			dst = le.AppendUint32(dst, math.Float32bits(x))
		}
		for _, y := range c.Y {
			dst = le.AppendUint64(dst, math.Float64bits(y))
		}
	}
	return dst
}

// DecodeContents reads what AppendContents appends, and fails unless it uses all of data.
func DecodeContents(data []byte) ([]Content, error) {
	d := decoder{b: data}
	n := d.number(int64(len(data)))
	if d.bad || n == 0 {
		if d.bad || len(d.b) > 0 {
			return nil, errDamaged
		}
		return nil, nil
	}
	dim, k := d.number(rows.MaxDim), d.number(1<<17)
	if d.bad || n*(17+4*dim+8*k) > int64(len(d.b)) { // fewer than 2⁶³, as data is in memory
		return nil, errDamaged
	}
	out := make([]Content, n)
	for i := range out {
		c := &out[i]
		c.Hash, c.Copies, c.Weight = d.hash(), d.number(maxRows), math.Float64frombits(d.hash())
		if d.bad || int64(len(d.b)) < 4*dim+8*k || c.Copies < 1 || !(c.Weight >= 0) || math.IsInf(c.Weight, 0) || i > 0 && c.Hash <= out[i-1].Hash {
			return nil, errDamaged
		}
		c.X, c.Y = make([]float32, dim), make([]float64, k)
		for j := range c.X {
			c.X[j] = math.Float32frombits(binary.LittleEndian.Uint32(d.b[4*j:]))
		}
		d.b = d.b[4*dim:]
		for j := range c.Y {
			if c.Y[j] = math.Float64frombits(d.hash()); c.Y[j]-c.Y[j] != 0 {
				return nil, errDamaged
			}
		}
	}
	if d.bad || len(d.b) > 0 {
		return nil, errDamaged
	}
	return out, nil
}
