package scores

import (
	"math"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
)

// Conformal says which conformity scores of held-out rows a pass collects, for models.Intervals.
type Conformal struct {
	Fit int `json:"fit"` // index of the fit, among HeldOut.Fits, whose scores count
	// Leverage is the leverage of the sketch, whose outputs follow those of the fits. Within says
	// that the sketch was computed from these rows, too.
	Leverage float64 `json:"leverage,omitempty"`
	Within   bool    `json:"within,omitempty"`
	// Probabilities are of the classes; nil for targets.
	Probabilities *models.Probabilities `json:"probabilities,omitempty"`
}

// conformal collects conformity scores.
type conformal struct {
	*Conformal
	outputs       int // of a fit
	novelty       [1]float32
	probabilities []float32
}

func (c *Conformal) start(p *Trials) (*conformal, []score.Conformal) {
	if c == nil {
		return nil, nil
	}
	sums := make([]score.Conformal, max(1, len(p.Target.Grid)))
	for i := range sums {
		sums[i] = *score.NewConformal()
	}
	return &conformal{Conformal: c, outputs: p.Outputs}, sums
}

// add adds a row with its scores, the outputs of the sketch (probes), and its targets on their grids or its class.
func (c *conformal) add(sums []score.Conformal, scores, probes []float32, y []float64, repeats int64) {
	if c == nil {
		return
	}
	own := scores[c.Fit*c.outputs:][:c.outputs]
	if c.Probabilities == nil {
		s := c.scale(probes)
		for i := range own {
			sums[i].Add(math.Abs(float64(own[i])-y[i])/s, repeats)
		}
		return
	}
	if !models.Finite(own) {
		return
	}
	c.probabilities = append(c.probabilities[:0], own...)
	c.Probabilities.Apply(c.probabilities, own, 1, len(own))
	sums[0].Add(-float64(c.probabilities[int(y[0])]), repeats)
}

// scale returns the number by which errors of a row are divided.
func (c *conformal) scale(probes []float32) float64 {
	if len(probes) == 0 {
		return 1
	}
	models.SumSquares(c.novelty[:], probes)
	leverage := c.Leverage * float64(c.novelty[0])
	if c.Within { // remove the row from the sketch (Sherman and Morrison 1950)
		leverage /= 1 - min(leverage, 0.5)
	}
	return math.Sqrt(1 + leverage)
}
