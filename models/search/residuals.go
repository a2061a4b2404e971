package search

import (
	"context"
	"slices"

	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/models/search/pairs"
)

// missedWidth is the width of a pair found in residuals that is tried first, missedSteps how often it is changed.
const (
	missedWidth = 1.0 / 4
	missedSteps = 2
)

// missed looks for two columns that matter only together in the residuals of the best candidate, where strong terms
// of other columns do not hide them, and tries a Gaussian of these two beside the candidate.
func (r *runner) missed(ctx context.Context, field []*entry, l *level) ([]*entry, error) {
	best := field[0]
	if best.judged == nil {
		return field, nil
	}
	found := make([]*pair, len(l.train)+1)
	for part := range found {
		if found[part] = r.missedPair(best, part, l); found[part] == nil || ctx.Err() != nil {
			return field, ctx.Err()
		}
	}
	next := best.with(func(c *Candidate) { c.Pair, c.Missed = missedWidth, true })
	next.pairs = found
	if err := r.tryAll(ctx, []*entry{next}, l); err != nil {
		return field, err
	}
	field = append(field, next)
	order(field)
	if field[0] != next {
		return field, nil
	}
	return r.climb(ctx, field, l, missedSteps, func(best Candidate) (next []Candidate) {
		for _, factor := range []float64{0.5, 2} {
			c := best
			c.Pair *= factor
			next = append(next, c)
		}
		return next
	})
}

// missedPair returns the two columns that residuals of a candidate depend on, by the training rows of a part, or of
// all parts for the one after the last; nil if there are none.
func (r *runner) missedPair(e *entry, part int, l *level) *pair {
	train := l.whole
	if part < len(l.train) {
		train = l.train[part]
	}
	rows := slices.DeleteFunc(slices.Clone(train), func(row int) bool {
		_, has := slices.BinarySearch(l.rows.rows, row)
		return !has
	})
	rows = rows[:min(len(rows), pairs.MaxRows)]
	left, err := r.residuals(e, part, rows, l)
	if err != nil {
		return nil
	}
	v := r.views[e.View]
	columns, ok := pairs.Best(pairs.Rows{X: v.x, D: v.d, Of: rows}, left, r.options.Threads)
	if !ok {
		return nil
	}
	p := v.newPair(columns)
	if _, err := p.rows.median(kernel.Euclidean); err != nil {
		return nil
	}
	return p
}

// residuals returns the codes of rows minus their predictions by a candidate with the metric of a part, fitted to every
// other row.
func (r *runner) residuals(e *entry, part int, rows []int, l *level) ([][]float32, error) {
	of := &entry{Candidate: e.Candidate}
	if e.metric != nil {
		if err := e.metric[part].ready(); err != nil {
			return nil, err
		}
		of.metric = e.metric[part : part+1]
	}
	var halves [2][]int
	for at, i := range rows {
		halves[at%2] = append(halves[at%2], i)
	}
	s := r.take()
	defer r.give(s)
	codes := r.codes(rows)
	for h, judged := range halves {
		half := *l
		half.train, half.judge, half.steps = halves[1-h:][:1], halves[h:][:1], 0
		if _, err := r.part(of, &half, 0, e.start, s, r.options.Threads); err != nil {
			return nil, err
		}
		for c, y := range codes {
			for at := range judged {
				y[2*at+h] -= r.predicted(s.scores[at*r.outputs:(at+1)*r.outputs], c)
			}
		}
	}
	return codes, nil
}
