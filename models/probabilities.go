package models

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models/score"
)

// Values of Probabilities.Kind besides score.Platt and score.Isotonic: losses whose best scores determine
// the probabilities.
const (
	Softmax  = "softmax"  // exp(s_c)/Σ exp(s_j)
	Logistic = "logistic" // 1/(1 + exp(−s_c)), divided by the sum over classes
)

// Probabilities is the method that turns the scores of a classifier into probabilities.
type Probabilities struct {
	// Kind is Softmax, Logistic, score.Platt or score.Isotonic.
	Kind   score.Method             `json:"kind"`
	Curves []score.CalibrationCurve `json:"curves,omitempty"` // of Platt and Isotonic, one for each output
	// Rows is the number of rows that the curves were fitted to: the first of Folds folds, scored by a
	// similar model that was fitted without them.
	Rows  int64 `json:"rows,omitempty"`
	Folds int   `json:"folds,omitempty"`
	// Weights are the weights of the classes in the loss; nil if all are 1. Probabilities are for rows as
	// they come, without these weights, but the weights count in the choice of the class.
	Weights []float64 `json:"weights,omitempty"`
}

// validate returns an error unless the probabilities fit the number of outputs.
func (p *Probabilities) validate(outputs int) error {
	if p.Weights != nil && len(p.Weights) != outputs {
		return fmt.Errorf("probabilities with %d weights of classes for %d outputs; want as many", len(p.Weights), outputs)
	}
	for c, w := range p.Weights {
		if !(w > 0) || math.IsInf(w, 0) {
			return fmt.Errorf("probabilities with the weight %g of class %d, want a number above 0", w, c)
		}
	}
	switch p.Kind {
	case Softmax, Logistic:
		if len(p.Curves) > 0 {
			return fmt.Errorf("probabilities of the kind %s with %d curves, want none", p.Kind, len(p.Curves))
		}
		return nil
	case score.Platt, score.Isotonic:
		if len(p.Curves) != outputs {
			return fmt.Errorf("probabilities with %d curves for %d outputs; want as many", len(p.Curves), outputs)
		}
		if p.Rows < 1 || p.Folds < 2 {
			return fmt.Errorf("probabilities fitted to %d rows of one fold of %d", p.Rows, p.Folds)
		}
		c := score.Calibration{Method: p.Kind, Curves: p.Curves}
		return c.Validate()
	}
	kinds := option.Names(Softmax, Logistic, score.Platt, score.Isotonic)
	return fmt.Errorf("unknown kind of probabilities %.40q%s; have %s", p.Kind, option.DidYouMean(string(p.Kind), kinds),
		strings.Join(kinds, ", "))
}

// Apply stores in dst the probabilities of n rows of scores. Both are row-major with a number for each
// output; dst may be scores. It panics if a slice is too short.
func (p *Probabilities) Apply(dst, scores []float32, n, outputs int) {
	switch p.Kind {
	case Softmax:
		score.SoftmaxProbabilities(dst, scores, p.Weights, n, outputs)
	case Logistic:
		score.LogisticProbabilities(dst, scores, p.Weights, n, outputs)
	default:
		c := score.Calibration{Method: p.Kind, Curves: p.Curves}
		c.Apply(dst, scores, n)
	}
}

// Classes stores in dst the predicted class of each of n rows: the class with the largest product of
// probability and weight, with ties as in score.Likeliest. Without weights it is the most probable class.
func (p *Probabilities) Classes(dst []int32, probabilities, scores []float32, n, outputs int) {
	score.Likeliest(dst, p.Weights, probabilities, scores, n, outputs)
}

// DefaultThreshold returns the threshold on the probability of the positive class, of two, that gives the same classes
// as Classes.
func (p *Probabilities) DefaultThreshold(positive int) float32 {
	if p.Weights == nil {
		return 0.5
	}
	return float32(p.Weights[1-positive] / (p.Weights[0] + p.Weights[1]))
}

// checkProbabilities returns an error if the model cannot have the probabilities in its manifest.
func (m *Manifest) checkProbabilities() error {
	switch {
	case m.Probabilities == nil:
		return nil
	case m.Task != Classification:
		return errors.New("probabilities without classes")
	}
	return m.Probabilities.validate(m.Outputs)
}

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
	// Expected is the criterion on these rows, each half judged with the threshold and the curves of probabilities
	// of the other half. Plain is the criterion without a threshold. Larger is better; for score.ByError it is the
	// share of rows without an error. Both are nil if the rows are not divided into independent halves.
	Expected *float64 `json:"expected,omitempty"`
	Plain    *float64 `json:"plain,omitempty"`
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
	case !exact.Finite(t.Value):
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
	case t.Rows < 1 || t.Folds < 2 || !isShare(t.Expected) || !isShare(t.Plain) || (t.Expected == nil) != (t.Plain == nil):
		return fmt.Errorf("a threshold chosen by %d rows of one fold of %d, or with a %s outside of 0 to 1", t.Rows,
			t.Folds, t.By)
	}
	return t.By.Validate()
}

// isShare reports whether a number is missing or from 0 to 1.
func isShare(v *float64) bool { return v == nil || *v >= 0 && *v <= 1 }
