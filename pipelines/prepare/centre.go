package prepare

import (
	"math"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/profile"
)

const (
	// coarse is below how many steps of float32 the range of a column does not fit
	// float32 well.
	coarse = 64
	// constant is from what size on a column that is constant in float32 need not be
	// constant in the file: Unix seconds are rounded to 128.
	constant = 1 << 20
)

// centres returns the numbers to subtract from each column so that it fits in float32: the
// middle of columns whose range is a few float32 steps at their magnitude, such as seconds
// since 1970; nil if there are none. Byte formats need none.
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
		step := float64(math.Nextafter32(float32(size), math.MaxFloat32)) - size
		if low*high <= 0 || high-low >= coarse*step || low == high && size < constant {
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
