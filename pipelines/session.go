package pipelines

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/epochs"
	"github.com/bochner-ml/bochner/transforms/survey"
)

// session is a job that fits something to rows: what it found about the data, and the
// notes that it has for the user.
type session struct {
	*job
	*looked
	spec MapOptions
	// iterative tells that the rows are also read by the cut of iterative learners.
	iterative bool
	notes     []string
}

// countCopies counts the copies before the first pass of the training that has folds,
// and notes where so many rows repeat that it matters what they are.
func (s *session) countCopies(ctx context.Context) error {
	if s.counted {
		return nil
	}
	if err := s.looked.countCopies(ctx, s.job, s.spec.Seed, s.spec.MaxBadFraction, s.iterative); err != nil {
		return err
	}
	if 10*s.repeated >= s.counts.Used {
		s.notes = append(s.notes, fmt.Sprintf("%s of %s rows repeat the numbers of others; folds take them for rows that were drawn anew: if they were copied on purpose, leave the copies out, or held-out figures are too good",
			groups(s.repeated), groups(s.counts.Used)))
	}
	return nil
}

// surveyRows runs the pass of a survey with a sample of so many rows; 0 is that of a profile.
func (s *session) surveyRows(ctx context.Context, folds, sample int) (*profile.Sum, error) {
	if folds > 0 {
		if err := s.countCopies(ctx); err != nil {
			return nil, err
		}
	}
	s.progress.phase("surveying", s.counts.Used)
	defer s.progress.done()
	pass := &survey.Survey{Pass: s.pass(folds), Folds: folds, Sample: sample}
	sum := new(profile.Sum)
	_, _, err := s.scanSum(ctx, pass, "survey", sum)
	return sum, err
}

// learnedFrom returns how many rows a survey left to learn from, unless they are all, or
// none, where the first of the folds is held out.
func (s *session) learnedFrom(sum *profile.Sum, folds int) (int64, error) {
	n := sum.Result().Rows
	if n == 0 || folds > 0 && n == s.counts.Used {
		return 0, refuse("pipelines: of %s rows, %s would be held out: too few rows for --folds %d", groups(s.counts.Used), groups(s.counts.Used-n), folds)
	}
	return n, nil
}

// learnPass is the pass of a learner over the rows dealt to partitions.
func (s *session) learnPass(l epochs.Learner, folds, partitions int) *epochs.Pass {
	// The cut is always the same: the model depends on it.
	shards := s.data.Shards(shardBytes)
	common := s.pass(folds)
	common.Shards = nil
	return &epochs.Pass{
		Pass: common, Learner: l, Recipe: s.recipe.sealed, Hands: s.data.Deal(shards, partitions), Rows: s.counts.Used, Folds: folds,
	}
}

// pass returns what the passes of the session have in common, of those that assign rows
// to that many folds.
func (s *session) pass(folds int) transforms.Pass {
	return transforms.Pass{
		Data: *s.data, Shards: s.shards, Mode: mode(s.spec.MaxBadFraction), Seed: s.spec.Seed, Target: s.target, Copies: s.dealt(folds),
	}
}
