package score

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/io/wire"
)

// OutOfRange counts the rows whose predictions are outside the range of the training targets by more than half of
// the range. The zero value counts no rows.
type OutOfRange struct {
	Rows     int64   `json:"rows"`
	Furthest float64 `json:"furthest"` // the prediction that is furthest from the range
	// Low and High are the smallest and the largest training target; set by On.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Add adds a row. The prediction is in half ranges of the targets from their middle: within the range it is
// from −1 to 1.
func (f *OutOfRange) Add(predicted float64) {
	if math.Abs(predicted) > 2 && !math.IsInf(predicted, 0) {
		f.Merge(&OutOfRange{Rows: 1, Furthest: predicted})
	}
}

// Merge adds the rows of g.
func (f *OutOfRange) Merge(g *OutOfRange) {
	f.Rows += g.Rows
	if a, b := math.Abs(f.Furthest), math.Abs(g.Furthest); b > a || b == a && g.Furthest > 0 {
		f.Furthest = g.Furthest
	}
}

// Code codes the counts.
func (f *OutOfRange) Code(c *wire.Coder) {
	c.Counts(&f.Rows)
	c.Float64(&f.Furthest)
	c.Check((f.Rows > 0) == (math.Abs(f.Furthest) > 2))
}

// Unscaled returns f with its prediction in the unit of the targets, whose range is low to high; nil if there are
// no rows.
func (f OutOfRange) Unscaled(low, high float64) *OutOfRange {
	if f.Rows == 0 {
		return nil
	}
	f.Low, f.High, f.Furthest = low, high, low+(high-low)/2*(1+f.Furthest)
	return &f
}

// Text describes the result of On for people. rows is the number of all rows.
func (f *OutOfRange) Text(rows int64) string {
	return fmt.Sprintf("%d of %d predictions are far outside the range of the training targets, %.6g to %.6g; the "+
		"furthest is %.6g", f.Rows, rows, f.Low, f.High, f.Furthest)
}
