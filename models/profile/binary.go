package profile

import (
	"bytes"
	"math"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/wire"
)

// version is the first byte of an encoded Sum.
const version = 1

// Flags in the upper bits of the number that stores the size of the sample.
const (
	long  = 1 << 31 // Options.Long
	typed = 1 << 30 // there are missing values or categories
	heavy = 1 << 29 // rows have weights
	multi = 1 << 28 // rows have several targets
	twice = 1 << 27 // some rows of the sample have copies

	allBits = long | typed | heavy | multi | twice
)

// maxRows is the largest accepted number of rows. With it, rows times columns is far from overflow.
const maxRows = 1 << 40

// Code implements wire.Coded. It writes a header (version, size of the sample, rows, columns, largest squared norm), the
// columns, the optional sections (missing values and counts of categories, weights, ranges of several targets), the
// sample, and the labels. Sums of the same rows have equal encodings; fingerprints include them. Decoding
// allocates at most 184 bytes for each byte that it reads.
func (s *Sum) Code(c *wire.Coder) {
	c.Check(c.Byte(version, 255) == version)
	bits := s.opts.Sample
	for i, set := range []bool{s.opts.Long, s.typed(), s.weights.any(), len(s.targets) > 0, s.sample.repeats()} {
		if set {
			bits |= long >> i
		}
	}
	bits = c.Int(bits, math.MaxUint32)
	s.opts = Options{Sample: bits &^ allBits, Long: bits&long != 0}
	c.Counts(&s.rows)
	dim := c.Int(len(s.columns), rowio.MaxDim)
	c.Float64(&s.norm2)
	c.Check(s.opts.Sample >= 1 && s.opts.Sample <= maxSample && s.rows <= maxRows && (s.rows > 0 || dim == 0) &&
		s.norm2 >= 0 && !math.IsInf(s.norm2, 0) && !math.Signbit(s.norm2) && dim <= c.Left()) // a byte or more each
	if c.Reading() {
		s.columns = make([]column, dim)
	}
	for j := range s.columns {
		s.columns[j].code(c, s.rows)
	}
	if bits&typed != 0 {
		s.codeTyped(c)
	}
	if bits&heavy != 0 {
		s.weights.code(c, dim)
	}
	if bits&multi != 0 {
		wire.Items(c, &s.targets, int(c.Uvarint(uint64(len(s.targets)), rowio.MaxDim)), func(r *Range) {
			c.Float64(&r.Min, &r.Max)
			c.Check(exact.Finite(float32(r.Min)) && exact.Finite(float32(r.Max)) && r.Min <= r.Max)
		})
		c.Check(len(s.targets) > 1 && s.rows > 0)
	}
	s.codeSample(c, bits&twice != 0)
	s.labels.Code(c)
}

// code codes the number of nonzero values in a column of n rows and, if there are any, their range and sums.
func (c *column) code(w *wire.Coder, n int64) {
	c.nonzero = int64(w.Uvarint(uint64(c.nonzero), uint64(n)))
	if c.nonzero == 0 {
		return
	}
	w.Float32(&c.min, &c.max)
	w.Part(&c.sum, &c.squares)
	w.Check(c.min != 0 && c.max != 0 && c.min <= c.max && exact.Finite(c.min) && exact.Finite(c.max) && c.squares.Sign() > 0)
}

// codeTyped codes the missing values of each column, then the number of categorical columns, and for each
// the number of its values and their counts.
func (s *Sum) codeTyped(c *wire.Coder) {
	for j := range s.columns {
		column := &s.columns[j]
		column.missing = int64(c.Uvarint(uint64(column.missing), uint64(s.rows-column.nonzero)))
	}
	j := 0
	wire.Items(c, &s.counts, int(c.Uvarint(uint64(len(s.counts)), rowio.MaxDim)), func(counts *[]int64) {
		left, numbers := s.rows, int64(0)
		if j < len(s.columns) {
			left, numbers = left-s.columns[j].missing, s.columns[j].nonzero
		}
		wire.Items(c, counts, int(c.Uvarint(uint64(len(*counts)), maxValues)), func(n *int64) {
			*n = int64(c.Uvarint(uint64(*n), uint64(left)))
			left -= *n
		})
		c.Check(len(*counts) == 0 || left == 0 && numbers == 0)
		j++
	})
	c.Check((j == 0 || s.rows == 0 || j == len(s.columns)) && s.typed())
}

// code codes the weights: their sums, and for each column the weight of the rows without a value.
func (w *weighted) code(c *wire.Coder, columns int) {
	w.rows.Code(c)
	c.Part(&w.total)
	c.Check(w.any())
	for j := range columns {
		var sum exact.Sum
		if j < len(w.missing) {
			sum = w.missing[j]
		}
		c.Part(&sum)
		c.Check(sum.Sign() >= 0)
		if c.Reading() && !sum.IsZero() {
			w.grow(j)
			w.missing[j] = sum
		}
	}
}

// codeSample codes the rows of the sample, each with its number of copies if any row has several.
func (s *Sum) codeSample(c *wire.Coder, repeats bool) {
	row := make([]float32, len(s.columns))
	wire.Items(c, &s.sample.rows, int(c.Uvarint(uint64(len(s.sample.rows)), maxSample)), func(r *sampled) {
		c.Uint64(&r.hash)
		content := c.Raw(r.content, int(c.Uvarint(uint64(len(r.content)), math.MaxInt32)))
		copies := uint64(1)
		if repeats {
			copies = c.Uvarint(uint64(r.copies), uint64(s.rows))
		}
		if !c.Reading() {
			return
		}
		r.content, r.copies = bytes.Clone(content), int64(copies) // the encoding may be the caller's buffer
		if all := s.sample.rows; len(all) > 1 {
			c.Check(compareSampled(all[len(all)-2], *r) < 0)
		}
		clear(row)
		c.Check(copies > 0 && readContent(row, r.content))
	})
	n := len(s.sample.rows)
	c.Check(n <= s.sampleSize() && int64(n) <= s.rows && (n > 0 || s.rows == 0) && repeats == s.sample.repeats())
}
