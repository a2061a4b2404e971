package scores

import (
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/export"
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

// ends returns the columns with the ends of intervals for the given columns of predictions.
func (c Certainty) ends(of []export.Column) (columns []export.Column) {
	if c.Interval == 0 {
		return nil
	}
	for _, said := range of {
		for _, end := range []string{"_low", "_high"} {
			name := said.Name + end
			columns = append(columns, export.Column{Name: name, Header: []string{name}, Unit: said.Unit})
		}
	}
	return columns
}

// certain computes the columns of a Certainty, which are valid until the next block.
type certain struct {
	level   models.Level
	both    []float64
	columns [][]float64
	in      export.Sets
}

// ends returns the low and high ends of the intervals of each target.
func (c *certain) ends(said models.Applied) (values []any) {
	n := len(said.Targets)
	if cap(c.both) < 2*n {
		c.both = make([]float64, 2*n)
	}
	c.both = c.both[:2*n]
	c.level.Ends(c.both, said)
	k := 2 * c.level.Targets()
	if c.columns == nil {
		c.columns = make([][]float64, k)
	}
	for e := range c.columns {
		c.columns[e] = c.columns[e][:0]
		for i := e; i < len(c.both); i += k {
			c.columns[e] = append(c.columns[e], c.both[i])
		}
		values = append(values, c.columns[e])
	}
	return values
}

// sets returns the sets of classes.
func (c *certain) sets(said models.Applied) *export.Sets {
	c.in.Ends, c.in.Items = c.in.Ends[:0], c.in.Items[:0]
	k := len(said.Probabilities) / max(1, len(said.Classes))
	for i := range said.Probabilities {
		if c.level.Has(said, i) {
			c.in.Items = append(c.in.Items, int32(i%k))
		}
		if (i+1)%k == 0 {
			c.in.Ends = append(c.in.Ends, len(c.in.Items))
		}
	}
	return &c.in
}

// covering counts how often the intervals or sets of a model contain the label.
type covering struct {
	level models.Level
	both  []float64
}

// newCovering returns counts for the columns, given their number; nil if the model lacks the usual level.
func newCovering(a *applier, columns int) (*covering, []score.Coverage) {
	level, err := Certainty{Interval: models.UsualLevel}.open(a)
	if err != nil {
		return nil, nil
	}
	return &covering{level: level}, make([]score.Coverage, columns)
}

// targets adds the rows with finite predictions.
func (c *covering) targets(sums []score.Coverage, said models.Applied, y []float64, repeats []int64) {
	if c == nil {
		return
	}
	if cap(c.both) < 2*len(y) {
		c.both = make([]float64, 2*len(y))
	}
	c.both = c.both[:2*len(y)]
	c.level.Ends(c.both, said)
	k := len(sums)
	for i, y := range y {
		if low, high := c.both[2*i], c.both[2*i+1]; high-low == high-low {
			sums[i%k].Add(low <= y && y <= high, high-low, repeats[i/k])
		}
	}
}

// classes adds the rows with finite scores. Labels below 0 are unknown classes, which are in no set.
func (c *covering) classes(sums []score.Coverage, said models.Applied, y []float64, repeats []int64) {
	if c == nil {
		return
	}
	k := len(said.Scores) / max(1, len(y))
	for i, y := range y {
		if !exact.AllFinite(said.Scores[i*k : (i+1)*k]) {
			continue
		}
		n, inside := 0, false
		for j := range k {
			if c.level.Has(said, i*k+j) {
				n, inside = n+1, inside || j == int(y)
			}
		}
		sums[0].Add(inside, float64(n), repeats[i])
	}
}
