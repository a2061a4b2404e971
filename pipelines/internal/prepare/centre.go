package prepare

import (
	"math"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/profile"
)

const (
	// coarse is the share of its size below which the range of a column loses precision in float32: a number
	// may be rounded by 2⁻²⁵ of its size, which is 2⁻¹⁷ of a range of that share.
	coarse = 0x1p-8
	// constant is from what size on a column that is constant in float32 need not be
	// constant in the file: Unix seconds are rounded to 128.
	constant = 1 << 20
)

// centres returns the numbers to subtract from each column so that it fits in float32: the
// middle of columns that differ little for their size, such as seconds since 1970; nil if there are none.
// Byte formats need none.
func centres(s dataset.Schema, p *profile.Profile) []float64 {
	if !s.Traits().Exact {
		return nil
	}
	var out []float64
	number := numbers(s)
	for j, c := range p.Columns {
		if !number(j) {
			continue
		}
		low, high := float64(c.Min), float64(c.Max)
		size := math.Max(math.Abs(low), math.Abs(high))
		if low*high <= 0 || high-low >= coarse*size || low == high && size < constant {
			continue
		}
		if out == nil {
			out = make([]float64, len(p.Columns))
		}
		out[j] = low + (high-low)/2
	}
	return out
}

// numbers returns which values of a row are numbers of the files: not levels or parts of times.
func numbers(s dataset.Schema) func(j int) bool {
	if s.Table == nil {
		return func(int) bool { return true }
	}
	var is []bool
	for i := range s.Table.Columns {
		c := &s.Table.Columns[i]
		for range c.Width() {
			is = append(is, c.Type == schema.Number)
		}
	}
	return func(j int) bool { return is[j] }
}
