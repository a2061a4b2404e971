package prepare

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/learn"
	"github.com/bochner-ml/bochner/transforms/survey"
)

// Session is a job that fits a model or features to rows, with the results of the profile and notes for the
// user.
type Session struct {
	Job      *job.Job
	Prepared *Prepared
	Options  Options
	// Iterative is true if iterative learners read the rows, in shards of their own.
	Iterative bool
	Notes     []string
}

// AddNotef adds a note for the user, unless its text is "".
func (s *Session) AddNotef(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); note != "" {
		s.Notes = append(s.Notes, note)
	}
}

// SurveyRows runs a survey pass outside the first fold, with a sample of the given size; 0 is the size of
// the profile's.
func (s *Session) SurveyRows(ctx context.Context, folds, sample int) (*profile.Sum, error) {
	return s.survey(ctx, &survey.Sample{Folds: folds, Sample: sample})
}

// SurveyWeighed is SurveyRows, but each label is followed by the weight of the row and its part among parts,
// which is -1 if the content of the row decides it.
func (s *Session) SurveyWeighed(ctx context.Context, folds, sample, parts int) (*profile.Sum, error) {
	return s.survey(ctx, &survey.Sample{Folds: folds, Sample: sample, Weigh: true, Pilots: parts})
}

func (s *Session) survey(ctx context.Context, pass *survey.Sample) (*profile.Sum, error) {
	parts := pass.Folds
	if parts > 0 {
		if err := s.CountCopies(ctx); err != nil {
			return nil, err
		}
	}
	s.Job.Progress.Phase("surveying", s.Prepared.Counts.Used)
	defer s.Job.Progress.Done()
	pass.Pass = s.Pass(parts)
	sum := new(profile.Sum)
	_, err := s.Job.ScanSum(ctx, pass, "survey", sum)
	return sum, err
}

// LearnedFrom returns the number of rows outside the first fold. It returns an error if these are all rows or
// none.
func (s *Session) LearnedFrom(sum *profile.Sum, folds int) (int64, error) {
	n := sum.Result().Rows
	if n == 0 || folds > 0 && n == s.Prepared.Counts.Used {
		return 0, exit.Dataf("of %s rows, %s would be held out: too few rows for --folds %d",
			report.Groups(s.Prepared.Counts.Used), report.Groups(s.Prepared.Counts.Used-n), folds)
	}
	return n, nil
}

// KeepSample stores an encoded sample in the work directory, and returns the name of its file.
func (s *Session) KeepSample(ctx context.Context, data []byte) (string, error) {
	name := storage.Join(s.Job.Work.Dir, "sample-"+shortDigest(data)+".safetensors")
	return name, storage.WriteState(ctx, name, data)
}

// LearnPass returns the pass of a learner over the rows of partitions.
func (s *Session) LearnPass(l learn.Learner, folds, partitions int) *learn.Pass {
	p := s.Prepared
	// The size of shards is fixed, because the model depends on it.
	shards := p.Data.Shards(job.ShardBytes)
	common := s.Pass(folds)
	common.Shards = nil
	return &learn.Pass{
		Pass: common, Learner: l, Recipe: p.Recipe.Sealed, Assignments: p.Data.Assign(shards, partitions),
		Rows: p.Counts.Used, Folds: folds,
	}
}

// Pass returns the common part of all passes that assign rows to folds. If folds is above 1, or the recipe
// encodes training rows in another way, it panics unless CountCopies has been called.
func (s *Session) Pass(folds int) transforms.Pass {
	p := s.Prepared
	return transforms.Pass{
		Data: *p.Data, Shards: p.Shards, Mode: Mode(s.Options.MaxBadFraction), Seed: s.Options.Seed, Target: p.Target,
		Rule: p.Rule, Copies: p.copiesFor(folds),
		EqualWeights: p.EqualWeights(),
	}
}
