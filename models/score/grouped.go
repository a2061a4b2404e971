package score

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
)

// mostClusters is the number of clusters of groups, a power of two. More groups share clusters by their
// hashes.
const mostClusters = 1 << 12

// grouped sums the errors of several fits by cluster, where rows of a group depend on each other.
type grouped struct {
	By[int, clusterErrors, *clusterErrors]
}

type clusterErrors struct {
	rows    int64
	errors  []int64     // of each fit
	squares []exact.Sum // squared errors of each fit
}

func newGrouped(fits int) *grouped {
	return &grouped{NewBy[int](mostClusters, func() *clusterErrors {
		return &clusterErrors{errors: make([]int64, fits), squares: make([]exact.Sum, fits)}
	})}
}

// Merge adds the rows of d.
func (c *clusterErrors) Merge(d *clusterErrors) {
	c.rows += d.rows
	addCounts(c.errors, d.errors)
	MergeAll(c.squares, d.squares)
}

// Code codes the rows, and the sums of each fit.
func (c *clusterErrors) Code(w *wire.Coder) {
	w.Counts(&c.rows)
	for i := range c.errors {
		w.Counts(&c.errors[i])
		w.Part(&c.squares[i])
		w.Check(c.errors[i] <= c.rows && c.squares[i].Sign() >= 0)
	}
}

// spread returns the number of rows, and the sum over clusters of (value − rows·mean)², where of returns
// the value of a cluster.
func (g *grouped) spread(mean float64, of func(*clusterErrors) float64) (rows, squares float64) {
	for _, at := range g.Keys() { // in a fixed order
		c := g.Parts[at]
		d := of(c) - float64(mean*float64(c.rows))
		rows, squares = rows+float64(c.rows), squares+float64(d*d)
	}
	return rows, squares
}

// stdErr returns the standard error of the mean squared error of a fit, as a ratio of sums over groups
// (Kish 1965). For few groups it is enlarged by the ratio of a quantile of Student's t to the normal one.
// It is 0 for fewer than two groups.
func (g *grouped) stdErr(fit int, mean float64) float64 {
	groups := float64(len(g.Parts))
	if groups < 2 {
		return 0
	}
	rows, squares := g.spread(mean, func(c *clusterErrors) float64 { return c.squares[fit].Float64() })
	t := distuv.StudentsT{Sigma: 1, Nu: groups - 1}.Quantile(0.975) / distuv.UnitNormal.Quantile(0.975)
	return t * math.Sqrt(groups/(groups-1)*squares) / rows
}

// effective returns the number of independent rows that would give an error rate of the same precision,
// from the variance of a ratio of sums over groups (Kish 1965), with quantiles of Student's t. If no row is
// wrong, or all are, it is the number of groups.
func (g *grouped) effective(fit int) float64 {
	groups := float64(len(g.Parts))
	var rows, errors float64
	for _, c := range g.Parts {
		rows, errors = rows+float64(c.rows), errors+float64(c.errors[fit])
	}
	rate := errors / max(1, rows)
	if groups < 2 || rate == 0 || rate == 1 {
		return groups
	}
	_, squares := g.spread(rate, func(c *clusterErrors) float64 { return float64(c.errors[fit]) })
	design := max(1, groups/(groups-1)*squares/(rows*rate*(1-rate)))
	t := distuv.StudentsT{Sigma: 1, Nu: groups - 1}.Quantile(0.975)
	z := distuv.UnitNormal.Quantile(0.975)
	return rows / design * (z / t) * (z / t)
}

// code codes the clusters.
func (g *grouped) code(c *wire.Coder, fits int) {
	if c.Reading() {
		*g = *newGrouped(fits)
	}
	g.Code(c, func(at *int) { *at = c.Int(*at, mostClusters-1) })
}
