package score

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
)

// mostClusters is the number of clusters of groups, a power of two. More groups share clusters, by
// their hashes.
const mostClusters = 1 << 12

// grouped counts the errors of fits by groups of rows, which depend on each other.
type grouped struct {
	clusters map[int]*clusterErrors
}

type clusterErrors struct {
	rows    int64
	errors  []int64     // of each fit
	squares []exact.Sum // squared errors of each fit
}

func newClusterErrors(fits int) *clusterErrors {
	return &clusterErrors{errors: make([]int64, fits), squares: make([]exact.Sum, fits)}
}

func (g *grouped) of(group uint64, fits int) *clusterErrors {
	at := int(group % mostClusters)
	if g.clusters[at] == nil {
		g.clusters[at] = newClusterErrors(fits)
	}
	return g.clusters[at]
}

// stdErr returns the standard error of the mean of the squared errors of a fit, a ratio of sums of
// groups (Kish 1965), times what quantiles of Student's t are more than normal ones for few groups;
// 0 for fewer than two.
func (g *grouped) stdErr(fit int, mean float64) float64 {
	var rows, squares float64
	for _, at := range slices.Sorted(maps.Keys(g.clusters)) { // in one order
		c := g.clusters[at]
		d := c.squares[fit].Float64() - float64(mean*float64(c.rows))
		rows, squares = rows+float64(c.rows), squares+float64(d*d)
	}
	groups := float64(len(g.clusters))
	if groups < 2 {
		return 0
	}
	t := distuv.StudentsT{Sigma: 1, Nu: groups - 1}.Quantile(0.975) / distuv.UnitNormal.Quantile(0.975)
	return t * math.Sqrt(groups/(groups-1)*squares) / rows
}

func (g *grouped) merge(h *grouped) {
	for at, from := range h.clusters {
		to := g.of(uint64(at), len(from.errors))
		to.rows += from.rows
		for i := range from.squares {
			to.squares[i].Merge(&from.squares[i])
		}
		for i, n := range from.errors {
			to.errors[i] += n
		}
	}
}

// effective returns how many independent rows would give an error rate as certain as the error rate
// of the groups: as the variance of a ratio of sums of groups says (Kish 1965), with quantiles of
// Student's t for few groups. Without an error, or with nothing else, it is the number of groups.
func (g *grouped) effective(fit int) float64 {
	groups := float64(len(g.clusters))
	var rows, errors float64
	for _, c := range g.clusters {
		rows, errors = rows+float64(c.rows), errors+float64(c.errors[fit])
	}
	rate := errors / max(1, rows)
	if groups < 2 || rate == 0 || rate == 1 {
		return groups
	}
	var squares float64
	for _, at := range slices.Sorted(maps.Keys(g.clusters)) { // in one order
		c := g.clusters[at]
		d := float64(c.errors[fit]) - float64(rate*float64(c.rows))
		squares += float64(d * d)
	}
	design := max(1, groups/(groups-1)*squares/(rows*rate*(1-rate)))
	t := distuv.StudentsT{Sigma: 1, Nu: groups - 1}.Quantile(0.975)
	z := distuv.UnitNormal.Quantile(0.975)
	return rows / design * (z / t) * (z / t)
}

func (g *grouped) code(c *wire.Coder, fits int) {
	if c.Reading() {
		g.clusters = map[int]*clusterErrors{}
	}
	numbers := slices.Sorted(maps.Keys(g.clusters))
	wire.Each(c, &numbers, mostClusters, func(at *int) {
		*at = c.Int(*at, mostClusters-1)
		if c.Reading() {
			c.Check(g.clusters[*at] == nil)
			g.clusters[*at] = newClusterErrors(fits)
		}
		one := g.clusters[*at]
		c.Counts(&one.rows)
		for i := range fits {
			c.Counts(&one.errors[i])
			c.Part(&one.squares[i])
			c.Check(one.errors[i] <= one.rows && one.squares[i].Sign() >= 0)
		}
	})
}
