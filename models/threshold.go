package models

import (
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/models/score"
)

// What a Threshold is compared with.
const (
	OfProbability = "probability" // the probability of the positive class
	OfScore       = "score"       // score.Margin
)

// Threshold decides between two classes in place of the larger score or probability: a row is of
// the positive class if what Of names is at least Value.
type Threshold struct {
	Value float32 `json:"value"`
	Of    string  `json:"of"` // OfProbability for a model with probabilities, else OfScore
	// By is what Value makes best on held-out rows; "" if it was given.
	By score.Criterion `json:"by,omitempty"`
	// Rows are those that chose Value, of the first of that many folds, scored by a model like this one
	// that was fitted without them.
	Rows  int64 `json:"rows,omitempty"`
	Folds int   `json:"folds,omitempty"`
	// Expected is the criterion of these rows, each half of them with the threshold that the
	// other half would choose, and Plain that without a threshold. Larger is better; of
	// score.ByError it is the share of rows without an error.
	Expected float64 `json:"expected,omitempty"`
	Plain    float64 `json:"plain,omitempty"`
}

// NewThreshold returns a threshold of that value for a model. It fails unless the model has two
// classes, and the value can be one of its probabilities if it has them.
func NewThreshold(value float64, m *Manifest) (*Threshold, error) {
	t := &Threshold{Value: float32(value), Of: OfScore}
	if m.Probabilities != nil {
		t.Of = OfProbability
	}
	return t, t.validate(m)
}

// validate returns the reason why a model cannot have the threshold.
func (t *Threshold) validate(m *Manifest) error {
	switch {
	case m.Task != Classification || m.Outputs != 2:
		return fmt.Errorf("a threshold decides between two classes; the model is for %s with %d outputs", m.Task, m.Outputs)
	case t.Value-t.Value != 0:
		return errors.New("a threshold that is not a finite float32 number")
	case (t.Of == OfProbability) != (m.Probabilities != nil) || t.Of != OfProbability && t.Of != OfScore:
		return fmt.Errorf("a threshold of %.40q, which the model does not decide by", t.Of)
	case t.Of == OfProbability && (t.Value < 0 || t.Value > 1):
		return fmt.Errorf("the threshold %g of a probability; it must be between 0 and 1", t.Value)
	case t.By == "":
		if t.Rows != 0 || t.Folds != 0 {
			return errors.New("a threshold that was given, but chosen by rows")
		}
		return nil
	case t.Rows < 1 || t.Folds < 2 || !(t.Expected >= 0 && t.Expected <= 1 && t.Plain >= 0 && t.Plain <= 1):
		return fmt.Errorf("a threshold chosen by %d rows of one fold of %d, or with a %s outside of 0 to 1", t.Rows,
			t.Folds, t.By)
	}
	return t.By.Validate()
}

// threshold returns what decides: the applier's threshold, else the model's.
func (a *Applier) threshold() *float32 {
	if t := a.Model.Manifest.Threshold; a.Threshold == nil && t != nil {
		return &t.Value
	}
	return a.Threshold
}
