package scoring

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/transforms"
)

func init() { transforms.RegisterSum[TrialScores](beginTrials) }

// Trials is a pass that scores the rows of the first fold with the weights of several fits, all of
// which were fitted without this fold. Its sum is TrialScores, in which targets, like scores, range from −1 to 1.
type Trials struct {
	transforms.Pass
	HeldOut
	LogLoss bool `json:"log_loss,omitempty"` // for classes: sum log losses, too
	Keep    bool `json:"keep,omitempty"`     // for classes: keep scores of rows, to which probabilities are fitted
	Grouped bool `json:"grouped,omitempty"`  // rows with the same fold hash depend on each other
	// Conformal, unless nil, says to collect conformity scores.
	Conformal *Conformal `json:"conformal,omitempty"`
}

// beginTrials scores held-out rows by all fits. Targets are scaled to their grids, so that errors are in the units of
// the sums.
func beginTrials(ctx context.Context, r *transforms.Reader, p *Trials) (transforms.Accumulator, error) {
	// The squared errors of each target are summed separately, because targets have different units.
	sum := &TrialScores{Trials: *score.NewTrials(p.Fits * max(1, len(p.Target.Grid)))}
	if p.Grouped {
		sum.Grouped()
	}
	if p.LogLoss {
		sum.Losses = score.NewLogLosses(p.Fits)
	}
	k := p.Fits * p.Outputs
	all := k + p.Probes // scores of a row
	var c *conformal
	c, sum.Conformal = p.Conformal.start(p)
	if p.Keep {
		sum.Kept = score.NewHeldOutScores(p.Outputs, p.Fits)
	}
	return p.HeldOut.accumulator(ctx, r, &p.Pass, sum, func(r *heldRows) error {
		scores, y, repeats := r.scores, r.y, r.repeats
		if g := p.Target.Grid; g != nil {
			for i := range y {
				c := i % len(g)
				y[i] = (y[i] - g[c].Mid()) / g[c].Half()
			}
			for i, n := range repeats {
				row, targets := scores[i*all:(i+1)*all], y[i*len(g):(i+1)*len(g)]
				sum.AddTargets(targets, row[:k], n, r.hashes[i])
				c.add(sum.Conformal, row[:k], row[k:], targets, n)
			}
			return nil
		}
		for i, y := range y {
			row := scores[i*k : (i+1)*k]
			c.add(sum.Conformal, row, nil, r.y[i:i+1], repeats[i])
			sum.AddClass(int(y), row, repeats[i], r.hashes[i])
			if sum.Losses != nil {
				sum.Losses.Add(int(y), row, repeats[i])
			}
			if sum.Kept != nil {
				sum.Kept.Add(r.hashes[i], int(y), row, repeats[i])
			}
		}
		return nil
	})
}

// TrialScores is the result of Trials. Its sums are exact.
type TrialScores struct {
	score.Trials
	Losses *score.LogLosses // nil unless Trials.LogLoss asks for them
	// Conformal holds the conformity scores of each target, or of the classes; nil unless Trials asks for them.
	Conformal []score.Conformal
	Kept      *score.HeldOutScores // nil unless Trials.Keep asks for them
}

// Merge adds the rows of u, counted for the same fits.
func (t *TrialScores) Merge(u *TrialScores) { wire.Merge(t, u) }

// Code implements wire.Coded.
func (t *TrialScores) Code(c *wire.Coder) {
	t.Trials.Code(c)
	wire.Optional(c, &t.Losses, func(l *score.LogLosses) { l.Code(c) })
	wire.All(c, &t.Conformal, math.MaxInt32)
	wire.Optional(c, &t.Kept, func(k *score.HeldOutScores) { k.Code(c) })
}

// Conformal says which conformity scores of held-out rows a pass collects, for models.Intervals.
type Conformal struct {
	Fit int `json:"fit"` // index of the fit, among HeldOut.Fits, whose scores count
	// Leverage, for targets with HeldOut.Probes, is the leverage of the sketch, whose outputs follow the
	// outputs of the fits. Within says that the sketch was computed from these rows, too.
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
	outputs := scores[c.Fit*c.outputs:][:c.outputs]
	if c.Probabilities == nil {
		s := c.scale(probes)
		for i := range outputs {
			sums[i].Add(math.Abs(float64(outputs[i])-y[i])/s, repeats)
		}
		return
	}
	if !exact.AllFinite(outputs) {
		return
	}
	c.probabilities = append(c.probabilities[:0], outputs...)
	c.Probabilities.Apply(c.probabilities, outputs, 1, len(outputs))
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
