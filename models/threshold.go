package models

import (
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/models/score"
)

// Values of Threshold.Of.
const (
	OfProbability = "probability" // the probability of the positive class
	OfScore       = "score"       // score.Margin
)

// Threshold decides between two classes, instead of the larger score or probability: a row is of the
// positive class if its probability or its score (see Of) is at least Value.
type Threshold struct {
	Value float32 `json:"value"`
	Of    string  `json:"of"` // OfProbability for a model with probabilities, else OfScore
	// By is the criterion that Value maximises on held-out rows; "" if Value was given.
	By score.Criterion `json:"by,omitempty"`
	// Rows is the number of rows that chose Value: the first of Folds folds, scored by a similar model that
	// was fitted without them.
	Rows  int64 `json:"rows,omitempty"`
	Folds int   `json:"folds,omitempty"`
	// Expected is the criterion on these rows, each half judged with the threshold that the other half
	// chooses. Plain is the criterion without a threshold. Larger is better; for score.ByError it is the
	// share of rows without an error.
	Expected float64 `json:"expected,omitempty"`
	Plain    float64 `json:"plain,omitempty"`
}

// NewThreshold returns a threshold for a model. It fails unless the model has two classes and, if it has
// probabilities, value can be one.
func NewThreshold(value float64, m *Manifest) (*Threshold, error) {
	t := &Threshold{Value: float32(value), Of: OfScore}
	if m.Probabilities != nil {
		t.Of = OfProbability
	}
	return t, t.validate(m)
}

// validate returns an error if the model cannot have the threshold.
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

// threshold returns the applier's threshold, or else the model's.
func (a *Applier) threshold() *float32 {
	if t := a.Model.Manifest.Threshold; a.Threshold == nil && t != nil {
		return &t.Value
	}
	return a.Threshold
}
