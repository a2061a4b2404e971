package evaluate

import (
	"strings"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/paired"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// ParseConditions reads a flag's conditions on the difference of two models, separated by commas.
func ParseConditions(flag, text string) (all []paired.Condition, err error) {
	if text == "" {
		return nil, nil
	}
	for _, one := range strings.Split(text, ",") {
		c, err := paired.ParseCondition(one)
		if err != nil {
			return nil, exit.Usage("--%s: %w", flag, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// FitConditions returns the conditions of a flag for two models, or an error if the models are not
// compared by the metrics that they name.
func FitConditions(flag, text string, champion, challenger *models.Manifest) ([]paired.Condition, error) {
	all, err := ParseConditions(flag, text)
	if err != nil {
		return nil, err
	}
	s := paired.NewSum(false, metrics(champion, challenger)...)
	for i, c := range all {
		if all[i], err = s.Fit(c); err != nil {
			return nil, exit.Usage("--%s: %w", flag, err)
		}
	}
	return all, nil
}

// metrics are what two models of the same task are compared by.
func metrics(champion, challenger *models.Manifest) []paired.Metric {
	switch {
	case champion.Task == models.Regression:
		return []paired.Metric{paired.MSE, paired.MAE}
	case champion.Probabilities != nil && challenger.Probabilities != nil:
		return []paired.Metric{paired.Error, paired.LogLoss, paired.Brier}
	}
	return []paired.Metric{paired.Error}
}
