package ridge

import "slices"

// Toward fits weights to few rows that are shrunk toward those of more rows, which prior has for one λ. For each
// strength κ > 0 they minimise
//
//	Σ(q − wᵀφ − b)² + κ(‖w − w₀‖² + (b − b₀)²)
//
// for each output, over the rows of train, with w₀ and b₀ of prior (Evgeniou and Pontil 2004, Regularized
// multi-task learning, KDD). b is the intercept where features are 0, or at Ranges.Centre. κ counts as so many rows;
// rows of other weights than those of prior count by their weights. Without rows in train, all are the prior.
func (e *Evaluator) Toward(train *Sum, prior *Fits, strengths []float64) []*Fits {
	d, k := e.shape.Dim, e.shape.Outputs
	all, intercept := make([]*Fits, len(strengths)), make([]float64, k)
	prior.system().intercept(intercept)
	e.each(len(strengths), func(y *system, i int) {
		if all[i] = prior; train.head[0] == 0 {
			return
		}
		f := e.newFits(1)
		y.leave(train, nil)
		pull := float64(strengths[i] * prior.rowWeight)
		// As many rows at z = 0 have b₀ for a target.
		y.n += pull
		for c, b := range intercept {
			y.outSum[c] += float64(pull * b)
		}
		y.CentreTiles(y.Tiles(), train.tiles, nil, y.colSum, y.n)
		y.rightSides(train, nil)
		pull /= e.problem.Step * e.problem.Step
		for j, r := range y.Ridge {
			for c := range k {
				y.v[j*k+c] += float64(pull * float64(r*prior.vt[c*d+j]))
			}
		}
		_, ok := y.SolveTiles(y.Tiles(), y.v, k, pull)
		f.keep(0, y, ok)
		f.rows = &system{shape: e.shape, n: y.n, colSum: slices.Clone(y.colSum), outSum: slices.Clone(y.outSum),
			each: e.factors, ranges: e.problem.Ranges}
		all[i] = f
	})
	return all
}
