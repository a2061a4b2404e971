package search

import (
	"context"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/landmarks"
)

const (
	// landmarkFeatures is the largest number of features for comparing landmarks with random features if there are too
	// many rows for exact kernels. With half as many, tables that landmarks would improve do not get them.
	landmarkFeatures = 2048
	// landmarkWidths is the number of widths to try with landmarks, each half of the one before: inner products of
	// kernel values are smoother than the kernel.
	landmarkWidths = 3
	// landmarkShare bounds the number of landmarks, as a share of the rows that they are drawn from. With more, λ is
	// hard to choose: a fit to four fifths of all rows has as many rows as landmarks, where test errors peak (double
	// descent), but a fit to all rows has more.
	landmarkShare = 0.8
	// landmarkColumns is the largest row length for landmarks: their distances take longer than random features.
	landmarkColumns = 256
)

// landmarks returns the best variant of chosen with landmarks (package landmarks) if its loss is more than half a
// standard error below the loss of as many random features; otherwise chosen. Random features approximate a
// narrow kernel badly unless there are many more of them than rows.
func (r *runner) landmarks(ctx context.Context, chosen *trialled, rung *rung) (*trialled, error) {
	if !r.options.Landmarks || chosen.judged == nil || r.pilot.N < fewRows || r.views[chosen.View].d > landmarkColumns {
		return chosen, nil
	}
	recipe, err := recipeOf(r.kernels[chosen.Kernel].options, 1, leastMain, 1, 0)
	if err != nil || fourier.RadialOf(recipe) == nil {
		return chosen, err
	}
	at := *rung
	at.steps = 1
	at.features = min(kernel.Count(r.options.Features), landmarkFeatures)
	if rung.exact {
		at.drawn, at.features = true, min(kernel.Count(r.options.Features), maxDrawn)
	}
	r.spare = nil // memory for other sizes
	random := chosen.with(func(*Candidate) {})
	if err := r.tryAll(ctx, []*trialled{random}, &at); err != nil {
		return chosen, err
	}
	best, err := r.atLandmarks(ctx, chosen, &at)
	if err != nil || random.judged == nil || best == nil {
		return chosen, err
	}
	if by, se := worse(random.judged, best.judged); by > simplerMargin*se {
		return best, nil
	}
	return chosen, nil
}

// atLandmarks returns the best variant of chosen with landmarks, with its width or a smaller one. It stops when a
// smaller width does not lower the loss. best is nil if the first variant cannot be fitted.
func (r *runner) atLandmarks(ctx context.Context, chosen *trialled, rung *rung) (best *trialled, err error) {
	start := coarse[:3]
	for i, width := 0, chosen.Width; i < landmarkWidths; i, width = i+1, width/2 {
		e := chosen.with(func(c *Candidate) { c.Width, c.Landmarks = width, true })
		e.start = start
		if err := r.tryAll(ctx, []*trialled{e}, rung); err != nil || e.judged == nil {
			return best, err
		}
		if best != nil && !(e.mean() < best.mean()) {
			break
		}
		best, start = e, []float64{e.trial.Lambda}
	}
	return best, nil
}

// maxLandmarks returns the largest number of landmarks, given the numbers of features and rows; at least 1.
func maxLandmarks(features, rows int) int {
	return max(1, min(features, int(landmarkShare*float64(rows))))
}

// chooseLandmarks returns the recipe of a kernel at landmarks: the first distinct ones of the given rows, at most as
// many as the kernel has features.
func (v *viewData) chooseLandmarks(main features.Recipe, rows []int) (landmarks.Recipe, error) {
	_, out, err := features.Dims(main)
	if err != nil {
		return landmarks.Recipe{}, err
	}
	points := landmarks.Distinct((&radialRows{rows: rows}).gather(v.x, v.d), len(rows), v.d,
		maxLandmarks(out, len(rows)))
	return landmarks.RecipeOf(main, points)
}

// finishLandmarks draws landmarks from all rows of the pilot. It stores them and their recipe, without a kernel,
// in the result.
func (r *runner) finishLandmarks(to *Result, x *viewData) (err error) {
	points := landmarks.Distinct(x.x, r.pilot.N, x.d, maxLandmarks(kernel.Count(r.options.Features), r.pilot.N))
	if to.Landmarks, err = landmarks.Encode(points); err != nil {
		return err
	}
	at, err := landmarks.RecipeOf(nil, points)
	to.Joined.Landmarks = &at
	return err
}
