package paired

import (
	"cmp"
	"slices"

	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models/score"
)

// Slices compares the models on the rows of each value of a column, up to score.MaxSlices values. Create it
// with NewSlices. It is not safe for concurrent use.
type Slices struct {
	empty *Sum // of no rows
	score.Keyed[string, *Sum]
}

// NewSlices returns empty Slices for the rows that are added to a sum, with its metrics, weights and groups.
func NewSlices(sum *Sum) *Slices {
	empty := sum.ofSlice()
	return &Slices{empty, score.NewKeyed(score.MaxSlices, score.CodeSliceKey, empty.ofSlice)}
}

// ofSlice returns the sum of no rows for a slice.
func (s *Sum) ofSlice() *Sum {
	one := NewSum(s.metrics...).Weighted(s.weighted)
	if s.clusters != nil {
		one.clusters = newClusters(sliceClusters, len(s.metrics))
	}
	return one
}

// Add adds a row with that value, as Sum.Add does.
func (s *Slices) Add(value string, group uint64, weight int64, champion, challenger []float64) {
	if p := s.Tally(score.SliceKey(value)); p != nil {
		p.Add(group, weight, champion, challenger)
	}
}

// SliceReport compares the models on the values of a column.
type SliceReport struct {
	Column string `json:"column"`
	Values int    `json:"values"`             // number of different values; 0 if Many
	Many   bool   `json:"too_many,omitempty"` // more than score.MaxSlices values, so none is compared
	Metric Metric `json:"metric"`
	// Slices are the values with the most rows, at most 50.
	Slices []SliceComparison `json:"slices,omitempty"`
}

// SliceComparison compares the models on the rows with one value.
type SliceComparison struct {
	Value string `json:"value"`
	Rows  int64  `json:"rows"`
	Comparison
	// Adjusted is the p-value adjusted for the number of values in the report by Holm's method (1979): with
	// probability 95%, no value without a difference has an Adjusted of 0.05 or less.
	Adjusted float64 `json:"p_adjusted"`
}

// shownSlices is the number of values in a report.
const shownSlices = 50

// Report compares the models on the values of the column by the first metric, or by RMSE if that is MSE.
// unit is as for Sum.Report.
func (s *Slices) Report(column string, unit float64) SliceReport {
	r := SliceReport{Column: column, Values: len(s.Tallies), Many: s.Many, Metric: s.empty.metrics[0]}
	if r.Metric == MSE {
		r.Metric = RMSE
	}
	values := s.Largest(func(one *Sum) int64 { return one.rows })
	for _, value := range values[:min(len(values), shownSlices)] {
		p := s.Tallies[value]
		r.Slices = append(r.Slices, SliceComparison{Value: value, Rows: p.rows, Comparison: p.compare(r.Metric, unit)})
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

// Code implements wire.Coded. It writes a sum of no rows before the slices.
func (s *Slices) Code(c *wire.Coder) {
	if c.Reading() {
		*s = *NewSlices(new(Sum))
	}
	s.empty.Code(c)
	c.Check(s.empty.rows == 0 && len(s.empty.metrics) > 0)
	s.Keyed.Code(c)
	for _, p := range s.Tallies {
		c.Check(p.rows > 0 && p.weighted == s.empty.weighted && (p.clusters == nil) == (s.empty.clusters == nil) &&
			slices.Equal(p.metrics, s.empty.metrics))
	}
}
