package search

import (
	"context"

	"github.com/bochner-ml/bochner/models/search/pairs"
)

// pairOfResiduals looks for two columns that matter only together in the residuals of the best candidate, where
// strong terms of other columns do not hide them. It tries the candidate with a Gaussian of these two. It does
// nothing if there are more than mostCodes+1 classes.
func (r *runner) pairOfResiduals(ctx context.Context, field []*entry, l *level) ([]*entry, error) {
	best, found := field[0], make([]*pair, len(l.train)+1)
	v := r.views[best.View]
	if best.judged == nil || best.Pair > 0 || r.outputs-1 > mostCodes || v.d < 3 {
		return field, nil
	}
	for part, train := range l.train {
		rows := train[:min(len(train), pairs.MaxRows)]
		left, err := r.residuals(best, part, rows, l)
		if err != nil || ctx.Err() != nil {
			return field, ctx.Err()
		}
		columns, ok := pairs.Best(pairs.Rows{X: v.x, D: v.d, Of: rows}, left, r.options.Threads)
		if !ok {
			return field, nil
		}
		found[part] = v.newPair(columns)
	}
	found[len(l.train)] = found[0]
	next := best.with(func(c *Candidate) { c.Pair, c.InResiduals = 2*firstPair, true })
	next.pairs = found
	if err := r.tryAll(ctx, []*entry{next}, l); err != nil {
		return field, err
	}
	field = append(field, next)
	if order(field); field[0] != next {
		return field, nil
	}
	return r.climb(ctx, field, l, 2, func(best Candidate) []Candidate {
		narrow, wide := best, best
		narrow.Pair, wide.Pair = best.Pair/2, best.Pair*2
		return []Candidate{narrow, wide}
	})
}

// residuals returns the codes of rows minus predictions by the candidate e, with the metric of a part. Each half
// of the rows, every other one, is predicted by a fit to the other half.
func (r *runner) residuals(e *entry, part int, rows []int, l *level) ([][]float32, error) {
	of := &entry{Candidate: e.Candidate}
	if e.metric != nil {
		of.metric = e.metric[part:]
	}
	var halves [2][]int
	for at, i := range rows {
		halves[at%2] = append(halves[at%2], i)
	}
	s, codes := r.take(), r.codes(rows)
	defer r.give(s)
	for h, judged := range halves {
		half := *l
		half.train, half.judge, half.steps = halves[1-h:][:1], halves[h:][:1], 0
		if _, err := r.part(of, &half, 0, e.start, s, r.options.Threads); err != nil {
			return nil, err
		}
		for c, y := range codes {
			for at := range judged {
				y[2*at+h] -= s.scores[at*r.outputs+c]
			}
		}
	}
	return codes, nil
}
