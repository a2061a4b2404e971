package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

// NeedCertainty returns an error if c asks for intervals or novelty that the model does not have. In the error,
// dash comes before the names of options, and model is the name of the model.
func NeedCertainty(c scoring.Certainty, m *models.Manifest, dash, model string) error {
	if !(c.Interval >= 0 && c.Interval < 1) {
		return fmt.Errorf("%sinterval %g: want a number above 0 and below 1, such as 0.9", dash, c.Interval)
	}
	for _, name := range m.Input.Labels {
		for _, end := range []string{"_low", "_high"} {
			if c.Interval > 0 && slices.Contains(m.Input.Labels, name+end) {
				return fmt.Errorf("%sinterval: prediction_%s%s would name both a prediction of the target %[2]s%[3]s and an "+
					"end of the interval of %[2]s; train with other target names", dash, name, end)
			}
		}
	}
	err := c.Check(&models.Model{Manifest: m})
	level, tooHigh := errors.AsType[*models.LevelError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, models.ErrNoNovelty) && m.Learner.Kind == ridge.Name:
		return fmt.Errorf("%snovelty: %s does not store what measures how far rows are from its training rows: it was "+
			"trained with --intervals none; train again without --intervals none", dash, model)
	case errors.Is(err, models.ErrNoNovelty):
		return fmt.Errorf("%snovelty: %s (learner %s) cannot measure how far rows are from its training rows; "+
			"train with --learner ridge and without --intervals none", dash, model, m.Learner.Kind)
	case tooHigh:
		return fmt.Errorf("%sinterval: %s: %s; train on more rows, or with fewer --folds", dash, model,
			strings.TrimPrefix(level.Error(), "models: "))
	}
	what := "intervals"
	if m.Task == models.Classification {
		what = "prediction sets"
	}
	return fmt.Errorf("%sinterval: %s has no %s; %s", dash, model, what, howToGetIntervals(m))
}

// howToGetIntervals returns advice for users of a model without intervals.
func howToGetIntervals(m *models.Manifest) string {
	switch {
	case m.Task == models.Embedding:
		return "an embedding predicts no labels"
	case m.Task == models.Classification && m.Probabilities == nil:
		return fmt.Sprintf("they need probabilities: %s", report.HowToGetProbabilities)
	}
	return "training measures them on held-out rows: train on rows, not on sums, with several --lambda " +
		"or with --folds, and without --intervals none"
}

// NeedProbabilities returns an error about the flag if the model has no probabilities.
func NeedProbabilities(flag, dir string, m *models.Manifest) error {
	switch {
	case m.Probabilities != nil:
		return nil
	case m.Task != models.Classification:
		return exit.Usagef("--%s: the model %s is for %s; only classification has probabilities", flag, dir, m.Task)
	}
	return exit.Usagef("--%s: the model %s has no probabilities; %s", flag, dir, report.HowToGetProbabilities)
}
