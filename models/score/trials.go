package score

import (
	"math"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
)

// Trials measures how several fits of one model do on the same rows, without a table of
// classes for each. Create it with NewTrials. It is not safe for concurrent use.
type Trials struct {
	rows   int64
	weight int64 // of the rows, their number if each counts once
	fits   []trial
	groups *grouped // of rows; nil if rows are independent
}

// trial is the result of one fit.
type trial struct {
	errors  int64     // rows that get another class than their own, or none
	wrong   int64     // their weight
	finite  int64     // weight of the rows whose squared error is in the range of float32
	squares exact.Sum // of those
	fourth  exact.Sum // squares of the squared errors
	far     Far       // of a target
}

// NewTrials returns empty counts for that many fits.
func NewTrials(fits int) *Trials { return &Trials{fits: make([]trial, fits)} }

// Grouped makes t, of no rows, count rows that belong to groups, and returns it.
func (t *Trials) Grouped() *Trials {
	t.groups = newGrouped(len(t.fits))
	return t
}

// Effective returns how many independent rows would give an error rate as certain as a fit's,
// where rows belong to groups; 0 where they do not.
func (t *Trials) Effective(fit int) float64 {
	if t.groups == nil || t.rows == 0 {
		return 0
	}
	return t.groups.effective(fit)
}

// AddClass counts a row of that class with the scores of all fits, one fit after the
// other. A row is assigned the class of the largest score, the first of several, and its
// squared error is Σ(score − code)², with the code 1 for its class and −1 for the others.
//
// The row counts as often as repeats says, its weight on a grid, or once. Its group, given by its
// hash, matters for Grouped trials.
func (t *Trials) AddClass(class int, scores []float32, repeats int64, group uint64) {
	of := t.count(repeats, group)
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
		if finite && of != nil {
			of.squares[i].Add64(square)
		}
		if !finite || best != class {
			t.fits[i].errors++
			if of != nil {
				of.errors[i]++
			}
			t.fits[i].wrong += repeats
		}
	}
}

// AddTargets counts a row with those targets, and the score of each of them by one fit after
// the other, as AddClass does. Each target of each fit is a fit of its own here.
func (t *Trials) AddTargets(targets []float64, scores []float32, repeats int64, group uint64) {
	of := t.count(repeats, group)
	for i, s := range scores[:len(t.fits)] {
		e := float64(s) - targets[i%len(targets)]
		if square := float64(e * e); t.fits[i].add(square, repeats) && of != nil {
			of.squares[i].Add64(square)
		}
		t.fits[i].far.Add(float64(s))
	}
}

// count counts a row, and returns the cluster of its group, nil without groups.
func (t *Trials) count(repeats int64, group uint64) *clusterErrors {
	t.rows, t.weight = t.rows+1, t.weight+repeats
	if t.groups == nil {
		return nil
	}
	of := t.groups.Of(int(group % mostClusters))
	of.rows++
	return of
}

// Clusters returns the number of groups of rows, of which many may count as one; 0 if rows are independent.
func (t *Trials) Clusters() int64 {
	if t.groups == nil {
		return 0
	}
	return int64(len(t.groups.Parts))
}

// Far returns the rows that a fit predicts far outside of the targets.
func (t *Trials) Far(fit int) Far { return t.fits[fit].far }

// add adds a squared error, and reports whether it could.
func (t *trial) add(square float64, repeats int64) bool {
	if !(square <= math.MaxFloat32) {
		return false
	}
	t.finite += repeats
	if repeats == 1 {
		t.squares.Add64(square)
		t.fourth.AddSquare64(square)
	} else {
		t.squares.AddWeighted64(float32(repeats), square)
		t.fourth.AddWeightedSquare64(float32(repeats), square)
	}
	return true
}

// Rows returns how many rows were counted.
func (t *Trials) Rows() int64 { return t.rows }

// Of returns the errors of a fit and its mean squared error over the rows where that is
// finite, by weight, 0 if there are none.
func (t *Trials) Of(fit int) (errors int64, mse float64) {
	f := &t.fits[fit]
	return f.errors, exact.Mean(f.finite, &f.squares)
}

// StdErr returns the standard error of the mean squared error of a fit, of rows or groups that are
// independent; 0 for fewer than two, or where rows count other than once.
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

// Error returns the share of the errors of a fit by weight, 0 without rows.
func (t *Trials) Error(fit int) float64 { return ratio(t.fits[fit].wrong, t.weight) }

// Weighted reports whether rows count other than once.
func (t *Trials) Weighted() bool { return t.weight != t.rows }

// Merge adds the rows of u, counted for the same fits.
func (t *Trials) Merge(u *Trials) {
	t.rows, t.weight = t.rows+u.rows, t.weight+u.weight
	if t.groups != nil && u.groups != nil {
		t.groups.Merge(&u.groups.By)
	}
	for i := range t.fits {
		t.fits[i].wrong += u.fits[i].wrong
		t.fits[i].errors += u.fits[i].errors
		t.fits[i].finite += u.fits[i].finite
		t.fits[i].squares.Merge(&u.fits[i].squares)
		t.fits[i].fourth.Merge(&u.fits[i].fourth)
		t.fits[i].far.Merge(&u.fits[i].far)
	}
}

// Code codes the rows, their weight, the counts and the sum of each fit, and the groups if there are any.
func (t *Trials) Code(c *wire.Coder) {
	c.Counts(&t.rows, &t.weight)
	wire.Each(c, &t.fits, math.MaxInt32, func(f *trial) {
		c.Counts(&f.errors, &f.wrong, &f.finite)
		c.Part(&f.squares, &f.fourth)
		f.far.Code(c)
		c.Check(f.fourth.Sign() >= 0 && f.errors <= t.rows && max(f.wrong, f.finite) <= t.weight && f.squares.Sign() >= 0 &&
			(f.finite > 0 || f.squares.IsZero()))
	})
	wire.Optional(c, &t.groups, func(g *grouped) { g.code(c, len(t.fits)) })
}
