package prepare

import (
	"math"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/profile"
)

const (
	// coarseRange is the ratio of range to magnitude below which a column loses too much precision in float32:
	// numbers are rounded by up to 2⁻²⁵ of their magnitude, which is 2⁻¹⁷ of a range with this ratio.
	coarseRange = 0x1p-8
	// largeConstant is the magnitude from which on a column may be constant only because of float32: Unix seconds
	// are rounded to multiples of 128.
	largeConstant = 1 << 20
)

// centres returns the number to subtract from each column so that float32 has enough precision: the middle of
// the range for columns with a small range but large numbers, such as seconds since 1970, and otherwise 0. It
// returns nil if all are 0.
func centres(s dataset.Schema, p *profile.Profile) []float64 {
	if !s.Traits().Exact {
		return nil
	}
	var out []float64
	number := isNumber(s)
	for j, c := range p.Columns {
		if !number(j) {
			continue
		}
		low, high := float64(c.Min), float64(c.Max)
		size := math.Max(math.Abs(low), math.Abs(high))
		if low*high <= 0 || high-low >= coarseRange*size || low == high && size < largeConstant {
			continue
		}
		if out == nil {
			out = make([]float64, len(p.Columns))
		}
		out[j] = low + (high-low)/2
	}
	return out
}

// isNumber returns a function that reports whether value j of a row is a number of the file, not a level or a
// part of a time.
func isNumber(s dataset.Schema) func(j int) bool {
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
