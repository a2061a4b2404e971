package paired

import (
	"slices"

	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models/score"
)

// Sum is what a pass collects about two models. Create it with NewSum. It is not safe for concurrent use.
type Sum struct {
	metrics   []Metric // without RMSE
	weighted  bool
	rows      int64
	notFinite int64
	pairs     Pairs
	losses    []losses  // of each metric; empty for Error, unless rows have weights
	clusters  *clusters // of groups of rows, which tests count instead of rows; nil without groups
}

// Grouped makes s, which must be empty, a sum of rows that belong to groups. It returns s.
func (s *Sum) Grouped() *Sum {
	s.clusters = newClusters(sumClusters, len(s.metrics))
	return s
}

// exactPairs reports whether errors are compared by Pairs: if rows are independent and have no weights.
func (s *Sum) exactPairs(m Metric) bool { return m == Error && !s.weighted && s.clusters == nil }

// NewSum returns the sum of no rows for the given different metrics, without RMSE. weighted says that rows
// have weights.
func NewSum(weighted bool, metrics ...Metric) *Sum {
	return &Sum{metrics: metrics, weighted: weighted, losses: make([]losses, len(metrics))}
}

// Add adds a row with the losses of both models, one for each metric. The weight is 1 unless rows have
// weights; see losses.Add. group is the hash of the row's group, for a Grouped sum. The loss of Error is 1
// if the model is wrong, otherwise 0. If another loss is below 0, above 2²⁴ or NaN, the row is counted
// by NotFinite and left out of all metrics but Error.
func (s *Sum) Add(group uint64, weight int64, champion, challenger []float64) {
	s.rows++
	of, finite := s.cluster(group), true
	for i, m := range s.metrics {
		if m == Error {
			s.pairs.Add(champion[i] > 0, challenger[i] > 0, 1)
			if s.weighted {
				s.losses[i].Add(weight, champion[i], challenger[i])
			}
			if of != nil {
				of.metrics[i].add(weight, champion[i], challenger[i])
			}
			continue
		}
		finite = finite && valid(champion[i], challenger[i])
	}
	if !finite {
		s.notFinite++
		return
	}
	for i, m := range s.metrics {
		switch {
		case m == Error:
		case of != nil:
			of.metrics[i].add(weight, champion[i], challenger[i])
		default:
			s.losses[i].Add(weight, champion[i], challenger[i])
		}
	}
}

// Merge adds the rows of t, which must have the same metrics.
func (s *Sum) Merge(t *Sum) {
	if s.weighted != t.weighted || (s.clusters == nil) != (t.clusters == nil) || !slices.Equal(s.metrics, t.metrics) {
		panic("paired: merge of sums of different metrics")
	}
	s.rows += t.rows
	s.notFinite += t.notFinite
	s.pairs.Merge(t.pairs)
	score.MergeAll(s.losses, t.losses)
	if s.clusters != nil {
		s.clusters.Merge(t.clusters)
	}
}

// NotFinite returns the number of rows with a loss that cannot be added, because a prediction is not finite
// or far out.
func (s *Sum) NotFinite() int64 { return s.notFinite }

// Pairs returns the numbers of rows by which model is wrong, for classes.
func (s *Sum) Pairs() Pairs { return s.pairs }

// Code codes whether rows have weights, the index of each metric in allMetrics, six counts, the number of rows
// and the sums of each metric, and the clusters if there are groups.
func (s *Sum) Code(c *wire.Coder) {
	c.Bool(&s.weighted)
	metrics := s.metrics
	if c.Reading() {
		metrics = nil
	}
	wire.Each(c, &metrics, len(allMetrics()), func(m *Metric) {
		at := c.Byte(slices.Index(allMetrics(), *m), len(allMetrics())-1)
		*m = allMetrics()[at]
	})
	if c.Reading() {
		for i, m := range metrics {
			c.Check(m != RMSE && !slices.Contains(metrics[:i], m))
		}
		*s = *NewSum(s.weighted, metrics...)
	}
	p := &s.pairs
	c.Counts(&s.rows, &s.notFinite, &p.Rows, &p.Both, &p.Champion, &p.Challenger)
	for i := range s.losses {
		l := &s.losses[i]
		c.Counts(&l.rows)
		for k := range l.sums {
			c.Part(&l.sums[k])
			c.Check(l.sums[k].Sign() >= 0 && (l.rows > 0 || l.sums[k].IsZero()))
		}
		c.Check(l.rows <= s.rows && (l.rows == 0 || !l.sums[0].IsZero() && !l.sums[3].IsZero()))
	}
	wire.Optional(c, &s.clusters, func(k *clusters) { codeClusters(c, k, len(s.metrics)) })
	c.Check(s.notFinite <= s.rows && p.Rows <= s.rows && p.Both <= p.Rows && p.Champion <= p.Rows-p.Both &&
		p.Challenger <= p.Rows-p.Both-p.Champion)
}
