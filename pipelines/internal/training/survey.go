package training

import (
	"cmp"
	"context"

	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
)

// surveyed has the number of rows to learn from, and a sample of them.
type surveyed struct {
	rows    int64
	weights *profile.Weights // of those rows
	sample  iterative.Block  // the sample as features
	file    string           // name of the file with the sample, for a joint learner
}

// survey counts the rows outside the first fold, and maps a sample of them to features, as far as the learner
// needs it.
func (r *rounds) survey(ctx context.Context) (*surveyed, error) {
	t := r.training
	p := t.Prepared
	l, folds := r.learner, r.folds
	scalesTargets := p.Target.Grid != nil && l.Common().Init == "" // otherwise initial weights determine the scale
	samples := l.Needs(iterative.Size{Features: p.Recipe.Dim}).Sample
	if folds == 0 && samples == 0 && !scalesTargets {
		return &surveyed{rows: p.Counts.Used, weights: p.Weights()}, nil
	}
	most := 0
	if l.Joint() {
		most = max(samples, 1000) // targets are scaled by the spread in the sample, too
	}
	sum, err := t.SurveyRows(ctx, folds, most)
	if err != nil {
		return nil, err
	}
	s := &surveyed{weights: cmp.Or(sum.Result().Weights, p.Weights())}
	if s.rows, err = t.LearnedFrom(sum, folds); err != nil {
		return nil, err
	}
	var from, to *linear.TargetGrid
	if scalesTargets {
		from = &p.Target.Grid[0]
		to = iterative.SampleGrid(sum, *from)
		p.Target.Grid = linear.Grids{*to}
	}
	if samples > 0 {
		s.sample, err = t.sampled(sum, from, to, samples)
	}
	if err == nil && l.Joint() {
		s.file, err = t.KeepSample(ctx, iterative.EncodeSample(s.sample))
		s.sample = iterative.Block{}
	}
	return s, err
}

// sample returns a sample of all rows with their labels.
func (t *Training) sample(ctx context.Context) (iterative.Block, error) {
	sum, err := t.SurveyRows(ctx, 0, 0)
	if err != nil {
		return iterative.Block{}, err
	}
	return t.sampled(sum, nil, nil, iterative.SampleSize(t.Prepared.Recipe.Dim))
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
