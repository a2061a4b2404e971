package training

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/about"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// roundTrials compares values of λ by fits without the held-out rows.
type roundTrials struct {
	*rounds
	start  *models.Linear // weights that the next fit starts from
	limit  job.Limit      // time limit of all fits
	path   []models.Trial
	chosen int  // position of the best trial in path
	best   *Fit // of the best trial
}

// compare fits each λ, or each group of λ that the learner fits together, until the time limit.
func (f *roundTrials) compare(ctx context.Context) error {
	groups := f.learner.Groups(f.lambda)
	for i, group := range groups {
		end, left := f.options, false
		end.Time, left = f.limit.Share(len(groups) - i + 1)
		if !left && i > 0 {
			f.AddNote("time limit %s reached: lambda %s not tried", f.options.Time, about.Numbers(f.lambda[i:]))
			return nil
		}
		end.Needed = neededRounds(f.start, f.init)
		f.Progress.Note("lambda %s:", about.Numbers(group))
		fit, err := f.run(ctx, group, f.folds, f.start, end)
		if err != nil {
			return err
		}
		reports := []iterative.Report{fit.rounds.Report()}
		if len(group) > 1 && (json.Unmarshal(reports[0].Detail, &reports) != nil || len(reports) != len(group)) {
			return exit.Refuse("pipelines: the rounds ended before %d values of lambda could be compared; allow more --rounds",
				len(group))
		}
		if f.learner.Resumes() {
			f.start = fit.linear
		}
		f.limit.Least = time.Duration(neededRounds(f.start, f.init)+1) * fit.rounds.Each
		for j, r := range reports { // the stored weights belong to the best λ
			f.add(group[j], r, fit)
		}
	}
	return nil
}

// add appends the report on a fit to the path, and keeps the fit if it is the best.
func (f *roundTrials) add(lambda float64, r iterative.Report, fit *Fit) {
	if len(f.path) == 0 || r.Better(f.path[f.chosen].HeldOut) {
		fit.Learner.Lambda = lambda
		f.chosen, f.best = len(f.path), fit
	}
	f.path = append(f.path, models.Trial{Lambda: lambda, Rounds: fit.rounds.Taken, Objective: r.Objective,
		HeldOut: r.HeldOut, HeldOutOf: fit.Learner.Log.HeldOutOf})
}

// finish learns from all rows with the chosen λ, or keeps the fit of the trial if no time is left.
func (f *roundTrials) finish(ctx context.Context) (*Fit, error) {
	end, left := f.options, false
	end.Time, left = f.limit.Share(1)
	if !left {
		f.AddNote("time limit %s reached: the weights are those of the trial, which did not use the held-out rows, %s",
			f.options.Time, report.OneIn(f.folds))
		return f.best, nil
	}
	f.Progress.Note("lambda %g, on all rows:", f.lambda[f.chosen])
	end.Patience = 0
	if f.options.Patience > 0 {
		end.Rounds = max(1, f.path[f.chosen].Rounds)
		if f.start != nil {
			end.Rounds = max(minRoundsFromTrial, end.Rounds)
		}
	}
	f.start = f.init
	if f.learner.Resumes() {
		f.start, end.Needed = f.best.linear, minRoundsFromTrial
	}
	f.surveyed.rows, f.surveyed.weights = f.Counts.Used, f.Weights() // the sample stays
	return f.run(ctx, f.lambda[f.chosen:f.chosen+1], 0, f.start, end)
}

// noteEdge adds a note if the chosen λ is the first or last value.
func (f *roundTrials) noteEdge() {
	switch {
	case len(f.lambda) == 1:
	case f.chosen == 0:
		f.AddNote("%g is the largest lambda that was tried; a larger one may do better", f.lambda[f.chosen])
	case f.chosen == len(f.lambda)-1 && len(f.path) == len(f.lambda):
		f.AddNote("%g is the smallest lambda that was tried; a smaller one may do better", f.lambda[f.chosen])
	}
}
