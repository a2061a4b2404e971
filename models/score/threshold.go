package score

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/wire"
)

// Criterion is what a threshold between two kinds of rows maximises.
type Criterion string

// The criteria: ByError is the share of rows on the right side, ByF1 the harmonic mean of precision and
// recall of kind 1, and ByBalanced the mean over the kinds of the share on the right side.
const (
	ByError    Criterion = "error"
	ByF1       Criterion = "f1"
	ByBalanced Criterion = "balanced"
)

// criteria lists all criteria.
var criteria = []string{string(ByError), string(ByF1), string(ByBalanced)}

// Validate returns an error if the criterion does not exist.
func (c Criterion) Validate() error {
	if slices.Contains(criteria, string(c)) {
		return nil
	}
	return fmt.Errorf("score: unknown criterion %.40q%s; have %s", string(c), option.DidYouMean(string(c), criteria),
		strings.Join(criteria, ", "))
}

// value returns the criterion for n rows of each kind, with above of them at or above a threshold. Both kinds
// must have rows.
func (c Criterion) value(above, n [2]int64) float64 {
	hits, right := float64(above[1]), float64(n[0]-above[0])
	switch c {
	case ByError:
		return (hits + right) / float64(n[0]+n[1])
	case ByF1:
		return 2 * hits / float64(n[1]+above[1]+above[0])
	default:
		return (hits/float64(n[1]) + right/float64(n[0])) / 2
	}
}

// bestThreshold returns the threshold with the largest criterion, if rows at or above it are assigned to
// kind 1. Of several it is the largest. It is the smallest value of a cell. Both results are 0 if a kind
// has no rows.
func (r *ranks) bestThreshold(by Criterion) (threshold, best float64) {
	cell, best := r.best(by)
	if cell < 0 {
		return 0, 0
	}
	low, _ := r.ends(r.cells[cell])
	return float64(low), best
}

// best returns the index of the cell that begins at bestThreshold; −1 if a kind has no rows.
func (r *ranks) best(by Criterion) (cell int, best float64) {
	cell = -1
	n := r.rows
	if n[0] == 0 || n[1] == 0 {
		return cell, 0
	}
	r.flush()
	var above [2]int64
	for i, c := range slices.Backward(r.cells) {
		above[0] += c.n[0]
		above[1] += c.n[1]
		if v := by.value(above, n); cell < 0 || v > best {
			best, cell = v, i
		}
	}
	return cell, best
}

// middle returns the middle between the smallest value of a cell and the largest value below it. As a
// threshold it divides the rows in the same way.
func (r *ranks) middle(cell int) float32 {
	low, _ := r.ends(r.cells[cell])
	if cell == 0 {
		return low
	}
	_, below := r.ends(r.cells[cell-1])
	if m := float32(float64(low)/2 + float64(below)/2); m > below {
		return m
	}
	return low
}

// above returns the number of rows of each kind at or above a threshold. A cell that contains the threshold
// counts as below.
func (r *ranks) above(threshold float32) (n [2]int64) {
	r.flush()
	for i := len(r.cells) - 1; i >= 0; i-- {
		if low, _ := r.ends(r.cells[i]); low < threshold {
			break
		}
		n[0] += r.cells[i].n[0]
		n[1] += r.cells[i].n[1]
	}
	return n
}

// ThresholdCells is the number of different values that each count of ThresholdCounts distinguishes.
const ThresholdCells = 1 << 16

// ThresholdCounts counts values of two kinds of rows, to choose a threshold and to judge it: a threshold that is chosen
// by one half of the rows (see Half) is judged by the other. The counts do not depend on the order of the rows. Create
// it with NewThresholdCounts.
type ThresholdCounts struct {
	Rows int64 // number of rows, each counted once
	all  ranks // ThresholdValues.All
	half [2]halfRanks
}

// halfRanks holds the values of the rows of a half.
type halfRanks struct{ own, other ranks }

// ThresholdValues are the values of a row that a threshold is compared with. They differ if values are probabilities,
// by the rows to which the curves were fitted.
type ThresholdValues struct {
	All   float32 // by curves fitted to the rows of both halves
	Own   float32 // by curves fitted to the half of the row
	Other float32 // by curves fitted to the other half
}

// NewThresholdCounts returns empty counts.
func NewThresholdCounts() *ThresholdCounts {
	h := &ThresholdCounts{all: *newRanks(ThresholdCells)}
	for i := range h.half {
		h.half[i] = halfRanks{*newRanks(ThresholdCells), *newRanks(ThresholdCells)}
	}
	return h
}

// Add counts a row with its values in a half, 0 or 1, as often as repeats says, like ranks.Add.
func (h *ThresholdCounts) Add(half int, v ThresholdValues, kind int, repeats int64) {
	h.all.Add(v.All, kind, repeats)
	h.half[half].own.Add(v.Own, kind, repeats)
	h.half[half].other.Add(v.Other, kind, repeats)
	h.Rows++
}

// Merge adds the rows of g.
func (h *ThresholdCounts) Merge(g *ThresholdCounts) { wire.Merge(h, g) }

// Code implements wire.Coded.
func (h *ThresholdCounts) Code(c *wire.Coder) {
	c.Counts(&h.Rows)
	h.all.Code(c)
	for i := range h.half {
		h.half[i].own.Code(c)
		h.half[i].other.Code(c)
	}
}

// ChosenThreshold is a threshold and its criterion.
type ChosenThreshold struct {
	Value float32
	// Judged reports whether both halves have rows of both kinds; otherwise Expected and Plain are 0.
	Judged bool
	// Expected is the criterion to expect on other rows: the rows of each half are judged with the threshold that the
	// other half chooses. Plain is their criterion if rows above the usual threshold are assigned to kind 1. In both,
	// the values of a row are by curves that were fitted to the other half.
	Expected, Plain float64
}

// Choose returns a threshold with the largest criterion on all rows, halfway between the values that it
// separates. usual is the threshold of ChosenThreshold.Plain. The counts may be off by a cell if there are more than
// ThresholdCells different values. Choose fails if a kind has no rows.
func (h *ThresholdCounts) Choose(by Criterion, usual float32) (*ChosenThreshold, error) {
	rank, _ := h.all.best(by)
	if rank < 0 {
		return nil, errors.New("score: all held-out rows are of one class, so they choose no threshold; use more rows, " +
			"fewer folds, or give a number")
	}
	t := &ChosenThreshold{Value: h.all.middle(rank), Judged: true}
	var above, usually [2]int64
	for i := range h.half {
		own, other := &h.half[i].own, &h.half[1-i].other
		rank, _ := own.best(by)
		if rank < 0 {
			t.Judged = false
			return t, nil
		}
		for kind, n := range other.above(own.middle(rank)) {
			above[kind] += n
		}
		for kind, n := range other.above(math.Nextafter32(usual, math.MaxFloat32)) {
			usually[kind] += n
		}
	}
	t.Expected, t.Plain = by.value(above, h.all.rows), by.value(usually, h.all.rows)
	return t, nil
}
