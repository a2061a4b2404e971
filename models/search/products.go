package search

import (
	"context"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/models/agop"
	"github.com/bochner-ml/bochner/models/search/pairs"
)

// unexplained is the share of the loss without features above which products looks for pairs.
const unexplained = 0.2

// pairRoot says how a metric follows from the pairs. Other columns keep more weight than in a learned metric.
var pairRoot = agop.Root{Floor: 0.1, Power: 1}

// products tries metrics of columns that matter only together, and then metrics learned from these, if the best
// candidate leaves much of the labels unexplained.
func (r *runner) products(ctx context.Context, candidates []*entry, spec *trialSpec) ([]*entry, error) {
	view := r.options.Views[0].Name
	best, smooth := candidates[0], r.plain(candidates, view)
	if best.judged == nil || smooth == nil || !(best.mean()/spec.scale > float64(unexplained*r.nullLoss(spec))) {
		return candidates, nil
	}
	metrics := make([]*learnedMetric, len(spec.train)+1)
	for fold := range metrics {
		weights := r.pairWeights(r.views[view], spec.trainOf(fold))
		if weights == nil || fold == 0 && r.weighs(candidates, view, weights) {
			return candidates, nil
		}
		d, err := pairRoot.Diagonal(weights)
		switch {
		case cannotFit(err):
			return candidates, nil
		case err != nil:
			return candidates, err
		}
		metrics[fold] = &learnedMetric{recipe: d}
	}
	var first []*entry
	for _, w := range firstWidths {
		c := Candidate{View: view, Kernel: smooth.Kernel, Width: w, Metric: diagonalMetric, Products: true}
		first = append(first, &entry{Candidate: c, start: coarse, metric: metrics})
	}
	if err := r.tryAll(ctx, first, spec); err != nil {
		return candidates, err
	}
	candidates = append(candidates, first...)
	order(first)
	var err error
	if first[0].judged != nil && first[0].mean() < roundRatio*best.mean() {
		kernels := r.kernelsFor(candidates, smooth, spec.exact)
		candidates, err = r.rounds(ctx, first[0], diagonalMetric, kernels, candidates, spec)
	}
	order(candidates)
	return candidates, err
}

// nullLoss returns the loss without features, divided by trialSpec.scale: 1, or the entropy of the classes in nats.
func (r *runner) nullLoss(spec *trialSpec) float64 {
	if r.grid != nil {
		return 1
	}
	counts, total := make([]float64, r.outputs), 0.0
	for _, i := range spec.allRows {
		counts[int(r.y[i])] += r.weights[i]
		total += r.weights[i]
	}
	var h float64
	for _, c := range counts {
		if c > 0 {
			h -= float64(c / total * math.Log(c/total))
		}
	}
	return h
}

// weighs reports whether the best diagonal metric in a view, if it does better than no metric, already stretches
// the columns that have most of the weights.
func (r *runner) weighs(candidates []*entry, view string, weights []float64) bool {
	best := func(metric string) int {
		return slices.IndexFunc(candidates, func(e *entry) bool {
			return e.judged != nil && e.View == view && e.Metric == metric
		})
	}
	at, plain := best(diagonalMetric), best(noMetric)
	if at < 0 || plain < 0 || !(candidates[at].mean() < roundRatio*candidates[plain].mean()) {
		return false
	}
	diagonal, ok := candidates[at].metric[0].recipe.(preprocess.DiagonalMetric)
	if !ok {
		return false
	}
	var all, known float64
	for j, w := range weights {
		all += w
		if diagonal.A[j] >= 1 {
			known += w
		}
	}
	return known >= float64(0.8*all)
}

// maxCodes is the largest number of codes of the classes.
const maxCodes = 3

// codes returns what products are aligned with: targets, codes ±1 of classes, or hashed codes 0, 1 of many classes.
func (r *runner) codes(train []int) [][]float32 {
	var out [][]float32
	number := 1
	if r.grid == nil {
		number = min(r.outputs-1, maxCodes)
	}
	for c := range number {
		y := make([]float32, len(train))
		for at, i := range train {
			switch {
			case r.grid != nil:
				y[at] = r.scaled[i]
			case r.outputs-1 <= maxCodes:
				y[at] = float32(r.code(i, c))
			default: // a class is a 1 in some of the combinations, by the digits of its number
				y[at] = float32(uint32(r.y[i]+1) * 0x9e3779b1 >> (31 - c) & 1)
			}
		}
		out = append(out, y)
	}
	return out
}

// pairWeights returns the weights of a view's columns from pairs, on the rows train; nil if there are none.
func (r *runner) pairWeights(s *viewRows, train []int) []float64 {
	train = train[:min(len(train), pairs.MaxRows)]
	return pairs.Weights(pairs.Rows{X: s.x, D: s.d, Indices: train}, r.codes(train), r.options.Threads)
}

// pairOfResiduals looks for two columns that matter only together in the residuals of the best candidate, where
// strong terms of other columns do not hide them. It tries the candidate with a Gaussian of these two. It does
// nothing if there are more than maxCodes+1 classes.
func (r *runner) pairOfResiduals(ctx context.Context, candidates []*entry, spec *trialSpec) ([]*entry, error) {
	best, residualPairs := candidates[0], make([]*pair, len(spec.train)+1)
	v := r.views[best.View]
	if best.judged == nil || best.Pair > 0 || r.outputs-1 > maxCodes || v.d < 3 {
		return candidates, nil
	}
	for fold, train := range spec.train {
		rows := train[:min(len(train), pairs.MaxRows)]
		left, err := r.residuals(best, fold, rows, spec)
		switch {
		case ctx.Err() != nil:
			return candidates, ctx.Err()
		case cannotFit(err):
			return candidates, nil
		case err != nil:
			return candidates, err
		}
		columns, ok := pairs.Best(pairs.Rows{X: v.x, D: v.d, Indices: rows}, left, r.options.Threads)
		if !ok {
			return candidates, nil
		}
		residualPairs[fold] = v.newPair(columns)
	}
	residualPairs[len(spec.train)] = residualPairs[0]
	next := best.with(func(c *Candidate) { c.Pair, c.InResiduals = 2*firstPair, true })
	next.pairs = residualPairs
	candidates, err := r.tryMore(ctx, candidates, []*entry{next}, spec)
	if err != nil || candidates[0] != next {
		return candidates, err
	}
	return r.climb(ctx, candidates, spec, 2, func(best Candidate) []Candidate {
		narrow, wide := best, best
		narrow.Pair, wide.Pair = best.Pair/2, best.Pair*2
		return []Candidate{narrow, wide}
	})
}

// residuals returns the codes of rows minus predictions by the candidate e, with the metric of a fold. Each half
// of the rows, every other one, is predicted by a fit to the other half.
func (r *runner) residuals(e *entry, fold int, rows []int, spec *trialSpec) ([][]float32, error) {
	residual := &entry{Candidate: e.Candidate}
	if e.metric != nil {
		residual.metric = e.metric[fold:]
	}
	var halves [2][]int
	for at, i := range rows {
		halves[at%2] = append(halves[at%2], i)
	}
	s, codes := r.borrow(), r.codes(rows)
	defer r.giveBack(s)
	for h, judged := range halves {
		half := *spec
		half.train, half.judge, half.steps = halves[1-h:][:1], halves[h:][:1], 0
		if _, err := (&foldTrial{r, residual, &half, 0, s, r.options.Threads}).run(e.start); err != nil {
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
