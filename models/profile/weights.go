package profile

import (
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rows"
)

// weighted has exact sums over the weights of rows.
type weighted struct {
	rows    WeightSum
	total   exact.Sum
	missing []exact.Sum // for each column, of the rows without a value; may be shorter than the columns
}

// any reports whether rows have weights.
func (w *weighted) any() bool { return w.total.Sign() > 0 }

// present returns the sum of the weights of the rows that have a value in column j.
func (w *weighted) present(j int) *exact.Sum {
	sum := w.total
	if j < len(w.missing) {
		sum.Sub(&w.missing[j])
	}
	return &sum
}

func (w *weighted) merge(v *weighted) {
	w.rows.Merge(&v.rows)
	w.total.Merge(&v.total)
	for j := range v.missing {
		w.grow(j)
		w.missing[j].Merge(&v.missing[j])
	}
}

// grow makes room for column j.
func (w *weighted) grow(j int) {
	if n := j + 1 - len(w.missing); n > 0 {
		w.missing = append(w.missing, make([]exact.Sum, n)...)
	}
}

// addWeight adds the weight of row i of b, also to its label if rows have one.
func (s *Sum) addWeight(b *rows.Block, i int) {
	s.weights.rows.Add(b.Weights[i])
	s.weights.total.Add(float32(b.Weights[i]))
	if len(b.Y) == b.N { // labels of several targets are not counted
		s.labels.AddWeight(int(b.Y[i]), float32(b.Weights[i]))
	}
}

// addMissing adds the weight of a row without a value in column j.
func (s *Sum) addMissing(j int, w float32) {
	if s.weights.any() {
		s.weights.grow(j)
		s.weights.missing[j].Add(w)
	}
}

// MissingShare returns the share of rows, by their weights, that have no value in column j.
func (s *Sum) MissingShare(j int) float64 {
	missing := s.columns[j].missing
	if missing == 0 {
		return 0
	}
	if s.weights.any() {
		return s.weights.missing[j].Float64() / s.weights.total.Float64()
	}
	return float64(missing) / float64(s.rows)
}

// moments returns mean and variance of column j over its present rows, by weight if rows have weights.
func (s *Sum) moments(j int, present int64) (mean, variance float64) {
	c := &s.columns[j]
	if s.weights.any() {
		return exact.WeightedMoments(s.weights.present(j), &c.sum, &c.squares)
	}
	return exact.Moments(present, &c.sum, &c.squares)
}
