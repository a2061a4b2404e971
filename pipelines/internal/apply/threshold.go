package apply

import (
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/about"
)

// Threshold decides between two classes, instead of the larger score or probability.
type Threshold struct {
	models.Threshold
	Class string `json:"class"` // positive class; rows below the threshold belong to the other
}

// ThresholdOf returns the threshold with that value, rounded to float32 as scores are. For nil it returns the
// threshold of the model, nil if it has none.
func ThresholdOf(value *float64, dir string, m *models.Manifest) (*Threshold, error) {
	t := m.Threshold
	if value != nil {
		var err error
		if t, err = models.NewThreshold(*value, m); err != nil {
			return nil, exit.Usage("--threshold %g: the model %s: %s", *value, dir, err)
		}
	}
	if t == nil {
		return nil, nil
	}
	return &Threshold{*t, m.Vocabulary.Classes[m.PositiveClass()]}, nil
}

// Rounded returns the value for a models.Applier, nil without a threshold.
func (t *Threshold) Rounded() *float32 {
	if t == nil {
		return nil
	}
	return &t.Value
}

// String describes how rows are decided.
func (t *Threshold) String() string { return about.DecidedBy(&t.Threshold, t.Class) }
