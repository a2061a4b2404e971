package training

import (
	"context"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
)

// byRounds is a fit by rounds.
type byRounds struct{ spec.ByRounds }

func (b byRounds) fit(ctx context.Context, t *Training) error {
	if t.probabilities = b.probabilities(t); t.probabilities != nil {
		var err error
		if t.probabilities.Weights, err = t.classWeights(); err != nil {
			return err
		}
	}
	if err := t.fitRounds(ctx, b); err != nil {
		return err
	}
	if note := Unconverged(t.Learner.Log, t.history); note != "" {
		t.Notes = append(t.Notes, note)
	}
	return nil
}

// probabilities returns how the loss makes probabilities of scores, nil if it does not.
func (b byRounds) probabilities(t *Training) *models.Probabilities {
	if kind := t.opts.LossProbabilities(); t.Target.Classes != nil && kind != "" {
		return &models.Probabilities{Kind: kind}
	}
	return nil
}

// problem returns the optimisation problem for that many rows.
func (b byRounds) problem(t *Training, rows int64, lambda float64) (loss.Problem, error) {
	var classes []string
	var counts []float64
	if t.Target.Classes != nil {
		classes, counts = t.Target.Classes.Classes, t.ByClass()
	}
	p, err := b.Common().Problem(b.DefaultLoss(classes != nil), classes, counts, t.Recipe.Dim, rows, lambda)
	return p, spec.Usage(err)
}

// neededRounds returns the least number of rounds, whatever the time limit, from the weights start: none if
// they are the given ones of the user, one if start is nil, and otherwise, from the weights of a trial,
// minSVMRounds.
func neededRounds(start, given *models.Linear) int {
	switch start {
	case nil:
		return 1
	case given:
		return 0
	}
	return minSVMRounds
}
