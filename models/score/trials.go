package score

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models/loss"
	"gonum.org/v1/gonum/stat/distuv"
)

// Trials sums the errors of several fits of one model on the same rows, without a confusion table for each.
// Create it with NewTrials. It is not safe for concurrent use.
type Trials struct {
	rows   int64
	weight int64 // number of rows, each as often as it counts
	fits   []trial
	groups *grouped // nil if rows are independent
}

// trial has the errors of one fit.
type trial struct {
	errors  int64      // rows that get a wrong class or none
	wrong   int64      // their weight
	finite  int64      // weight of the rows whose squared error fits in float32
	squares exact.Sum  // Σ of the squared errors of those rows
	fourth  exact.Sum  // Σ of the squares of the squared errors
	far     OutOfRange // for a single target
}

// NewTrials returns empty counts for a number of fits.
func NewTrials(fits int) *Trials { return &Trials{fits: make([]trial, fits)} }

// Grouped makes t, which must have no rows, count rows that belong to groups. It returns t.
func (t *Trials) Grouped() *Trials {
	t.groups = newGrouped(len(t.fits))
	return t
}

// Effective returns the number of independent rows that would give an error rate of the same precision as a
// fit's, if rows belong to groups; 0 otherwise.
func (t *Trials) Effective(fit int) float64 {
	if t.groups == nil || t.rows == 0 {
		return 0
	}
	return t.groups.effective(fit)
}

// AddClass counts a row of that class with the scores of all fits, one fit after the other. A row is
// assigned to the class with the largest score (the first of several), and its squared error is Σ(score −
// code)², with code 1 for its class and −1 for the others.
//
// The row counts repeats times. group is the hash of its group, for Grouped trials.
func (t *Trials) AddClass(class int, scores []float32, repeats int64, group uint64) {
	cluster := t.count(repeats, group)
	k := len(scores) / len(t.fits)
	for i := range t.fits {
		row := scores[i*k : (i+1)*k]
		best, square := 0, 0.0
		for c, s := range row {
			if s > row[best] {
				best = c
			}
			code := -1.0
			if c == class {
				code = 1
			}
			e := float64(s) - code
			square += float64(e * e)
		}
		finite := t.fits[i].add(square, repeats)
		if finite && cluster != nil {
			cluster.squares[i].Add64(square)
		}
		if !finite || best != class {
			t.fits[i].errors++
			if cluster != nil {
				cluster.errors[i]++
			}
			t.fits[i].wrong += repeats
		}
	}
}

// AddTargets counts a row with those targets and their scores, one fit after the other; see AddClass. Each
// target of each fit counts as a fit.
func (t *Trials) AddTargets(targets []float64, scores []float32, repeats int64, group uint64) {
	cluster := t.count(repeats, group)
	for i, s := range scores[:len(t.fits)] {
		e := float64(s) - targets[i%len(targets)]
		if square := float64(e * e); t.fits[i].add(square, repeats) && cluster != nil {
			cluster.squares[i].Add64(square)
		}
		t.fits[i].far.Add(float64(s))
	}
}

// count counts a row, and returns the cluster of its group; nil without groups.
func (t *Trials) count(repeats int64, group uint64) *clusterErrors {
	t.rows++
	t.weight += repeats
	if t.groups == nil {
		return nil
	}
	cluster := t.groups.Tally(int(group % maxClusters))
	cluster.rows++
	return cluster
}

// Clusters returns the number of clusters of groups; 0 if rows are independent. Many groups may share a
// cluster.
func (t *Trials) Clusters() int64 {
	if t.groups == nil {
		return 0
	}
	return int64(len(t.groups.Parts))
}

// OutOfRange returns the rows that a fit predicts far outside the range of the training targets.
func (t *Trials) OutOfRange(fit int) OutOfRange { return t.fits[fit].far }

// add adds a squared error, and reports whether it fits in float32.
func (t *trial) add(square float64, repeats int64) bool {
	if !(square <= math.MaxFloat32) {
		return false
	}
	t.finite += repeats
	t.squares.AddWeighted64(float32(repeats), square)
	t.fourth.AddWeightedSquare64(float32(repeats), square)
	return true
}

// Rows returns how many rows were counted.
func (t *Trials) Rows() int64 { return t.rows }

// Result returns the number of errors of a fit, and the weighted mean of its finite squared errors; 0 if there
// are none.
func (t *Trials) Result(fit int) (errors int64, mse float64) {
	f := &t.fits[fit]
	return f.errors, exact.Mean(f.finite, &f.squares)
}

// StdErr returns the standard error of the mean squared error of a fit, for independent rows or groups. It
// is 0 for fewer than two rows or groups, or if some rows do not count exactly once.
func (t *Trials) StdErr(fit int) float64 {
	f := &t.fits[fit]
	if f.finite < 2 || t.Weighted() {
		return 0
	}
	if t.groups != nil {
		return t.groups.stdErr(fit, exact.Mean(f.finite, &f.squares))
	}
	_, variance := exact.Moments(f.finite, &f.squares, &f.fourth)
	return math.Sqrt(max(0, variance) / float64(f.finite-1))
}

// Error returns the error rate of a fit by weight; 0 without rows.
func (t *Trials) Error(fit int) float64 { return ratio(t.fits[fit].wrong, t.weight) }

// Weighted reports whether some rows do not count exactly once.
func (t *Trials) Weighted() bool { return t.weight != t.rows }

// Code implements wire.Coded.
func (t *Trials) Code(c *wire.Coder) {
	c.Counts(&t.rows, &t.weight)
	wire.Each(c, &t.fits, math.MaxInt32, func(f *trial) {
		c.Counts(&f.errors, &f.wrong, &f.finite)
		c.Part(&f.squares, &f.fourth)
		f.far.Code(c)
		c.Check(f.fourth.Sign() >= 0 && f.errors <= t.rows && max(f.wrong, f.finite) <= t.weight && f.squares.Sign() >= 0 &&
			(f.finite > 0 || f.squares.IsZero()))
	})
	wire.Optional(c, &t.groups, func(g *grouped) {
		if c.Reading() {
			*g = *newGrouped(len(t.fits))
		}
		g.Code(c)
	})
}

// maxClusters is the number of clusters of groups, a power of two. More groups share clusters by their
// hashes.
const maxClusters = 1 << 12

// grouped sums the errors of several fits by cluster, where rows of a group depend on each other.
type grouped struct {
	Keyed[int, *clusterErrors]
}

type clusterErrors struct {
	rows    int64
	errors  []int64     // of each fit
	squares []exact.Sum // squared errors of each fit
}

func newGrouped(fits int) *grouped {
	return &grouped{NewKeyed(maxClusters, codeCluster, func() *clusterErrors {
		return &clusterErrors{errors: make([]int64, fits), squares: make([]exact.Sum, fits)}
	})}
}

// Code implements wire.Coded.
func (c *clusterErrors) Code(w *wire.Coder) {
	w.Counts(&c.rows)
	for i := range c.errors {
		w.Counts(&c.errors[i])
		w.Part(&c.squares[i])
		w.Check(c.errors[i] <= c.rows && c.squares[i].Sign() >= 0)
	}
}

// codeCluster codes the number of a cluster.
func codeCluster(c *wire.Coder, at *int) { *at = c.Int(*at, maxClusters-1) }

// spread returns the number of rows, and the sum over clusters of (value − rows·mean)², where value returns
// the value of a cluster.
func (g *grouped) spread(mean float64, value func(*clusterErrors) float64) (rows, squares float64) {
	for _, at := range g.Keys() { // in a fixed order
		c := g.Parts[at]
		d := value(c) - float64(mean*float64(c.rows))
		rows += float64(c.rows)
		squares += float64(d * d)
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
		rows += float64(c.rows)
		errors += float64(c.errors[fit])
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

// LogLosses sums the log losses of several fits of one classifier on the same rows. The probabilities of a
// fit with scores s are
//
//	p_c = exp(β·s_c) / Σ_j exp(β·s_j)
//
// Its log loss is the mean of −log p of the rows' classes, with the best β of loss.SoftmaxFactors.
// Create it with NewLogLosses. It is not safe for concurrent use.
type LogLosses struct {
	rows int64
	fits []lossSums
}

// lossSums are the sums of one fit.
type lossSums struct {
	finite int64 // rows whose scores are finite
	sums   [len(loss.SoftmaxFactors)]exact.Sum
}

// NewLogLosses returns empty sums for a number of fits.
func NewLogLosses(fits int) *LogLosses { return &LogLosses{fits: make([]lossSums, fits)} }

// Add adds a number of equal rows of a class with the scores of all fits, one fit after the other. The log
// loss of a row is rounded to float32, and at most the largest float32.
func (l *LogLosses) Add(class int, scores []float32, rows int64) {
	l.rows += rows
	k := len(scores) / len(l.fits)
	for i := range l.fits {
		f, row := &l.fits[i], scores[i*k:(i+1)*k]
		if !exact.AllFinite(row) {
			continue
		}
		f.finite += rows
		most := float64(slices.Max(row))
		for b, beta := range loss.SoftmaxFactors {
			// −log p = log Σ exp(β(s_j − max)) − β(s_c − max)
			v := loss.Log(loss.SumExp(row, most, beta)) - float64(beta*(float64(row[class])-most))
			f.sums[b].AddProduct(float32(rows), float32(min(v, math.MaxFloat32)))
		}
	}
}

// Best returns the log loss of a fit and its best factor β. The loss is +Inf if the fit has scores that are not
// finite, or if there are no rows.
func (l *LogLosses) Best(fit int) (logLoss, factor float64) {
	f := &l.fits[fit]
	logLoss = math.Inf(1)
	if f.finite < l.rows || l.rows == 0 {
		return logLoss, 0
	}
	for b := range f.sums {
		if v := exact.Mean(l.rows, &f.sums[b]); v < logLoss {
			logLoss, factor = v, loss.SoftmaxFactors[b]
		}
	}
	return logLoss, factor
}

// Code implements wire.Coded.
func (l *LogLosses) Code(c *wire.Coder) {
	c.Counts(&l.rows)
	wire.Each(c, &l.fits, math.MaxInt32, func(f *lossSums) {
		c.Counts(&f.finite)
		for i := range f.sums {
			c.Part(&f.sums[i])
			c.Check(f.sums[i].Sign() >= 0 && (f.finite > 0 || f.sums[i].IsZero()))
		}
		c.Check(f.finite <= l.rows)
	})
}
