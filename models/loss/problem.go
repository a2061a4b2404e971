package loss

import (
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/exact"
)

// MaxDim is the largest number of features of a Problem, MaxOutputs the largest number of outputs.
const (
	MaxDim     = 1 << 24
	MaxOutputs = 1 << 17
)

// Problem is what a linear model W (Outputs×Dim) minimises: over the rows i with features
// φ_i, labels y_i and weights c_i,
//
//	(1/n) Σ c_i ℓ(y_i, W·φ_i) + (λ/2)‖W‖².
//
// c_i is the weight of the row's class times the weight of the row in units of the mean weight, which is
// given with the row.
type Problem struct {
	Loss       string  `json:"loss"`                 // a name of Names
	Epsilon    float64 `json:"epsilon,omitempty"`    // of huber and epsilon_insensitive
	Regression bool    `json:"regression,omitempty"` // labels are targets, not indices of classes
	Outputs    int     `json:"outputs"`              // k, the number of classes; 1 in a regression
	Dim        int     `json:"dim"`                  // D
	Rows       int64   `json:"rows"`                 // n, the number of training rows
	Lambda     float64 `json:"lambda"`               // λ > 0, on the mean loss; 0 is allowed for sgd

	// Weights holds the weight of each class; nil means 1 for all.
	Weights []float64 `json:"weights,omitempty"`
}

// Validate returns the loss, or an error that names the field out of range.
func (p Problem) Validate() (*Loss, error) {
	l, err := newLoss(p.Loss, !p.Regression, p.Epsilon)
	switch {
	case err != nil:
		return nil, err
	case p.Dim < 1 || p.Dim > MaxDim:
		return nil, fmt.Errorf("loss: the number of features must be 1 to %d (have %d)", MaxDim, p.Dim)
	case p.Outputs < 1 || p.Outputs > MaxOutputs:
		return nil, fmt.Errorf("loss: the number of outputs must be 1 to %d (have %d)", MaxOutputs, p.Outputs)
	case p.Regression && p.Outputs != 1:
		return nil, fmt.Errorf("loss: %d targets, want 1", p.Outputs)
	case !p.Regression && p.Outputs < 2:
		return nil, errors.New("loss: 1 class, want 2 or more")
	case p.Rows < 1:
		return nil, fmt.Errorf("loss: %d training rows, want 1 or more", p.Rows)
	case !(p.Lambda >= 0) || math.IsInf(p.Lambda, 0):
		return nil, fmt.Errorf("loss: lambda is %g, want a number of 0 or more", p.Lambda)
	case p.Weights != nil && p.Regression:
		return nil, errors.New("loss: class weights in a regression")
	case p.Weights != nil && len(p.Weights) != p.Outputs:
		return nil, fmt.Errorf("loss: %d weights for %d classes", len(p.Weights), p.Outputs)
	}
	for c, w := range p.Weights {
		if !(w > 0) || math.IsInf(w, 0) {
			return nil, fmt.Errorf("loss: weight %d is %g, want a number above 0", c, w)
		}
	}
	return l, nil
}

// Weight returns the class weight of a row with label y.
func (p *Problem) Weight(y float32) float64 {
	if p.Weights == nil {
		return 1
	}
	return p.Weights[int(y)]
}

// Penalty returns λ/2‖W‖².
func (p *Problem) Penalty(weights []float32) float64 {
	var sum float64
	for _, w := range weights {
		sum += float64(float64(w) * float64(w))
	}
	return float64(p.Lambda / 2 * sum)
}

// CheckLabels returns an error unless every label is the index of a class, or a finite target.
func (p *Problem) CheckLabels(y []float32) error {
	for i, v := range y {
		switch {
		case p.Regression && !exact.Finite(v):
			return fmt.Errorf("loss: row %d of the block: target %g is not finite", i, v)
		case !p.Regression && !(v >= 0 && v < float32(p.Outputs) && v == float32(int(v))):
			return fmt.Errorf("loss: row %d of the block: label %g is not a class from 0 to %d", i, v, p.Outputs-1)
		}
	}
	return nil
}

// Wrong reports whether a row with these scores is assigned to another class than y. Its class has the
// largest score, the first of several. Targets are never wrong.
func (p *Problem) Wrong(scores []float32, y float32) bool {
	if p.Regression {
		return false
	}
	best := 0
	for c, s := range scores {
		if s > scores[best] {
			best = c
		}
	}
	return best != int(y)
}

// Tally holds totals over scored rows.
type Tally struct {
	Rows, Errors int64
	Loss         float64 // Σ w_i c_i ℓ_i
	Weight       float64 // Σ w_i; equals Rows without weights
	Wrong        float64 // Σ w_i over the errors
}

// Add counts a row of the given weight (1 without weights). loss is its loss times all weights.
func (t *Tally) Add(weight, loss float64, wrong bool) {
	t.Rows++
	t.Loss += loss
	t.Weight += weight
	if wrong {
		t.Errors++
		t.Wrong += weight
	}
}

// Merge adds the rows of u.
func (t *Tally) Merge(u Tally) {
	t.Rows += u.Rows
	t.Errors += u.Errors
	t.Loss += u.Loss
	t.Weight += u.Weight
	t.Wrong += u.Wrong
}

// Mean returns the mean loss, Σ wcℓ/Σ w, or 0 without rows.
func (t Tally) Mean() float64 {
	if t.Rows == 0 {
		return 0
	}
	return t.Loss / t.Weight
}

// Error returns the share of wrong rows by weight, or 0 without rows.
func (t Tally) Error() float64 {
	if t.Rows == 0 {
		return 0
	}
	return t.Wrong / t.Weight
}
