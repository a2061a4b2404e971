package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/about"
	"github.com/bochner-ml/bochner/transforms/scores"
)

// needCertainty returns an error unless the model has the intervals and the novelty that are wanted.
func (o PredictOptions) needCertainty(m *models.Manifest) error {
	if o.Interval < 0 || o.Interval >= 1 {
		return exit.Usage("--interval %g: want a number above 0 and below 1, such as 0.9", o.Interval)
	}
	for _, name := range m.Input.Labels {
		for _, end := range []string{"_low", "_high"} {
			if o.Interval > 0 && slices.Contains(m.Input.Labels, name+end) {
				return exit.Usage("--interval: prediction_%s%s would name both a prediction of the target %[1]s%[2]s and an "+
					"end of the interval of %[1]s; train with other target names", name, end)
			}
		}
	}
	err := scores.Certainty{Interval: o.Interval, Novelty: o.Novelty}.Check(&models.Model{Manifest: m})
	var level *models.LevelError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, models.ErrNoNovelty):
		return exit.Usage("--novelty: the model %s (learner %s) cannot measure how far rows are from its training rows; "+
			"train with --learner ridge and without --intervals none", o.Model, m.Learner.Kind)
	case errors.As(err, &level):
		return exit.Usage("--interval: the model %s: %s; train on more rows, or with fewer --folds", o.Model,
			strings.TrimPrefix(level.Error(), "models: "))
	}
	return exit.Usage("--interval: the model %s has no %s; %s", o.Model, what(m), howToGetIntervals(m))
}

func what(m *models.Manifest) string {
	if m.Task == models.Classification {
		return "sets of classes"
	}
	return "intervals"
}

// howToGetIntervals says what to do if a model has none.
func howToGetIntervals(m *models.Manifest) string {
	switch {
	case m.Task == models.Embedding:
		return "an embedding predicts no labels"
	case m.Task == models.Classification && m.Probabilities == nil:
		return fmt.Sprintf("they need probabilities: %s", about.HowToGetProbabilities)
	}
	return "training measures them on held-out rows: train on rows, not on sums, with several --lambda " +
		"or with --folds, and without --intervals none"
}
