package drift

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models/profile"
)

// Counts counts the values of rows in cells that statistics of other rows define. For a number, its
// minimum, maximum and deciles are a cell each, and so is each gap between them. For a category each level
// is a cell. Counts do not depend on the order of the rows or on cuts. Create it with NewCounts. It is
// not safe for concurrent use.
type Counts struct {
	rows    int64
	columns []cells
}

// cells are the cells of one column.
type cells struct {
	missing int64
	edges   []float32 // ascending: minimum, nine deciles and maximum of a number
	keys    []int32   // of the edges
	counts  []int64   // of 2·len(edges)+2 cells, or of the levels
	level   bool
}

// NewCounts returns counts of no rows, in the cells of the statistics.
func NewCounts(s *profile.Statistics) *Counts {
	c := &Counts{columns: make([]cells, len(s.Columns))}
	for j := range c.columns {
		p := &c.columns[j]
		if s.Levels != nil && s.Levels[j] != nil {
			p.level, p.counts = true, make([]int64, len(s.Levels[j]))
			continue
		}
		if s.Rows > s.Columns[j].Missing {
			p.edges = append(p.edges, s.Columns[j].Min, s.Columns[j].Max)
		}
		if j < len(s.Deciles) {
			p.edges = append(p.edges, s.Deciles[j]...)
		}
		slices.Sort(p.edges)
		p.edges = slices.Compact(p.edges)
		p.counts = make([]int64, 2*len(p.edges)+2)
		for _, edge := range p.edges {
			p.keys = append(p.keys, key(edge+0)) // −0 + 0 is 0
		}
	}
	return c
}

// cell returns the cell of a number that is not −0. It compares with all edges because the branches of a
// search would be mispredicted.
func (p *cells) cell(x float32) (cell int) {
	k := key(x)
	for _, edge := range p.keys {
		if edge < k {
			cell += 2
		}
		if edge == k {
			cell++
		}
	}
	return cell
}

// key maps numbers except NaN and −0 to integers in the same order.
func key(x float32) int32 {
	b := int32(math.Float32bits(x))
	return b ^ int32(uint32(b>>31)>>1)
}

// Add counts the rows of a block, except those that could not be read and those whose digest has a bit in
// common with skip: with skip 7 it counts one row in eight. It panics if the block has fewer columns.
func (c *Counts) Add(b *rowio.Block, skip uint64) {
	bad := b.Bad
	for i := range b.N {
		if len(bad) > 0 && bad[0] == i {
			bad = bad[1:]
			continue
		}
		if row := b.Row(i); skip == 0 || digest(row)&skip == 0 {
			c.addRow(row)
		}
	}
}

// digest returns bits that are about uniform over different rows. It is much cheaper than rowio.Hash, and
// weaker: it mixes a sum of products of pairs of values.
func digest(row []float32) uint64 {
	const odd = uint64(0x9e3779b97f4a7c15)
	step := odd
	step <<= 1
	var a, b uint64
	by := odd
	for ; len(row) >= 4; row = row[4:] {
		v := (*[4]float32)(row)
		x := uint64(math.Float32bits(v[0]))<<32 | uint64(math.Float32bits(v[1]))
		y := uint64(math.Float32bits(v[2]))<<32 | uint64(math.Float32bits(v[3]))
		a += (x ^ x>>29) * by
		b += (y ^ y>>29) * (by ^ 0xaaaaaaaaaaaaaaaa)
		by += step
	}
	for _, x := range row {
		a += uint64(math.Float32bits(x)) * by
		by += step
	}
	// The mixer of SplitMix64 (Steele, Lea and Flood 2014).
	a ^= b<<32 | b>>32
	a = (a ^ a>>30) * 0xbf58476d1ce4e5b9
	a = (a ^ a>>27) * 0x94d049bb133111eb
	return a ^ a>>31
}

// addRow counts one row, in which NaN is a missing value.
func (c *Counts) addRow(row []float32) {
	c.rows++
	for j := range c.columns {
		p, x := &c.columns[j], row[j]
		switch {
		case math.IsNaN(float64(x)):
			p.missing++
		case p.level:
			p.counts[max(0, min(int(x), len(p.counts)-1))]++
		default:
			p.counts[p.cell(x+0)]++ // −0 + 0 is 0
		}
	}
}

// present returns how many rows have a value, and the counts of all cells.
func (c *Counts) present(j int) (n int64, counts []int64) {
	return c.rows - c.columns[j].missing, c.columns[j].counts
}

// Merge adds the rows of d, counted in the same cells.
func (c *Counts) Merge(d *Counts) {
	c.rows += d.rows
	for j := range c.columns {
		c.columns[j].missing += d.columns[j].missing
		for k, n := range d.columns[j].counts {
			c.columns[j].counts[k] += n
		}
	}
}

// Code implements wire.Coded. It writes the number of rows, and for each column the number of missing values and the
// count of each cell, as uvarints. It does not write the cells: the counts that are read must have them.
func (c *Counts) Code(w *wire.Coder) {
	count := func(n *int64, most int64) { *n = int64(w.Uvarint(uint64(*n), uint64(most))) }
	count(&c.rows, 1<<60)
	for j := range c.columns {
		p, left := &c.columns[j], c.rows
		count(&p.missing, left)
		left -= p.missing
		for k := range p.counts {
			count(&p.counts[k], left)
			left -= p.counts[k]
		}
	}
}
