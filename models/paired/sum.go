package paired

import (
	"slices"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models/score"
	"gonum.org/v1/gonum/stat/distuv"
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

// Weighted says whether the rows of s, which must be empty, have weights. It returns s.
func (s *Sum) Weighted(weighted bool) *Sum {
	s.weighted = weighted
	return s
}

// NewSum returns the sum of no rows, without weights and groups, for the given different metrics, without RMSE.
func NewSum(metrics ...Metric) *Sum {
	return &Sum{metrics: metrics, losses: make([]losses, len(metrics))}
}

// Add adds a row with the losses of both models, one for each metric. The weight is 1 unless rows have
// weights: whole numbers from 0 to 2³⁸ with at most 24 significant bits. group is the hash of the row's
// group, for a Grouped sum. The loss of Error is 1 if the model is wrong, otherwise 0. If another loss is
// below 0, above 2²⁴ or NaN, the row is counted by NotFinite and left out of all metrics but Error.
func (s *Sum) Add(group uint64, weight int64, champion, challenger []float64) {
	s.rows++
	cluster, finite := s.cluster(group), true
	for i, m := range s.metrics {
		if m == Error {
			s.pairs.Add(champion[i] > 0, challenger[i] > 0, 1)
			if s.weighted {
				s.losses[i].Add(weight, champion[i], challenger[i])
			}
			if cluster != nil {
				cluster.metrics[i].add(weight, champion[i], challenger[i])
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
		case m == Error: // added above
		case cluster != nil:
			cluster.metrics[i].add(weight, champion[i], challenger[i])
		default:
			s.losses[i].Add(weight, champion[i], challenger[i])
		}
	}
}

// NotFinite returns the number of rows with a loss that cannot be added, because a prediction is not finite
// or far out.
func (s *Sum) NotFinite() int64 { return s.notFinite }

// Pairs returns the numbers of rows by which model is wrong, for classes.
func (s *Sum) Pairs() Pairs { return s.pairs }

// Code implements wire.Coded.
func (s *Sum) Code(c *wire.Coder) {
	c.Bool(&s.weighted)
	metrics := s.metrics
	if c.Reading() {
		metrics = nil
	}
	wire.List(c, &metrics, len(allMetrics()), func(m *Metric) {
		at := c.Byte(slices.Index(allMetrics(), *m), len(allMetrics())-1)
		*m = allMetrics()[at]
	})
	if c.Reading() {
		for i, m := range metrics {
			c.Check(m != RMSE && !slices.Contains(metrics[:i], m))
		}
		*s = *NewSum(metrics...).Weighted(s.weighted)
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

// Numbers of clusters of a sum and of each slice. If there are more groups, several share a cluster by
// their hashes; clusters stay independent of each other.
const (
	sumClusters   = 1 << 12
	sliceClusters = 1 << 8
)

// clusters holds the losses of groups of rows, which may depend on each other within a group. A mean is then
// as precise as the sums of the groups are, not as that many rows (Liang and Zeger 1986).
type clusters = score.Keyed[int, *cluster]

// cluster holds the sums of the rows of some groups, for each metric.
type cluster struct{ metrics []clusterSums }

// clusterSums are the weighted losses of a metric.
type clusterSums struct {
	weight               int64 // sum over the rows that have the losses
	champion, challenger exact.Sum
}

func newClusters(most, metrics int) *clusters {
	c := score.NewKeyed(most, func(w *wire.Coder, at *int) { *at = w.Int(*at, most-1) },
		func() *cluster { return &cluster{make([]clusterSums, metrics)} })
	return &c
}

// cluster returns the cluster of a group; nil without groups.
func (s *Sum) cluster(group uint64) *cluster {
	if s.clusters == nil {
		return nil
	}
	return s.clusters.Tally(int(group % uint64(s.clusters.Most)))
}

// add adds a row's losses of a metric, weighted as losses.Add does.
func (s *clusterSums) add(weight int64, champion, challenger float64) {
	w := float64(float32(weight))
	s.weight += weight
	s.champion.Add(float32(w * champion))
	s.challenger.Add(float32(w * challenger))
}

// Code implements wire.Coded.
func (c *cluster) Code(w *wire.Coder) {
	for i := range c.metrics {
		s := &c.metrics[i]
		w.Counts(&s.weight)
		w.Part(&s.champion, &s.challenger)
		w.Check(s.weight <= 1<<60 && s.champion.Sign() >= 0 && s.challenger.Sign() >= 0)
	}
}

// clusterLosses returns the losses of a metric with each cluster as a row, weighted by the weight of its
// rows.
func clusterLosses(c *clusters, metric int) *losses {
	l := new(losses)
	for _, one := range c.Tallies {
		if s := &one.metrics[metric]; s.weight > 0 {
			w := float64(s.weight)
			l.Add(int64(float32(min(w, 1<<38))), min(maxLoss, s.champion.Float64()/w), min(maxLoss, s.challenger.Float64()/w))
		}
	}
	return l
}

// EffectiveRows returns the number of independent rows, whose losses of a metric have the given variance,
// that would give the challenger's mean loss with the precision that a Grouped sum gives it. It uses
// quantiles of Student's t for few groups. If all groups have the same mean, it is the number of groups.
func (s *Sum) EffectiveRows(m Metric, variance float64) float64 {
	d := s.lossesOf(m).difference(1)
	if d.StdErr == 0 || d.Effective < 2 {
		return d.Effective
	}
	t := distuv.StudentsT{Sigma: 1, Nu: d.Effective - 1}.Quantile(0.975) / distuv.UnitNormal.Quantile(0.975)
	return min(float64(s.rows), variance/(d.StdErr*d.StdErr)) / (t * t)
}

// codeClusters codes the largest number of clusters, and each cluster's number with its sums, ascending.
func codeClusters(w *wire.Coder, c *clusters, metrics int) {
	most := w.Int(c.Most, sumClusters)
	if w.Check(most > 0) && w.Reading() {
		*c = *newClusters(most, metrics)
	}
	c.Code(w)
}
