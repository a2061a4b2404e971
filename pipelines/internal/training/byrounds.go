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

// probabilities returns those that the scores have by the loss; nil if there are none.
func (b byRounds) probabilities(t *Training) *models.Probabilities {
	if kind := t.opts.LossProbabilities(); t.Target.Classes != nil && kind != "" {
		return &models.Probabilities{Kind: kind}
	}
	return nil
}

// problem returns the problem to minimise on that many rows.
func (b byRounds) problem(t *Training, rows int64, lambda float64) (loss.Problem, error) {
	var classes []string
	var counts []float64
	if t.Target.Classes != nil {
		classes, counts = t.Target.Classes.Classes, t.ByClass()
	}
	p, err := b.Common().Problem(b.DefaultLoss(classes != nil), classes, counts, t.Recipe.Dim, rows, lambda)
	return p, spec.Usage(err)
}

// needed is the number of rounds that a run takes however little time there is, from weights of a
// trial or given by the user, which are taken as they came, or from nil, which are none.
func needed(start, given *models.Linear) int {
	switch start {
	case nil:
		return 1
	case given:
		return 0
	}
	return leaves
}
