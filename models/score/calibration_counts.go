package score

import (
	"math"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
)

// CalibrationCells is the number of cells of the grid of scores. For each sign, magnitudes from 2⁻¹⁰ to 2⁶
// have 128 cells an octave, so a score differs from the centre of its cell by at most 0.4%. Smaller
// magnitudes share the cell of 2⁻¹⁰, larger ones the last cell. The grid is fixed, so no range need be
// known in advance.
const CalibrationCells = 4096

const (
	half      = CalibrationCells / 2
	firstCell = 117 << 7 // upper 16 bits of 2⁻¹⁰ as float32
)

// countCell returns the cell of a score. Cells are in the order of scores.
func countCell(s float32) int {
	b := math.Float32bits(s)
	u := min(max(int(b&(1<<31-1)>>16)-firstCell, 0), half-1)
	if b>>31 != 0 {
		return half - 1 - u
	}
	return half + u
}

// centre returns the score that represents a cell.
func centre(c int) float64 {
	sign, u := 1.0, c-half
	if u < 0 {
		sign, u = -1, half-1-c
	}
	if u == 0 {
		return sign * 0x1p-11
	}
	return sign * float64(math.Float32frombits(uint32(u+firstCell)<<16|1<<15))
}

// CalibrationCounts counts the scores of each output in cells, separately for rows of the output's class
// and for other rows. Create it with NewCalibrationCounts. It is not safe for concurrent use.
type CalibrationCounts struct {
	outputs int
	rows    int64
	n       []int64 // outputs×2×CalibrationCells: rows of other classes, rows of the class
}

// NewCalibrationCounts returns the counts of no rows. It panics for fewer than two outputs.
func NewCalibrationCounts(outputs int) *CalibrationCounts {
	if outputs < 2 {
		panic("score: fewer than two outputs")
	}
	return &CalibrationCounts{outputs: outputs, n: make([]int64, outputs*2*CalibrationCells)}
}

// Add counts a row of scores with its class, repeats times. It leaves out a row with a score that is not finite. It
// panics if the scores or the class do not fit.
func (c *CalibrationCounts) Add(scores []float32, class int, repeats int64) {
	if len(scores) != c.outputs || class < 0 || class >= c.outputs {
		panic("score: scores and class do not fit")
	}
	if !exact.AllFinite(scores) {
		return
	}
	c.rows++
	for o, s := range scores {
		at := 2 * o * CalibrationCells
		if o == class {
			at += CalibrationCells
		}
		c.n[at+countCell(s)] += repeats
	}
}

// Merge adds the rows of d. It panics if it has another number of outputs.
func (c *CalibrationCounts) Merge(d *CalibrationCounts) {
	if c.outputs != d.outputs {
		panic("score: counts of different outputs")
	}
	c.rows += d.rows
	addCounts(c.n, d.n)
}

// Rows returns the number of rows.
func (c *CalibrationCounts) Rows() int64 { return c.rows }

// weight returns the number of rows, each as often as it counts.
func (c *CalibrationCounts) weight() (n int64) {
	for _, v := range c.n[:2*CalibrationCells] {
		n += v
	}
	return n
}

// ClassRows returns the number of rows of each class, each as often as it counts.
func (c *CalibrationCounts) ClassRows() []int64 {
	rows := make([]int64, c.outputs)
	for o := range rows {
		for _, v := range c.n[(2*o+1)*CalibrationCells : 2*(o+1)*CalibrationCells] {
			rows[o] += v
		}
	}
	return rows
}

// Code codes the number of outputs, the rows, and the cells.
func (c *CalibrationCounts) Code(w *wire.Coder) {
	outputs := w.Int(c.outputs, maxOutputs)
	if w.Check(outputs >= 2 && w.Left() >= 16*CalibrationCells*outputs); w.Reading() {
		*c = *NewCalibrationCounts(outputs)
	}
	w.Counts(&c.rows)
	w.Check(c.rows <= 1<<48)
	for i := range c.n {
		w.Counts(&c.n[i])
		w.Check(c.n[i] <= 1<<48)
	}
}

// point is a cell with rows.
type point struct {
	score           float64
	others, members float64
}

// points returns the cells of an output that have rows, ascending. Counts are divided by how often a row
// counts on average, so that a prior of one row keeps its meaning.
func (c *CalibrationCounts) points(output int) (p []point, others, members float64) {
	unit := 1.0
	if w := c.weight(); w > 0 && w != c.rows {
		unit = float64(c.rows) / float64(w)
	}
	n := c.n[2*output*CalibrationCells : 2*(output+1)*CalibrationCells]
	for i := range CalibrationCells {
		if a, b := float64(unit*float64(n[i])), float64(unit*float64(n[CalibrationCells+i])); a+b > 0 {
			p = append(p, point{centre(i), a, b})
			others, members = others+a, members+b
		}
	}
	return p, others, members
}
