package score

import (
	"math"
	"math/bits"

	"github.com/bochner-ml/bochner/io/wire"
)

// ConformalCells is the number of different scores that Conformal distinguishes.
const ConformalCells = 1 << 16

// Conformal counts conformity scores of held-out rows, of which the larger are the less usual, for
// intervals and sets with a given coverage (Vovk, Gammerman and Shafer 2005). It is a function of the
// rows, as Ranks is. Create it with NewConformal.
type Conformal struct {
	rows   int64 // that count
	scores Ranks
}

// NewConformal returns counts of no rows.
func NewConformal() *Conformal { return &Conformal{scores: *newRanks(ConformalCells)} }

// Add counts a row as often as repeats says. A score that is not finite in float32 counts as the largest.
func (c *Conformal) Add(score float64, repeats int64) {
	v := float32(score)
	if v-v != 0 {
		v = math.MaxFloat32
	}
	if repeats > 0 {
		c.rows++
		c.scores.Add(v, 0, repeats)
	}
}

// Rows returns the number of rows that count.
func (c *Conformal) Rows() int64 { return c.rows }

// Merge adds the rows of d.
func (c *Conformal) Merge(d *Conformal) {
	c.rows += d.rows
	c.scores.Merge(&d.scores)
}

// Code codes the counts.
func (c *Conformal) Code(w *wire.Coder) {
	w.Counts(&c.rows)
	c.scores.Code(w)
	w.Check(c.rows <= c.scores.ranked() && (c.rows > 0) == (c.scores.ranked() > 0))
}

// NextRank returns the place from the top of the score that is kept after another: the 100 largest are,
// and then one in the next hundredth of the places so far.
func NextRank(place int64) int64 { return place + max(1, place/100) }

// Kept returns the scores at the places 1, NextRank(1), … from the largest one down. Where rows count
// more or less often, a place is as much as a row counts in the mean. In a cell with several scores
// it is the largest.
func (c *Conformal) Kept() []float32 {
	r := &c.scores
	r.flush()
	var kept []float32
	at, below := len(r.cells)-1, r.ranked() // rows up to the cell
	for place := int64(1); place <= c.rows; place = NextRank(place) {
		// The least score with at least that share of the rows up to it.
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

// share returns total·part/whole, rounded up, for part ≤ whole.
func share(total, part, whole int64) int64 {
	high, low := bits.Mul64(uint64(total), uint64(part))
	n, rest := bits.Div64(high, low, uint64(whole))
	if rest > 0 {
		n++
	}
	return int64(n)
}
