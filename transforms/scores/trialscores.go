package scores

import (
	"math"

	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models/score"
)

// TrialScores is the result of Trials. Its sums are exact.
type TrialScores struct {
	score.Trials
	Losses *score.LogLosses // nil unless Trials.LogLoss asks for them
	// Conformal holds the conformity scores of each target, or of the classes; nil unless Trials asks for them.
	Conformal []score.Conformal
	Kept      *score.Kept // nil unless Trials.Keep asks for them
}

// Merge adds the rows of u, counted for the same fits.
func (t *TrialScores) Merge(u *TrialScores) {
	t.Trials.Merge(&u.Trials)
	if t.Losses != nil {
		t.Losses.Merge(u.Losses)
	}
	score.MergeAll(t.Conformal, u.Conformal)
	if t.Kept != nil {
		t.Kept.Merge(u.Kept)
	}
}

// Code codes the trials, the log losses and the kept rows.
func (t *TrialScores) Code(c *wire.Coder) {
	t.Trials.Code(c)
	wire.Optional(c, &t.Losses, func(l *score.LogLosses) { l.Code(c) })
	wire.All(c, &t.Conformal, math.MaxInt32)
	wire.Optional(c, &t.Kept, func(k *score.Kept) { k.Code(c) })
}
