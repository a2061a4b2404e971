package prepare

import (
	"context"

	"github.com/bochner-ml/bochner/features/columns"
	"github.com/bochner-ml/bochner/models/weight"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/job"
	"github.com/bochner-ml/bochner/pipelines/recipe"
	"github.com/bochner-ml/bochner/transforms/survey"
)

// targetParts is the number of parts of training rows for target statistics: each has the
// statistics of the others.
const targetParts = 5

// TargetSums returns the number of sums of labels by so many levels.
func TargetSums(levels, outputs int) int64 {
	return targetParts * int64(levels) * int64(max(outputs, 2))
}

// chooseRecipe makes the recipe. Target statistics are left to Session.EncodeLabels.
func (l *Prepared) chooseRecipe(o Spec) (err error) {
	if columns.NeedsTargets(l.Data.Schema.Table, o.Encode) {
		if o.Learned != "" {
			return exit.Usage("--encode target cannot be used with --kernel %s, whose features are learned from labels too: give another --encode, also in a schema", o.Learned)
		}
		if !o.Trains {
			return exit.Usage("--encode target learns from labels, and only train does that: give another --encode")
		}
		if n := len(l.Data.Targets); n > 0 {
			return exit.Usage("--encode target needs one label to take statistics of; rows have %d: give another --encode", n)
		}
		return nil
	}
	return l.choose(o, nil)
}

func (l *Prepared) choose(o Spec, labels *columns.Targets) (err error) {
	encoding := recipe.Encoding{Options: o.Encode, Labels: labels}
	l.Recipe, err = recipe.Choose(o.Kernel, o.Scale, encoding, o.Seed, l.Data.Schema, &l.Profile, l.Sum)
	return err
}

// ChooseAgain makes the recipe once more, after the encodings of columns were changed.
func (s *Session) ChooseAgain() error { return s.choose(s.Spec, nil) }

// EncodeLabels makes the recipe if categories are encoded by target statistics, by one pass over
// the data. The rows of the first of held folds do not enter them; 0 means all rows do.
func (s *Session) EncodeLabels(ctx context.Context, held int) error {
	if s.Recipe.Sealed.Kind != "" {
		return nil
	}
	if err := s.CountCopies(ctx); err != nil {
		return err
	}
	s.Progress.Phase("summing labels", s.Counts.Used)
	defer s.Progress.Done()
	pass := &survey.Targets{
		Pass: s.Pass(targetParts), Cut: columns.Cut{Held: held, Parts: targetParts},
		Categories: columns.Categories(s.Data.Schema.Table, s.Spec.Encode), Weights: weight.NewGrid(s.Weights(), nil, nil),
	}
	if _, err := pass.Empty(); err != nil {
		return &exit.DataError{Err: err}
	}
	sum := new(columns.Targets)
	reports, err := s.ScanSum(ctx, pass, "targets", sum)
	if err != nil {
		return err
	}
	if _, err := job.Count(s.Data, reports, s.Spec.MaxBadFraction); err != nil {
		return err
	}
	if pass.Weights != nil {
		sum.Unit = pass.Weights.Unit // which the encoding of sums is without
	}
	return s.choose(s.Spec, sum)
}
