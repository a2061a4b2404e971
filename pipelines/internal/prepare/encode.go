package prepare

import (
	"context"

	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/transforms/survey"
)

// targetParts is the number of parts of the training rows for target statistics: rows of a part are encoded by
// the statistics of the other parts.
const targetParts = 5

// TargetSums returns the number of sums of labels for that many levels and outputs.
func TargetSums(levels, outputs int) int64 {
	return targetParts * int64(levels) * int64(max(outputs, 2))
}

// chooseRecipe makes the recipe, unless it needs target statistics: see Session.EncodeLabels.
func (l *Prepared) chooseRecipe(o Spec) (err error) {
	if preprocess.NeedsTargets(l.Data.Schema.Table, o.Encode) {
		if o.Learned != "" {
			return exit.Usage("--encode target cannot be used with --kernel %s, whose features are learned from labels too: "+
				"give another --encode, also in a schema", o.Learned)
		}
		if !o.Trains {
			return exit.Usage("--encode target learns from labels, and only train does that: give another --encode")
		}
		if n := len(l.Data.Targets); n > 0 {
			return exit.Usage("--encode target needs one label to take statistics of; rows have %d: give another --encode", n)
		}
		return nil
	}
	return l.choose(o)
}

func (l *Prepared) choose(o Spec) (err error) {
	encoding := Encoding{ColumnOptions: o.Encode, Labels: l.labels, Counts: l.counts}
	l.Recipe, err = ChooseRecipe(o.Kernel, o.Scale, encoding, o.Seed, l.Data.Schema, &l.Profile, l.Sum)
	return err
}

// RechooseRecipe makes the recipe again, after the encodings of columns have changed. If categories are encoded
// by counts and held is not 0, it counts their levels in one pass over the rows outside the first of held
// folds, because counts of new rows are not known either. With held 0, the counts of the profile over all rows
// are used.
func (s *Session) RechooseRecipe(ctx context.Context, held int) (err error) {
	s.counts = nil
	if held > 0 {
		if s.counts, err = s.sumLabels(ctx, preprocess.Counts, held); err != nil {
			return err
		}
	}
	return s.choose(s.Spec)
}

// CountsTrainingRows reports whether categories are encoded by counts of only the rows that are not held out.
func (s *Session) CountsTrainingRows() bool {
	return s.counts != nil && len(preprocess.Categories(s.Data.Schema.Table, s.Spec.Encode, preprocess.Counts)) > 0
}

// EncodeLabels makes the recipe if categories are encoded by labels or counts, with one pass over the data for
// each. It leaves out the rows of the first of held folds; with held 0 it uses all rows.
func (s *Session) EncodeLabels(ctx context.Context, held int) (err error) {
	if s.Recipe.Sealed.Kind == "" {
		if s.labels, err = s.sumLabels(ctx, preprocess.Means, held); err != nil {
			return err
		}
	} else if held == 0 || len(preprocess.Categories(s.Data.Schema.Table, s.Spec.Encode, preprocess.Counts)) == 0 {
		return nil
	}
	return s.RechooseRecipe(ctx, held)
}

// sumLabels sums the labels, or counts the rows, for each level of the categories with the given encoding. It
// returns nil if there are no such categories or no labels.
func (s *Session) sumLabels(ctx context.Context, by preprocess.Encoding, held int) (*preprocess.Targets, error) {
	pass := &survey.Targets{Cut: preprocess.Cut{Held: held, Parts: targetParts},
		Categories: preprocess.Categories(s.Data.Schema.Table, s.Spec.Encode, by)}
	if len(pass.Categories) == 0 || s.Target == nil {
		return nil, nil
	}
	if err := s.CountCopies(ctx); err != nil {
		return nil, err
	}
	s.Progress.Phase("summing categories", s.Counts.Used)
	defer s.Progress.Done()
	pass.Pass = s.Pass(targetParts)
	if pass.Counts = by == preprocess.Counts; !pass.Counts {
		pass.Weights = profile.NewWeightGrid(s.Weights(), nil, nil)
	}
	if _, err := pass.Empty(); err != nil {
		return nil, &exit.DataError{Err: err}
	}
	sum := new(preprocess.Targets)
	reports, err := s.ScanSum(ctx, pass, "targets", sum)
	if err != nil {
		return nil, err
	}
	if _, err := job.Count(s.Data, reports, s.Spec.MaxBadFraction); err != nil {
		return nil, err
	}
	if pass.Weights != nil {
		sum.Unit = pass.Weights.Unit // the encoded sum lacks it
	}
	return sum, nil
}
