package evaluate

import (
	"strings"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/paired"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// ParseConditions parses the conditions of a flag on the difference of two models, separated by commas.
func ParseConditions(flag, text string) ([]paired.Condition, error) {
	return parseAll(text, func(one string) (paired.Condition, error) {
		c, err := paired.ParseCondition(one)
		if err != nil {
			err = exit.Usagef("--%s: %w", flag, err)
		}
		return c, err
	})
}

// parseAll parses the elements of a list separated by commas. It returns nil for the empty text.
func parseAll[T any](text string, parse func(string) (T, error)) (all []T, err error) {
	if text == "" {
		return nil, nil
	}
	for _, one := range strings.Split(text, ",") {
		v, err := parse(one)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// FitConditions parses the conditions of a flag for two models. It returns an error if the models are not
// compared by a metric of a condition.
func FitConditions(flag, text string, champion, challenger *models.Manifest) ([]paired.Condition, error) {
	all, err := ParseConditions(flag, text)
	if err != nil {
		return nil, err
	}
	s := paired.NewSum(false, metrics(champion, challenger)...)
	for i, c := range all {
		if all[i], err = s.Complete(c); err != nil {
			return nil, exit.Usagef("--%s: %w", flag, err)
		}
	}
	return all, nil
}

// metrics returns the metrics by which two models of the same task are compared.
func metrics(champion, challenger *models.Manifest) []paired.Metric {
	switch {
	case champion.Task == models.Regression:
		return []paired.Metric{paired.MSE, paired.MAE}
	case champion.Probabilities != nil && challenger.Probabilities != nil:
		return []paired.Metric{paired.Error, paired.LogLoss, paired.Brier}
	}
	return []paired.Metric{paired.Error}
}
