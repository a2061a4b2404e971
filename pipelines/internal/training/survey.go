package training

import (
	"cmp"
	"context"

	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
)

// survey counts the rows outside the first fold, and maps a sample of them to features, as far as the learner
// needs it.
func (r *rounds) survey(ctx context.Context) error {
	t := r.training
	p := t.Prepared
	l, folds := r.learner, r.folds
	scalesTargets := p.Target.Grid != nil && l.Common().Init == "" // otherwise initial weights determine the scale
	samples := l.Samples(p.Recipe.Dim)
	if folds == 0 && samples == 0 && !scalesTargets {
		r.rows, r.weights = p.Counts.Used, p.Weights()
		return nil
	}
	most := 0
	if l.Joint() {
		most = max(samples, 1000) // targets are scaled by the spread in the sample, too
	}
	sum, err := t.SurveyRows(ctx, folds, most)
	if err != nil {
		return err
	}
	r.weights = cmp.Or(sum.Result().Weights, p.Weights())
	if r.rows, err = t.LearnedFrom(sum, folds); err != nil {
		return err
	}
	var from, to *linear.TargetGrid
	if scalesTargets {
		from = &p.Target.Grid[0]
		to = iterative.SampleGrid(sum, *from)
		p.Target.Grid = linear.Grids{*to}
	}
	if samples > 0 {
		r.sample, err = t.sampled(sum, from, to, samples)
	}
	if err == nil && l.Joint() {
		r.sampleFile, err = t.KeepSample(ctx, iterative.EncodeSample(r.sample))
		r.sample = iterative.Block{}
	}
	return err
}

// sampled calls iterative.SampleFeatures with the feature map of the training run.
func (t *Training) sampled(sum *profile.Sum, from, to *linear.TargetGrid, most int) (iterative.Block, error) {
	recipe, err := t.Prepared.Recipe.Sealed.Open()
	if err != nil {
		return iterative.Block{}, err
	}
	m, err := recipe.New()
	if err != nil {
		return iterative.Block{}, err
	}
	return iterative.SampleFeatures(sum, m, from, to, most), nil
}
