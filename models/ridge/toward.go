package ridge

import "slices"

// Toward fits weights to few rows, shrunk toward the weights of more rows: the first λ of prior. For each
// strength κ > 0 they minimise
//
//	Σ(q − wᵀφ − b)² + κ(‖w − w₀‖² + (b − b₀)²)
//
// for each output over the rows of train, where w₀ and b₀ are the prior's (Evgeniou and Pontil 2004,
// Regularized multi-task learning, KDD). b is the intercept at features 0, or at Ranges.Centre. κ is in
// rows of the mean weight of the prior's rows. Without rows in train, the result is the prior.
func (e *Evaluator) Toward(train *Sum, prior *Fits, strengths []float64) []*Fits {
	d, k := e.shape.Dim, e.shape.Outputs
	all, intercept := make([]*Fits, len(strengths)), make([]float64, k)
	prior.system().intercept(intercept)
	e.each(len(strengths), func(y *system, i int) {
		all[i] = prior
		if train.head[0] == 0 {
			return
		}
		f := e.newFits(1)
		y.setSums(train, nil)
		pull := float64(strengths[i] * prior.rowWeight)
		// This is like κ more rows at z = 0 with target b₀.
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
