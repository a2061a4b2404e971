package pipelines

import (
	"fmt"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// Threshold is what decides between two classes instead of the larger score or probability.
type Threshold struct {
	Value float32 `json:"value"`
	// Of is "probability", that of Class, or "score", score.Margin.
	Of    string `json:"of"`
	Class string `json:"class"` // the second; rows below the threshold are of the first
}

// thresholdOf returns the threshold of that value, rounded to float32 as scores are; nil for nil.
// It is for two classes, and between 0 and 1 for a model with probabilities.
func thresholdOf(value *float64, dir string, m *models.Manifest) (*Threshold, error) {
	switch {
	case value == nil:
		return nil, nil
	case m.Task != models.Classification || m.Outputs != 2:
		return nil, exit.Usage("--threshold decides between two classes; the model %s is for %s with %d outputs", dir, m.Task, m.Outputs)
	case *value-*value != 0 || float32(*value)-float32(*value) != 0:
		return nil, exit.Usage("--threshold must be a number (have %g)", *value)
	case m.Probabilities == nil:
		return &Threshold{float32(*value), "score", m.Vocabulary.Classes[1]}, nil
	case *value < 0 || *value > 1:
		return nil, exit.Usage("--threshold is for the probability of class %q, so it must be between 0 and 1 (have %g)", m.Vocabulary.Classes[1], *value)
	}
	return &Threshold{float32(*value), "probability", m.Vocabulary.Classes[1]}, nil
}

// rounded returns the value for a models.Applier.
func (t *Threshold) rounded() *float32 {
	if t == nil {
		return nil
	}
	return &t.Value
}

// String says how rows are decided.
func (t *Threshold) String() string {
	what := "half the difference of its score and the other"
	if t.Of == "probability" {
		what = "its probability"
	}
	return fmt.Sprintf("threshold %g: a row is of class %q if %s is at least that", t.Value, t.Class, what)
}
