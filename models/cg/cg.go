package cg

import (
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/loss"
)

// options are the options of the learner. Equal options and rows give equal weights.
type options struct {
	loss.Problem
	// Path has all values of λ that are fitted in the same rounds, including loss.Problem.Lambda.
	Path []float64 `json:"path"`
	// An output has converged if its relative residual ‖r − A w‖/‖r‖ is at most Tolerance·√λ.
	Tolerance float64 `json:"tolerance"`
	Heaviest  float64 `json:"heaviest"` // largest weight of a row, in units of the mean weight
	Planned   int     `json:"planned"`  // most rounds
	// Sample is the file with the rows of the preconditioner (iterative.EncodeSample).
	Sample string `json:"sample_file,omitempty"`
}

const (
	minRounds = 4 // one of each kind
	maxRounds = 1 << 20
	squared   = "squared" // the loss
)

// learner is an iterative.Learner. Create it with newLearner.
type learner struct {
	options
	loss  *loss.Loss
	files iterative.Files
}

var (
	_ iterative.Learner     = (*learner)(nil)
	_ iterative.LinearRound = (*round)(nil)
	_ iterative.Threaded    = (*worker)(nil)
)

// newLearner returns the learner for the options. The error names the invalid option. The sample is read only by Update.
func newLearner(o options, files iterative.Files) (*learner, error) {
	l, err := o.Validate()
	switch {
	case err != nil:
		return nil, fmt.Errorf("cg: %w", err)
	case o.Loss != squared:
		return nil, fmt.Errorf("cg: the loss is %s, want %s", o.Loss, squared)
	case !slices.Contains(o.Path, o.Lambda) || !(slices.Min(o.Path) > 0) || math.IsInf(slices.Max(o.Path), 0):
		return nil, fmt.Errorf("cg: lambda %g of %g, want numbers above 0", o.Lambda, o.Path)
	case !(o.Tolerance > 0 && o.Tolerance <= 1):
		return nil, fmt.Errorf("cg: the tolerance is %g, want a number above 0, at most 1", o.Tolerance)
	case o.Planned < minRounds || o.Planned > maxRounds:
		return nil, fmt.Errorf("cg: rounds must be %d to %d (have %d)", minRounds, maxRounds, o.Planned)
	}
	return &learner{o, l, files}, nil
}

// columns returns the number of systems. System q is for output q % Outputs and λ number q / Outputs.
func (o *options) columns() int { return o.Outputs * len(o.Path) }

func (o *options) lambda(q int) float64 { return o.Path[q/o.Outputs] }

func (o *options) tolerance(q int) float64 { return o.Tolerance * math.Sqrt(o.lambda(q)) }

func (l *learner) Start(init *linear.Model) ([]byte, error) {
	s := newState(&l.options, 0, nil)
	for q := range s.found {
		s.found[q] = 1
	}
	if init != nil {
		if err := iterative.CheckInit(init, l.Outputs, l.Dim); err != nil {
			return nil, fmt.Errorf("cg: %w", err)
		}
		for i := range s.x {
			s.x[i] = float64(init.W[i%len(init.W)])
		}
	}
	return s.encode(&l.options), nil
}

func (l *learner) Open(data []byte) (iterative.Round, error) {
	s, err := decodeState(&l.options, data)
	if err != nil {
		return nil, fmt.Errorf("cg: state: %w", err)
	}
	return newRound(l, s), nil
}
