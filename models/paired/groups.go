package paired

import (
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
	"gonum.org/v1/gonum/stat/distuv"
)

// Numbers of clusters of a sum, and of each slice. With more groups several share a cluster, by their
// hashes: clusters stay independent of each other.
const (
	sumClusters   = 1 << 12
	sliceClusters = 1 << 8
)

// clusters has the losses of groups of rows, which depend on each other within a group. A mean is as
// certain as the sums of groups are, not as so many rows (Liang and Zeger 1986).
type clusters struct {
	most int // a power of two
	all  map[int]*cluster
}

// cluster has the sums of the rows of some groups, for each metric.
type cluster struct{ metrics []clusterSums }

// clusterSums are the weighted losses of a metric.
type clusterSums struct {
	weight               int64 // of the rows that have the losses
	champion, challenger exact.Sum
}

func newClusters(most int) *clusters { return &clusters{most: most, all: map[int]*cluster{}} }

// of returns the cluster of a group.
func (c *clusters) of(group uint64, metrics int) *cluster {
	at := int(group % uint64(c.most))
	if c.all[at] == nil {
		c.all[at] = &cluster{make([]clusterSums, metrics)}
	}
	return c.all[at]
}

// add adds a row's losses of a metric, weighted as Losses.Add does.
func (s *clusterSums) add(weight int64, champion, challenger float64) {
	w := float64(float32(weight))
	s.weight += weight
	s.champion.Add(float32(w * champion))
	s.challenger.Add(float32(w * challenger))
}

func (c *clusters) merge(d *clusters) {
	for at, from := range d.all {
		to := c.of(uint64(at), len(from.metrics))
		for i := range to.metrics {
			s, t := &to.metrics[i], &from.metrics[i]
			s.weight += t.weight
			s.champion.Merge(&t.champion)
			s.challenger.Merge(&t.challenger)
		}
	}
}

// losses returns the losses of a metric, where each cluster is a row of the weight of its rows.
func (c *clusters) losses(metric int) *Losses {
	l := new(Losses)
	for _, one := range c.all {
		if s := &one.metrics[metric]; s.weight > 0 {
			w := float64(s.weight)
			l.Add(int64(float32(min(w, 1<<38))), min(MaxLoss, s.champion.Float64()/w), min(MaxLoss, s.challenger.Float64()/w))
		}
	}
	return l
}

// Independent returns how many independent rows, whose losses of a metric have that variance, would
// have a mean loss of the challenger as certain as for the rows of a Grouped sum, with
// quantiles of Student's t for few groups. If all groups have the same mean, it is the number of
// groups.
func (s *Sum) Independent(m Metric, variance float64) float64 {
	d := s.of(m).Difference(1)
	if d.Error == 0 || d.Effective < 2 {
		return d.Effective
	}
	t := distuv.StudentsT{Sigma: 1, Nu: d.Effective - 1}.Quantile(0.975) / distuv.UnitNormal.Quantile(0.975)
	return min(float64(s.rows), variance/(d.Error*d.Error)) / (t * t)
}

// code codes the number of clusters, and the sums of each after its number, ascending.
func (c *clusters) code(w *wire.Coder, metrics int) {
	c.most = w.Int(c.most, sumClusters)
	w.Check(c.most > 0)
	if w.Reading() {
		c.all = map[int]*cluster{}
	}
	numbers := slices.Sorted(maps.Keys(c.all))
	wire.Each(w, &numbers, sumClusters, func(at *int) {
		*at = w.Int(*at, sumClusters-1)
		if w.Reading() {
			w.Check(*at < c.most && c.all[*at] == nil)
			c.all[*at] = &cluster{make([]clusterSums, metrics)}
		}
		for i := range metrics {
			s := &c.all[*at].metrics[i]
			w.Counts(&s.weight)
			w.Part(&s.champion, &s.challenger)
			w.Check(s.weight <= 1<<60 && s.champion.Sign() >= 0 && s.challenger.Sign() >= 0)
		}
	})
}
