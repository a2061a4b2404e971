package paired

import (
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models/score"
	"gonum.org/v1/gonum/stat/distuv"
)

// Numbers of clusters of a sum and of each slice. If there are more groups, several share a cluster by
// their hashes; clusters stay independent of each other.
const (
	sumClusters   = 1 << 12
	sliceClusters = 1 << 8
)

// clusters has the losses of groups of rows, which may depend on each other within a group. A mean is then
// as precise as the sums of the groups are, not as that many rows (Liang and Zeger 1986).
type clusters = score.By[int, cluster, *cluster]

// cluster has the sums of the rows of some groups, for each metric.
type cluster struct{ metrics []clusterSums }

// clusterSums are the weighted losses of a metric.
type clusterSums struct {
	weight               int64 // sum over the rows that have the losses
	champion, challenger exact.Sum
}

func newClusters(most, metrics int) *clusters {
	c := score.NewBy[int](most, func() *cluster { return &cluster{make([]clusterSums, metrics)} })
	return &c
}

// cluster returns the cluster of a group; nil without groups.
func (s *Sum) cluster(group uint64) *cluster {
	if s.clusters == nil {
		return nil
	}
	return s.clusters.Of(int(group % uint64(s.clusters.Most)))
}

// add adds a row's losses of a metric, weighted as losses.Add does.
func (s *clusterSums) add(weight int64, champion, challenger float64) {
	w := float64(float32(weight))
	s.weight += weight
	s.champion.Add(float32(w * champion))
	s.challenger.Add(float32(w * challenger))
}

// Merge adds the rows of d.
func (c *cluster) Merge(d *cluster) {
	for i := range c.metrics {
		s, t := &c.metrics[i], &d.metrics[i]
		s.weight += t.weight
		s.champion.Merge(&t.champion)
		s.challenger.Merge(&t.challenger)
	}
}

// Code codes the sums.
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
	for _, one := range c.Parts {
		if s := &one.metrics[metric]; s.weight > 0 {
			w := float64(s.weight)
			l.Add(int64(float32(min(w, 1<<38))), min(maxLoss, s.champion.Float64()/w), min(maxLoss, s.challenger.Float64()/w))
		}
	}
	return l
}

// Independent returns the number of independent rows, whose losses of a metric have the given variance,
// that would give the challenger's mean loss with the precision that a Grouped sum gives it. It uses
// quantiles of Student's t for few groups. If all groups have the same mean, it is the number of groups.
func (s *Sum) Independent(m Metric, variance float64) float64 {
	d := s.lossesOf(m).difference(1)
	if d.Error == 0 || d.Effective < 2 {
		return d.Effective
	}
	t := distuv.StudentsT{Sigma: 1, Nu: d.Effective - 1}.Quantile(0.975) / distuv.UnitNormal.Quantile(0.975)
	return min(float64(s.rows), variance/(d.Error*d.Error)) / (t * t)
}

// codeClusters codes the largest number of clusters, and each cluster's number with its sums, ascending.
func codeClusters(w *wire.Coder, c *clusters, metrics int) {
	most := w.Int(c.Most, sumClusters)
	if w.Check(most > 0); w.Reading() {
		*c = *newClusters(most, metrics)
	}
	c.Code(w, func(at *int) { *at = w.Int(*at, most-1) })
}
