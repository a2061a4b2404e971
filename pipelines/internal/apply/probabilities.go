package apply

import (
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/about"
)

// NeedProbabilities returns an error about the flag if the model has no probabilities.
func NeedProbabilities(flag, dir string, m *models.Manifest) error {
	switch {
	case m.Probabilities != nil:
		return nil
	case m.Task != models.Classification:
		return exit.Usage("--%s: the model %s is for %s; only classification has probabilities", flag, dir, m.Task)
	}
	return exit.Usage("--%s: the model %s has no probabilities; %s", flag, dir, about.HowToGetProbabilities)
}
