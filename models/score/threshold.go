package score

import (
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
	place, best := r.best(by)
	if place < 0 {
		return 0, 0
	}
	low, _ := r.ends(r.cells[place])
	return float64(low), best
}

// best returns the index of the cell that begins at bestThreshold; −1 if a kind has no rows.
func (r *ranks) best(by Criterion) (place int, best float64) {
	place = -1
	n := r.rows
	if n[0] == 0 || n[1] == 0 {
		return place, 0
	}
	r.flush()
	var above [2]int64
	for i := len(r.cells) - 1; i >= 0; i-- {
		c := r.cells[i].n
		above[0] += c[0]
		above[1] += c[1]
		if v := by.value(above, n); place < 0 || v > best {
			best, place = v, i
		}
	}
	return place, best
}

// middle returns the middle between the smallest value of a cell and the largest value below it. As a
// threshold it divides the rows in the same way.
func (r *ranks) middle(place int) float32 {
	low, _ := r.ends(r.cells[place])
	if place == 0 {
		return low
	}
	_, below := r.ends(r.cells[place-1])
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

// ThresholdCells is the number of different values that each half of ThresholdCounts distinguishes.
const ThresholdCells = 1 << 16

// ThresholdCounts counts values of two kinds, separately in two halves of the rows, so that a threshold chosen by
// one half can be judged by the other. The counts do not depend on the order of the rows. Create it with
// NewThresholdCounts.
type ThresholdCounts struct {
	Rows int64 // number of rows, each counted once
	half [2]ranks
}

// NewThresholdCounts returns empty halves.
func NewThresholdCounts() *ThresholdCounts {
	return &ThresholdCounts{half: [2]ranks{*newRanks(ThresholdCells), *newRanks(ThresholdCells)}}
}

// Add counts a row with the value v in a half, 0 or 1, as often as repeats says, like ranks.Add.
func (h *ThresholdCounts) Add(half int, v float32, kind int, repeats int64) {
	h.half[half].Add(v, kind, repeats)
	h.Rows++
}

// weights returns the number of rows of each kind, each as often as it counts.
func (h *ThresholdCounts) weights() [2]int64 {
	a, b := h.half[0].rows, h.half[1].rows
	return [2]int64{a[0] + b[0], a[1] + b[1]}
}

// Merge adds the rows of g.
func (h *ThresholdCounts) Merge(g *ThresholdCounts) { wire.Merge(h, g) }

// Code implements wire.Coded.
func (h *ThresholdCounts) Code(c *wire.Coder) {
	c.Counts(&h.Rows)
	h.half[0].Code(c)
	h.half[1].Code(c)
}

// Choose returns a threshold with the largest criterion on all rows, halfway between the values that it
// separates. expected is the criterion to expect on other rows: each half is judged with the threshold of
// the other half. plain is the criterion if rows above usual are assigned to kind 1. The counts may be off
// by a cell if a half has more than ThresholdCells different values. Choose fails unless each half has rows of
// both kinds.
func (h *ThresholdCounts) Choose(by Criterion, usual float32) (threshold float32, expected, plain float64, err error) {
	all, rows := newRanks(ThresholdCells), h.weights()
	var above, usually [2]int64
	for i := range h.half {
		if n := h.half[i].rows; n[0] == 0 || n[1] == 0 {
			return 0, 0, 0, fmt.Errorf("score: %d and %d held-out rows of the two classes are too few to choose a threshold; "+
				"use more rows, fewer folds, or give a number", rows[0], rows[1])
		}
		all.Merge(&h.half[i])
		place, _ := h.half[i].best(by)
		other := &h.half[1-i]
		for kind, n := range other.above(h.half[i].middle(place)) {
			above[kind] += n
		}
		for kind, n := range other.above(math.Nextafter32(usual, math.MaxFloat32)) {
			usually[kind] += n
		}
	}
	place, _ := all.best(by)
	return all.middle(place), by.value(above, rows), by.value(usually, rows), nil
}
