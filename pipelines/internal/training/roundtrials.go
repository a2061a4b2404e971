package training

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// roundTrials compares values of λ by fits without the held-out rows.
type roundTrials struct {
	*rounds
	start  *linear.Model // weights that the next fit starts from
	limit  job.Limit     // time limit of all fits
	path   []models.LambdaTrial
	chosen int  // position of the best trial in path
	best   *Fit // of the best trial
}

// compare fits each λ, or each group of λ that the learner fits together, until the time limit.
func (t *roundTrials) compare(ctx context.Context) error {
	groups := t.learner.Groups(t.lambda)
	for i, group := range groups {
		limit, left := t.limit.Share(len(groups) - i + 1)
		if !left && i > 0 {
			t.training.AddNotef("time limit %s reached: lambda %s not tried", t.options.Time, report.Numbers(t.lambda[i:]))
			return nil
		}
		end := t.options
		end.Time, end.Needed = limit, neededRounds(t.start, t.init)
		t.training.Job.Progress.Notef("lambda %s:", report.Numbers(group))
		fit, err := t.run(ctx, group, t.folds, t.start, end)
		if err != nil {
			return err
		}
		reports := []iterative.Report{fit.rounds.Report()}
		if len(group) > 1 && (json.Unmarshal(reports[0].Detail, &reports) != nil || len(reports) != len(group)) {
			return exit.Dataf("pipelines: the rounds ended before %d values of lambda could be compared; allow more --rounds",
				len(group))
		}
		if t.anyStart() {
			t.start = fit.linear
		}
		t.limit.Least = time.Duration(neededRounds(t.start, t.init)+1) * fit.rounds.MeanTime
		for j, r := range reports { // the stored weights belong to the best λ
			t.add(group[j], r, fit)
		}
	}
	return nil
}

// anyStart reports whether the fit for one λ may start from the weights for another.
func (t *roundTrials) anyStart() bool {
	return t.learner.Needs(iterative.Size{Features: t.training.Prepared.Recipe.Dim}).AnyStart
}

// add appends the report on a fit to the path, and keeps the fit if it is the best.
func (t *roundTrials) add(lambda float64, r iterative.Report, fit *Fit) {
	if len(t.path) == 0 || r.Better(t.path[t.chosen].HeldOut) {
		fit.Learner.Lambda = lambda
		t.chosen, t.best = len(t.path), fit
	}
	t.path = append(t.path, models.LambdaTrial{Lambda: lambda, Rounds: fit.rounds.Taken, Objective: r.Objective,
		HeldOut: r.HeldOut, HeldOutOf: fit.Learner.Log.HeldOutOf})
}

// finish learns from all rows with the chosen λ, or keeps the fit of the trial if no time is left.
func (t *roundTrials) finish(ctx context.Context) (*Fit, error) {
	limit, left := t.limit.Share(1)
	if !left {
		t.training.AddNotef("time limit %s reached: the weights are those of the trial, which did not use the held-out "+
			"rows, %s", t.options.Time, report.OneIn(t.folds))
		return t.best, nil
	}
	t.training.Job.Progress.Notef("lambda %g, on all rows:", t.lambda[t.chosen])
	end := t.options
	end.Time, end.Patience = limit, 0
	if t.options.Patience > 0 {
		end.Rounds = max(1, t.path[t.chosen].Rounds)
		if t.start != nil {
			end.Rounds = max(minRoundsFromTrial, end.Rounds)
		}
	}
	t.start = t.init
	if t.anyStart() {
		t.start = t.best.linear
		end.Needed = minRoundsFromTrial
	}
	p := t.training.Prepared
	t.surveyed.rows, t.surveyed.weights = p.Counts.Used, p.Weights() // the sample stays
	return t.run(ctx, t.lambda[t.chosen:t.chosen+1], 0, t.start, end)
}

// noteEdge adds a note if the chosen λ is the first or last value.
func (t *roundTrials) noteEdge() {
	switch {
	case len(t.lambda) == 1:
	case t.chosen == 0:
		t.training.AddNotef("%g is the largest lambda that was tried; a larger one may do better", t.lambda[t.chosen])
	case t.chosen == len(t.lambda)-1 && len(t.path) == len(t.lambda):
		t.training.AddNotef("%g is the smallest lambda that was tried; a smaller one may do better", t.lambda[t.chosen])
	}
}
