package search

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
)

// Numbers of candidates that are tried on the next rung, in addition to the default.
const (
	maxSurvivors = 4
	maxFinalists = 3
)

// finalists returns the candidates for the last rung besides the default: the best ones that differ in more than
// widths and rounds and have losses not far from the smallest.
func (r *runner) finalists(candidates []*trialled) (out []*trialled) {
	kind := func(e *trialled) Candidate {
		c := e.kind()
		c.Rounds = 0
		return c
	}
	for _, e := range candidates {
		if len(out) < maxFinalists && e.judged != nil && e.mean() <= maxLossRatio*candidates[0].mean() &&
			!slices.ContainsFunc(out, func(o *trialled) bool { return kind(o) == kind(e) }) {
			out = append(out, e)
		}
	}
	return out
}

// survivors returns the candidates for the second rung besides the default: the best, the best of each family, the best
// smooth one in the view of the best, and then others by their loss until there are maxSurvivors. At most two
// differ only in width.
func (r *runner) survivors(candidates []*trialled) (out []*trialled) {
	count := map[Candidate]int{}
	families := map[string]bool{}
	smooth := false
	take := func(e *trialled) {
		if e.judged == nil || slices.Contains(out, e) || count[e.kind()] == 2 {
			return
		}
		count[e.kind()]++
		out = append(out, e)
	}
	for _, e := range candidates {
		family := r.kernels[e.Kernel].family
		if !families[family] {
			take(e)
		}
		families[family] = true
		if !smooth && e.View == candidates[0].View && r.smooth(e) {
			take(e)
			smooth = true
		}
	}
	for _, e := range candidates {
		if len(out) < maxSurvivors {
			take(e)
		}
	}
	return out
}

// order sorts candidates by their losses; failed ones come last.
func order(candidates []*trialled) {
	loss := func(e *trialled) float64 {
		if e.judged == nil {
			return math.Inf(1)
		}
		return e.mean()
	}
	slices.SortStableFunc(candidates, func(a, b *trialled) int { return cmp.Compare(loss(a), loss(b)) })
}

const (
	// simplerMargin is the number of standard errors by which a simpler candidate may be worse than the best.
	simplerMargin = 0.5
	// With fewer than fewRows rows only kernels and widths are tried, and a candidate replaces the default only if it
	// is better by more than two standard errors.
	fewRows = 200
)

// simplest returns the simplest candidate whose loss is within half a standard error of the smallest; of equally
// simple ones, the best. The candidates are ordered by their losses. With few rows it prefers the default (see
// fewRows), because the best of many candidates is good by chance.
func (r *runner) simplest(candidates []*trialled) *trialled {
	best := candidates[0]
	if r.pilot.N < fewRows && r.standard.judged != nil && best.judged != nil {
		if by, se := worse(r.standard.judged, best.judged); by <= 2*se {
			return r.standard
		}
	}
	chosen := best
	for _, e := range candidates[1:] {
		if e.judged == nil || e.complexity() >= chosen.complexity() {
			continue
		}
		if by, se := worse(e.judged, best.judged); by <= simplerMargin*se {
			chosen = e
		}
	}
	return chosen
}

// narrowest returns the candidate with the smallest width among those that differ from chosen only in width, are
// at least half as wide, and are within a standard error of its loss: with more rows than a pilot has, the best
// width is smaller.
func (r *runner) narrowest(candidates []*trialled, chosen *trialled) *trialled {
	best := chosen
	for _, e := range candidates {
		c := chosen.Candidate
		c.Width = e.Width
		if e.judged == nil || e.Candidate != c || e.Width >= best.Width || 2*e.Width < chosen.Width*(1-1e-9) {
			continue
		}
		if by, se := worse(e.judged, chosen.judged); by <= se {
			best = e
		}
	}
	return best
}

// Candidates with widths outside these limits, in median distances, are confirmed with random features. Their kernel
// matrices are nearly the identity or nearly constant, and random features do not approximate the difference.
const (
	narrow = 1. / 3
	wide   = 6.
	// maxDrawn is the largest number of features of a kernel matrix; drawnBlock of them are multiplied at a time.
	maxDrawn   = 4096
	drawnBlock = 512
)

// unusual reports whether a width is outside the limits.
func unusual(width float64) bool { return width < narrow || width > wide }

// confirm returns chosen, or another candidate that does better with as many random features as the model has.
// With few rows, candidates are tried with exact kernels. If the width of chosen is unusual, confirm compares it
// with the best candidate of a usual width and with the default, all with random features and by the rule of
// simplest. The trial of the default is replaced too, so that the two trials of the result are comparable.
func (r *runner) confirm(ctx context.Context, candidates []*trialled, chosen *trialled, rung *rung) (*trialled, error) {
	if !rung.exact || chosen.judged == nil || !unusual(chosen.Width) {
		return chosen, nil
	}
	drawn := *rung
	drawn.drawn, drawn.features = true, min(kernel.Count(r.options.Features), maxDrawn)
	same := func(e *trialled) *trialled {
		next := *e
		next.start = coarse
		return &next
	}
	standard := same(r.standard)
	all := []*trialled{same(chosen), standard}
	usual := slices.IndexFunc(candidates, func(e *trialled) bool {
		return e.judged != nil && !unusual(e.Width) && e != r.standard
	})
	if usual >= 0 {
		all = append(all, same(candidates[usual]))
	}
	r.spare = nil // memory for other sizes
	if err := r.tryAll(ctx, all, &drawn); err != nil {
		return chosen, err
	}
	order(all)
	if all[0].judged == nil {
		return chosen, nil
	}
	r.standard = standard
	return r.simplest(all), nil
}

// drawMatrix sets the kernel matrix to the inner products of the recipe's features of the rows of x.
func (t *foldTrial) drawMatrix(recipe features.Recipe, x *viewData) error {
	made, err := recipe.New()
	if err != nil {
		return err
	}
	rows := t.rung.rows
	n := len(rows.rows)
	_, out := made.Dims()
	phi := make([]float32, n*out)
	made.Apply(phi, rows.gather(x.x, x.d), n)
	matrix := &kernelMatrix{rows, n, grow(&t.memory.all, triangle(n))}
	clear(matrix.K)
	block := make([]float32, n*min(out, drawnBlock))
	for lo := 0; lo < out; lo += drawnBlock {
		d := min(drawnBlock, out-lo)
		for i := range n {
			copy(block[i*d:(i+1)*d], phi[i*out+lo:(i+1)*out])
		}
		matrix.addProducts(block[:n*d], d, t.threads)
	}
	t.e.matrix = matrix
	return nil
}

// drawnBytes bounds the memory of drawMatrix for n rows, without the matrix itself.
func drawnBytes(n int64) int64 {
	return n * (4*(maxDrawn+maxPiecewise) + 12*drawnBlock + 8*productRows)
}
