package score

import (
	"math"
	"math/bits"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
)

// conformalCells is the number of different scores that Conformal distinguishes.
const conformalCells = 1 << 16

// Conformal counts conformity scores of held-out rows, for intervals and sets with a given coverage (Vovk,
// Gammerman and Shafer 2005). The larger a score, the less usual is the row. The counts do not depend on
// the order of the rows. Create it with NewConformal.
type Conformal struct {
	rows   int64 // rows that count at least once
	scores ranks
}

// NewConformal returns counts of no rows.
func NewConformal() *Conformal { return &Conformal{scores: *newRanks(conformalCells)} }

// Add counts a row repeats times. A score that is not finite in float32 counts as the largest.
func (c *Conformal) Add(score float64, repeats int64) {
	v := float32(score)
	if !exact.Finite(v) {
		v = math.MaxFloat32
	}
	if repeats > 0 {
		c.rows++
		c.scores.Add(v, 0, repeats)
	}
}

// Rows returns the number of rows that count at least once.
func (c *Conformal) Rows() int64 { return c.rows }

// Code implements wire.Coded.
func (c *Conformal) Code(w *wire.Coder) {
	w.Counts(&c.rows)
	c.scores.Code(w)
	w.Check(c.rows <= c.scores.ranked() && (c.rows > 0) == (c.scores.ranked() > 0) && c.scores.rows[1] == 0)
}

// NextRank returns the rank, from the top, of the score to keep after another: the 200 largest are kept,
// and then one in each next hundredth of the ranks so far.
func NextRank(place int64) int64 { return place + max(1, place/100) }

// Kept returns the scores at the ranks 1, NextRank(1), … from the largest down. If rows count several
// times, a rank is as much as a row counts on average. Of several scores in a cell the largest is returned.
func (c *Conformal) Kept() []float32 {
	r := &c.scores
	r.flush()
	var kept []float32
	at, below := len(r.cells)-1, r.ranked() // rows up to this cell
	for place := int64(1); place <= c.rows; place = NextRank(place) {
		// Find the least score that at least that share of the rows does not exceed.
		need := share(r.ranked(), c.rows+1-place, c.rows)
		for at > 0 && below-r.cells[at].n[0] >= need {
			below -= r.cells[at].n[0]
			at--
		}
		_, high := r.ends(r.cells[at])
		kept = append(kept, high)
	}
	return kept
}

// share returns ⌈total·part/whole⌉, for part ≤ whole.
func share(total, part, whole int64) int64 {
	high, low := bits.Mul64(uint64(total), uint64(part))
	n, rest := bits.Div64(high, low, uint64(whole))
	if rest > 0 {
		n++
	}
	return int64(n)
}

// Coverage counts how often intervals or sets contain the truth, and sums their widths. The zero value
// counts no rows.
type Coverage struct {
	rows           int64
	weight, inside int64
	width          exact.Sum
}

// Add counts a row repeats times. A width that does not fit in float32 counts as the largest that does.
func (c *Coverage) Add(inside bool, width float64, repeats int64) {
	width = min(width, math.MaxFloat32)
	c.rows++
	c.weight += repeats
	if inside {
		c.inside += repeats
	}
	c.width.AddWeighted64(float32(repeats), width)
}

// Code implements wire.Coded.
func (c *Coverage) Code(w *wire.Coder) {
	w.Counts(&c.rows, &c.weight, &c.inside)
	w.Part(&c.width)
	w.Check(c.inside <= c.weight && c.width.Sign() >= 0 && (c.rows > 0 || c.width.IsZero()))
}

// CoverageReport says how often intervals or sets contain the truth, and how wide they are.
type CoverageReport struct {
	Level    float64    `json:"level"` // nominal coverage
	Rows     int64      `json:"rows"`
	Coverage float64    `json:"coverage"`          // share of rows whose truth is inside
	Interval [2]float64 `json:"coverage_interval"` // 95% interval of Coverage
	Width    float64    `json:"width"`             // mean width, or number of classes
}

// Report returns the report for a nominal level. effective is the number of independent rows of the same
// precision.
func (c *Coverage) Report(level, effective float64) CoverageReport {
	r := CoverageReport{Level: level, Rows: c.rows, Coverage: ratio(c.inside, c.weight),
		Width: exact.Mean(c.weight, &c.width)}
	r.Interval[0], r.Interval[1] = intervalOf(r.Coverage, min(effective, float64(c.rows)))
	return r
}
