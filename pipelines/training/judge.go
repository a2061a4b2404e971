package training

import (
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// parts is how many parts rows are cut into because some of them are to judge: λ, the
// round to stop at, or the curves of probabilities. It is 0 where no rows are held out.
func (o Options) parts() int {
	_, folds := o.Values(1)
	switch {
	case folds > 1:
		return folds
	case o.Calibrate != "":
		return DefaultFolds
	}
	return 0
}

// checkOrigin refuses to judge by rows that the features of --frequencies were found
// from, and notes where that cannot be told.
func (t *Training) checkOrigin() error {
	o, parts := t.Recipe.Origin, t.opts.parts()
	if o == nil || parts == 0 {
		return nil
	}
	dir, here := t.opts.Kernel.(kernel.Found).Directory(), t.RowsDigest()
	switch {
	case o.HeldOut > 0 && (o.HeldOut != parts || o.Seed != t.opts.Seed):
		return exit.Usage("--frequencies %s: the features were found from all rows but one part in %d by the seed %d, and only such rows can judge them; give --folds %[2]d --seed %[3]d",
			dir, o.HeldOut, o.Seed)
	case o.HeldOut == 0 && (o.Rows == here || o.Fingerprint == t.Digest):
		return exit.Usage("--frequencies %s: the features were found from all of these rows, so none of them can judge: held-out errors would be too good; run align with --folds %d, or give one --lambda, and no --folds, --patience or --calibrate",
			dir, parts)
	case o.HeldOut == 0:
		t.Notes = append(t.Notes, "the features were found from all rows of other data; where rows of those are among these, held-out errors are too good")
	}
	return nil
}

// firstJudges tells that only the first part of the rows can judge, because features
// were found from the others.
func (t *Training) firstJudges() bool {
	return t.Learned != nil || t.Recipe.Origin != nil && t.Recipe.Origin.HeldOut > 0
}
