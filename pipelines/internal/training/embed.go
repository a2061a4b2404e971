package training

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/transforms/gram"
)

// Embed sums the rows once, and fits the components of an embedding to the sums. Labels are not used.
func (t *Training) Embed(ctx context.Context, o *pca.LearnerOptions) (*Fit, error) {
	s, err := t.newSumsTraining(o.Grid, nil, pca.FewProducts, Found{})
	if err != nil {
		return nil, err
	}
	steps := s.steps(s.bits, t.Prepared.Recipe.Dim)
	f, err := s.sum(ctx, nil, gram.Spec{Recipe: t.Prepared.Recipe.Sealed, Outputs: 1, Steps: steps},
		spec.Folding{FoldPlan: ridge.FoldPlan{Folds: 1}, Components: o.Components})
	if err != nil {
		return nil, err
	}
	f.fit.Learner = models.Learner{Kind: iterative.DefinitionOf(o).Name, Folds: 1, Components: f.report.Components,
		Steps: steps}
	f.fit.rule = s.rule(f)
	return f.fit, nil
}

// DrawEmbedding plots a sample of the rows along the first two components, coloured by class.
func (t *Training) DrawEmbedding(ctx context.Context, f *Fit, name string) error {
	sum, err := t.SurveyRows(ctx, 0, 0)
	if err != nil {
		return err
	}
	sample, err := t.sampled(sum, nil, nil, iterative.SampleSize(t.Prepared.Recipe.Dim))
	if err != nil {
		return err
	}
	k := f.linear.K
	scores := make([]float32, sample.N*k)
	f.linear.Scores(scores, sample.Phi, sample.N)
	s := picture.Lines{Title: fmt.Sprintf("%s, %d features", t.Prepared.Recipe.Name, t.Prepared.Recipe.Dim), Scatter: true}
	axis := func(i int) string {
		return fmt.Sprintf("component %d (%.1f%% of the variance)", i+1, 100*f.Learner.Components[i].Share)
	}
	s.X, s.Y = axis(0), axis(1)
	for _, class := range t.classes() {
		s.Series = append(s.Series, picture.Series{Name: class})
	}
	for i, y := range sample.Y {
		s.Series[int(y)].Add(float64(scores[i*k]), float64(scores[i*k+1]))
	}
	return report.WritePicture(ctx, name, s, 15, 13)
}
