package paired

import (
	"cmp"
	"slices"

	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models/score"
)

// Slices compares the models on the rows of each value of a column. With more than
// score.MaxSlices values it keeps none, which depends on the set of values alone. Create it with
// NewSlices. It is not safe for concurrent use.
type Slices struct {
	empty Sum // of no rows
	many  bool
	parts map[string]*Sum
}

// NewSlices returns no slices, for the metrics of a sum of no rows.
func NewSlices(weighted bool, metrics ...Metric) *Slices {
	return &Slices{empty: *NewSum(weighted, metrics...), parts: map[string]*Sum{}}
}

// Grouped makes s slices of rows that belong to groups, and returns it.
func (s *Slices) Grouped() *Slices {
	s.empty.clusters = newClusters(sliceClusters)
	return s
}

// Add adds a row with that value, as Sum.AddOf does.
func (s *Slices) Add(value string, group uint64, weight int64, champion, challenger []float64) {
	if p := s.of(value); p != nil {
		p.AddOf(group, weight, champion, challenger)
	}
}

// of returns the sum of a value, or nil if there are too many.
func (s *Slices) of(value string) *Sum {
	value = value[:min(len(value), score.MaxSliceText)]
	p := s.parts[value]
	switch {
	case s.many:
		return nil
	case p == nil && len(s.parts) == score.MaxSlices:
		s.many, s.parts = true, nil
		return nil
	case p == nil:
		if p = NewSum(s.empty.weighted, s.empty.metrics...); s.empty.clusters != nil {
			p.clusters = newClusters(s.empty.clusters.most)
		}
		s.parts[value] = p
	}
	return p
}

// Merge adds the rows of t, slices for the same metrics.
func (s *Slices) Merge(t *Slices) {
	for value, p := range t.parts {
		own := s.of(value)
		if own == nil {
			break
		}
		own.Merge(p)
	}
	if t.many {
		s.many, s.parts = true, nil
	}
}

// SliceReport compares the models on the values of a column.
type SliceReport struct {
	Column string `json:"column"`
	Values int    `json:"values"`             // different ones; 0 if TooMany
	Many   bool   `json:"too_many,omitempty"` // more than score.MaxSlices, so none is compared
	Metric Metric `json:"metric"`
	// Slices are the values with the most rows, at most 50.
	Slices []SliceComparison `json:"slices,omitempty"`
}

// SliceComparison compares the models on the rows with a value.
type SliceComparison struct {
	Value string `json:"value"`
	Rows  int64  `json:"rows"`
	Comparison
	// Adjusted is the p-value adjusted for the number of values by the method of Holm (1979): of
	// all values, with probability 95%, none without a difference has one of 0.05 or less.
	Adjusted float64 `json:"p_adjusted"`
}

// shownSlices is the number of values in a report.
const shownSlices = 50

// Report compares the models on the values of the column by the first metric, or by RMSE if that
// is MSE; unit is as for Sum.Report.
func (s *Slices) Report(column string, unit float64) SliceReport {
	r := SliceReport{Column: column, Values: len(s.parts), Many: s.many, Metric: s.empty.metrics[0]}
	if r.Metric == MSE {
		r.Metric = RMSE
	}
	for value, p := range s.parts {
		r.Slices = append(r.Slices, SliceComparison{Value: value, Rows: p.rows})
	}
	slices.SortFunc(r.Slices, func(a, b SliceComparison) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Value, b.Value))
	})
	r.Slices = r.Slices[:min(len(r.Slices), shownSlices)]
	for i := range r.Slices {
		c := &r.Slices[i]
		c.Comparison = s.parts[c.Value].Compare(r.Metric, unit)
	}
	adjust(r.Slices)
	return r
}

// adjust sets the adjusted p-values.
func adjust(all []SliceComparison) {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(all[i].P, all[j].P) })
	least := 0.0
	for k, i := range order {
		least = max(least, min(1, float64(len(all)-k)*all[i].P))
		all[i].Adjusted = least
	}
}

// Code codes whether there are too many values, a sum of no rows, and for each value, ascending, its
// text and its sum.
func (s *Slices) Code(c *wire.Coder) {
	c.Bool(&s.many)
	s.empty.Code(c)
	c.Check(s.empty.rows == 0 && len(s.empty.metrics) > 0)
	if c.Reading() {
		s.parts = map[string]*Sum{}
	}
	wire.Texts(c, s.parts, score.MaxSlices, score.MaxSliceText, func() *Sum { return new(Sum) }, func(p *Sum) {
		p.Code(c)
		c.Check(!s.many && p.weighted == s.empty.weighted && (p.clusters == nil) == (s.empty.clusters == nil) &&
			slices.Equal(p.metrics, s.empty.metrics) && p.rows > 0)
	})
	if s.many {
		s.parts = nil
	}
}
