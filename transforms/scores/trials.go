package scores

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/transforms"
)

func init() { transforms.RegisterSum[TrialScores]("trials", beginTrials) }

// Trials is a pass that scores the rows of the first fold with the weights of several fits, all of
// which were fitted without this fold.
type Trials struct {
	transforms.Pass
	HeldOut
	LogLoss bool `json:"log_loss,omitempty"` // for classes: sum log losses, too
	Keep    bool `json:"keep,omitempty"`     // for classes: keep scores of rows, to which probabilities are fitted
	Grouped bool `json:"grouped,omitempty"`  // rows with the same fold hash depend on each other
	// Conformal, unless nil, says to collect conformity scores.
	Conformal *Conformal `json:"conformal,omitempty"`
}

// Sum reads all rows and returns one encoded TrialScores, in which targets, like scores, range
// from −1 to 1, and a JSON dataset.Report for each shard.
func (*Trials) Sum(s beam.Scope, sc transforms.Scan) (sum, reports beam.PCollection) {
	return transforms.Sum(s.Scope("scores.Trials"), sc, "trials")
}

func beginTrials(ctx context.Context, l *transforms.Lane, p *Trials) (transforms.Summing, error) {
	// The squared errors of each target are summed separately, because targets have different units.
	sum, k := &TrialScores{Trials: *score.NewTrials(p.Fits * max(1, len(p.Target.Grid)))}, p.Fits*p.Outputs
	if p.Grouped {
		sum.Grouped()
	}
	if p.LogLoss {
		sum.Losses = score.NewLogLosses(p.Fits)
	}
	all := k + p.Probes
	var c *conformal
	c, sum.Conformal = p.Conformal.start(p)
	if p.Keep {
		sum.Kept = score.NewKept(p.Outputs, p.Fits)
	}
	return p.HeldOut.summing(ctx, l, &p.Pass, sum, func(r *heldRows) error {
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
