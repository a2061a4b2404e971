// Package cg solves ridge regression on many features by preconditioned conjugate gradients, like Falkon (Rudi,
// Carratino and Rosasco 2017) and sketched preconditioners for random features (Avron, Clarkson and Woodruff 2017).
// No D×D matrix is formed: a pass over the rows takes time and memory proportional to D.
//
// The objective is as in package ridge: for rows of features φ_i with codes t_i and weights c_i of mean 1,
//
//	(1/2n) Σ c_i ‖t_i − Wφ_i − b‖² + (λ/2) ‖W‖²,
//
// so that A w = r for each output, A = (1/n) Σ c_i (φ_i−μ)(φ_i−μ)ᵀ + λI. A round multiplies A
// by a search direction p of each output and each λ:
//
//	A p = (1/n) Σ_i z_i [c_i (z_i·p − μ·p)] + λp
//
// Here z are the features on a grid of 16 bits for each column, and the brackets are rounded to a grid
// whose unit the driver sets before the pass. So the sums are sums of integers, exact in any order, and
// weights do not depend on files, readers or partitions.
//
// The preconditioner is P = (1/m) Z_mᵀZ_m + μI for the features Z_m of m sampled rows, applied by
// Woodbury's formula through their m×m kernel. The rounds are
//
//	scaling     the largest feature of each column, which determines the grid
//	moments     Σ c z and Σ c t z, which give μ and r
//	direction   A p, and a step of conjugate gradients
//	verify      r − A w for the published float32 weights, recomputed from the rows
//
// If a verification finds the residual above the tolerance, the directions start again.
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
