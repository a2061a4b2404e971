package search

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/parallel"
)

const (
	// Largest number of piecewise-linear columns, which are at most 1/piecewiseShare of all features.
	maxPiecewise   = 512
	piecewiseShare = 4
	// leastValues is the smallest number of distinct values of a column of a pair.
	leastValues = 20
	// pairColumns is the number of columns among which a pair is chosen.
	pairColumns = 5
	// pairRows is the largest number of rows used to choose a pair. The mean of the pairNeighbours
	// nearest rows predicts a row.
	pairRows       = 1500
	pairNeighbours = 8
	// firstPair is the first width of a pair's kernel to try, leastPair the smallest.
	firstPair = 1.0 / 8
	leastPair = 1.0 / 64
)

// pair is two columns of a view.
type pair struct {
	columns [2]int
	rows    *viewRows // only in these columns
}

// newPair returns the pair of these columns of the view.
func (s *viewRows) newPair(columns [2]int) *pair {
	n := len(s.x) / s.d
	p := &pair{columns, newEmptyRows(2)}
	p.rows.x = make([]float32, 2*n)
	for i := range n {
		for k, j := range columns {
			p.rows.x[2*i+k] = s.x[i*s.d+j]
		}
	}
	return p
}

// recipe returns the recipe of out features of the pair's kernel, for rows of d numbers.
func (p *pair) recipe(d, out int, width float64, seed uint64) features.Recipe {
	a := make(features.Floats, d)
	for _, j := range p.columns {
		a[j] = 1
	}
	return features.Chain{Steps: []features.Recipe{preprocess.DiagonalMetric{A: a},
		fourier.Gaussian{In: d, Out: out, Width: width, Seed: seed ^ pairSeed}}}
}

// pairSeed makes the frequencies of a pair independent of the main kernel's.
const pairSeed = 0x70616972 // "pair"

// numbers returns the columns with many distinct values that have the largest variance in the diagonal metric a,
// at most pairColumns of them.
func (s *viewRows) numbers(a []float32) []int {
	n := min(medianRows, len(s.x)/s.d)
	type column struct {
		index  int
		weight float64
	}
	var all []column
	values := make([]float32, n)
	for j := range s.d {
		var sum, squares float64
		for i := range values {
			v := s.x[i*s.d+j]
			values[i] = v
			sum += float64(v)
			squares += float64(float64(v) * float64(v))
		}
		slices.Sort(values)
		if len(slices.Compact(values)) < min(leastValues, n/2) {
			continue
		}
		mean := sum / float64(n)
		all = append(all, column{j, float64(a[j]) * float64(a[j]) * (squares/float64(n) - float64(mean*mean))})
		values = values[:n]
	}
	slices.SortStableFunc(all, func(a, b column) int { return cmp.Compare(b.weight, a.weight) })
	var out []int
	for _, c := range all[:min(len(all), pairColumns)] {
		out = append(out, c.index)
	}
	return out
}

// bestPair returns the two of the columns in which the nearest rows predict the labels best, among the rows
// train; nil if there are no two.
func (r *runner) bestPair(s *viewRows, columns, train []int) *pair {
	if len(train) > pairRows {
		train = train[:pairRows]
	}
	var all []*pair
	for i, a := range columns {
		for _, b := range columns[:i] {
			all = append(all, s.newPair([2]int{b, a}))
		}
	}
	errs := make([]float64, len(all))
	parallel.Ranges(len(all), 1, r.options.Threads, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			errs[i] = r.nearest(all[i].rows, train)
		}
	})
	var best *pair
	least := math.Inf(1)
	for i, e := range errs {
		if e < least {
			best, least = all[i], e
		}
	}
	return best
}

// nearest returns the mean squared error of predicting each row of train by the mean label of its nearest
// neighbours among the others. s has two columns.
func (r *runner) nearest(s *viewRows, train []int) float64 {
	var total float64
	var near [pairNeighbours]struct {
		distance float64
		row      int
	}
	k := min(pairNeighbours, len(train)-1)
	xs, ys := make([]float64, len(train)), make([]float64, len(train))
	for a, i := range train {
		xs[a], ys[a] = float64(s.x[2*i]), float64(s.x[2*i+1])
	}
	for a, i := range train {
		x, y := xs[a], ys[a]
		count, most := 0, math.Inf(1) // the distance of the last of k
		for b, u := range xs {
			u -= x
			v := ys[b] - y
			d := float64(u*u) + float64(v*v)
			if d >= most || b == a {
				continue
			}
			at := min(count, k-1)
			count = min(count+1, k)
			for ; at > 0 && near[at-1].distance > d; at-- {
				near[at] = near[at-1]
			}
			near[at].distance, near[at].row = d, train[b]
			if count == k {
				most = near[k-1].distance
			}
		}
		for c := range r.outputs {
			var mean float64
			for _, n := range near[:count] {
				mean += r.code(n.row, c)
			}
			e := mean/float64(max(count, 1)) - r.code(i, c)
			total += float64(e * e)
		}
	}
	return total / float64(len(train))
}

// pairs returns the pair of each fold's training rows in a view, and last the pair of all rows. weights are
// diagonal metrics in the same order. It returns nil if a fold has no pair.
func (r *runner) pairs(view string, weights []*learnedMetric, spec *trialSpec) ([]*pair, error) {
	v, out := r.views[view], make([]*pair, len(weights))
	for fold, m := range weights {
		if err := m.ready(); err != nil {
			return nil, err
		}
		d, ok := m.recipe.(preprocess.DiagonalMetric)
		if !ok {
			return nil, nil
		}
		out[fold] = r.bestPair(v, v.numbers(d.A), spec.trainOf(fold))
		if out[fold] == nil {
			return nil, nil
		}
		if _, err := out[fold].rows.median(kernel.Euclidean); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// addPair tries narrow kernels of two columns as additional features of the best candidate.
func (r *runner) addPair(ctx context.Context, candidates []*entry, spec *trialSpec) ([]*entry, error) {
	best := candidates[0]
	at := slices.IndexFunc(candidates, func(e *entry) bool {
		return e.View == best.View && e.Metric == diagonalMetric && e.judged != nil
	})
	if at < 0 {
		return candidates, nil
	}
	pairs, err := r.pairs(best.View, candidates[at].metric, spec)
	switch {
	case cannotFit(err) || err == nil && pairs == nil:
		return candidates, nil
	case err != nil:
		return candidates, err
	}
	parent := best
	for w := firstPair; w >= leastPair; w /= 2 {
		next := best.with(func(c *Candidate) { c.Pair = w })
		next.pairs = pairs
		if candidates, err = r.tryMore(ctx, candidates, []*entry{next}, spec); err != nil {
			return candidates, err
		}
		if next.judged == nil || !(next.mean() < parent.mean()) {
			break
		}
		parent = next
	}
	return candidates, nil
}

// addPiecewise tries piecewise-linear columns as additional features of the best two candidates that have some.
func (r *runner) addPiecewise(ctx context.Context, candidates []*entry, spec *trialSpec) ([]*entry, error) {
	var more []*entry
	for _, e := range candidates {
		if len(more) == 2 || e.judged == nil {
			break
		}
		next := e.with(func(c *Candidate) { c.PiecewiseLinear = true })
		if r.views[e.View].piecewise() != nil &&
			!slices.ContainsFunc(more, func(f *entry) bool { return f.kind() == next.kind() }) {
			more = append(more, next)
		}
	}
	return r.tryMore(ctx, candidates, more, spec)
}
