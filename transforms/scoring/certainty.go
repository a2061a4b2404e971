package scoring

import (
	"slices"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
)

// Certainty says which columns of predictions show how certain they are.
type Certainty struct {
	Interval float64 `json:"interval,omitempty"` // level of intervals or sets; 0 for none
	Novelty  bool    `json:"novelty,omitempty"`
}

// Check returns an error if the model cannot compute these columns. It needs only the manifest.
func (c Certainty) Check(m *models.Model) error {
	if c.Novelty && m.Manifest.Sketch == nil {
		return models.ErrNoNovelty
	}
	if c.Interval == 0 {
		return nil
	}
	_, err := m.Level(c.Interval)
	return err
}

// open makes the applier compute what the columns need.
func (c Certainty) open(a *applier) (level models.Level, err error) {
	if c.Interval > 0 {
		if level, err = a.Model.Level(c.Interval); err != nil {
			return level, err
		}
		a.Novelty = a.Model.Manifest.Intervals.Scaled
	}
	a.Novelty = a.Novelty || c.Novelty
	return level, nil
}

// appendEnds appends the low and high end of the interval of each target, row by row.
func appendEnds(dst []float64, level models.Level, output models.Applied) []float64 {
	from := len(dst)
	dst = slices.Grow(dst, 2*len(output.Targets))[:from+2*len(output.Targets)]
	level.Ends(dst[from:], output)
	return dst
}

// covering counts how often the intervals or sets of a model contain the label.
type covering struct {
	level models.Level
	both  []float64
}

// newCovering returns counts for the columns, given their number; nil if the model lacks the usual level.
func newCovering(a *applier, columns int) (*covering, []score.Coverage) {
	level, err := Certainty{Interval: models.DefaultLevel}.open(a)
	if err != nil {
		return nil, nil
	}
	return &covering{level: level}, make([]score.Coverage, columns)
}

// targets adds the rows with finite intervals.
func (c *covering) targets(sums []score.Coverage, output models.Applied, y []float64, repeats []int64) {
	if c == nil {
		return
	}
	c.both = appendEnds(c.both[:0], c.level, output)
	k := len(sums)
	for i, y := range y {
		if low, high := c.both[2*i], c.both[2*i+1]; exact.Finite(high - low) {
			sums[i%k].Add(low <= y && y <= high, high-low, repeats[i/k])
		}
	}
}

// classes adds the rows with finite scores. Labels below 0 are unknown classes, which are in no set.
func (c *covering) classes(sums []score.Coverage, output models.Applied, y []float64, repeats []int64) {
	if c == nil {
		return
	}
	k := len(output.Scores) / max(1, len(y))
	for i, y := range y {
		if !exact.AllFinite(output.Scores[i*k : (i+1)*k]) {
			continue
		}
		n, inside := 0, false
		for j := range k {
			if c.level.Has(output, i*k+j) {
				n++
				inside = inside || j == int(y)
			}
		}
		sums[0].Add(inside, float64(n), repeats[i])
	}
}
