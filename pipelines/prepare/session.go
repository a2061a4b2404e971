package prepare

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/job"
	"github.com/bochner-ml/bochner/pipelines/report"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/epochs"
	"github.com/bochner-ml/bochner/transforms/survey"
)

// Session is a job that fits something to rows: what it found about the data, and the
// notes that it has for the user.
type Session struct {
	*job.Job
	*Prepared
	Spec Spec
	// iterative tells that the rows are also read by the cut of iterative learners.
	Iterative bool
	Notes     []string
}

// CountCopies counts the copies before the first pass of the training that has folds,
// and notes where so many rows repeat that it matters what they are.
func (s *Session) CountCopies(ctx context.Context) error {
	if s.counted {
		return nil
	}
	if err := s.Prepared.CountCopies(ctx, s.Job, s.Spec.Seed, s.Spec.MaxBadFraction, s.Iterative); err != nil {
		return err
	}
	if 10*s.repeated >= s.Counts.Used {
		s.Notes = append(s.Notes, fmt.Sprintf("%s of %s rows repeat the numbers of others; folds take them for rows that were drawn anew: if they were copied on purpose, leave the copies out, or held-out figures are too good",
			report.Groups(s.repeated), report.Groups(s.Counts.Used)))
	}
	return nil
}

// SurveyRows runs the pass of a survey with a sample of so many rows; 0 is that of a profile.
func (s *Session) SurveyRows(ctx context.Context, folds, sample int) (*profile.Sum, error) {
	if folds > 0 {
		if err := s.CountCopies(ctx); err != nil {
			return nil, err
		}
	}
	s.Progress.Phase("surveying", s.Counts.Used)
	defer s.Progress.Done()
	pass := &survey.Survey{Pass: s.Pass(folds), Folds: folds, Sample: sample}
	sum := new(profile.Sum)
	_, _, err := s.ScanSum(ctx, pass, "survey", sum)
	return sum, err
}

// LearnedFrom returns how many rows a survey left to learn from, unless they are all, or
// none, where the first of the folds is held out.
func (s *Session) LearnedFrom(sum *profile.Sum, folds int) (int64, error) {
	n := sum.Result().Rows
	if n == 0 || folds > 0 && n == s.Counts.Used {
		return 0, exit.Refuse("pipelines: of %s rows, %s would be held out: too few rows for --folds %d", report.Groups(s.Counts.Used), report.Groups(s.Counts.Used-n), folds)
	}
	return n, nil
}

// LearnPass is the pass of a learner over the rows assigned to partitions.
func (s *Session) LearnPass(l epochs.Learner, folds, partitions int) *epochs.Pass {
	// The cut is always the same: the model depends on it.
	shards := s.Data.Shards(job.ShardBytes)
	common := s.Pass(folds)
	common.Shards = nil
	return &epochs.Pass{
		Pass: common, Learner: l, Recipe: s.Recipe.Sealed, Assignments: s.Data.Assign(shards, partitions), Rows: s.Counts.Used, Folds: folds,
	}
}

// Pass returns what the passes of the session have in common, of those that assign rows
// to that many folds.
func (s *Session) Pass(folds int) transforms.Pass {
	return transforms.Pass{
		Data: *s.Data, Shards: s.Shards, Mode: Mode(s.Spec.MaxBadFraction), Seed: s.Spec.Seed, Target: s.Target, Copies: s.assigned(folds),
	}
}
