package training

import (
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// checkOrigin returns an error if the features of --frequencies were learned from the held-out rows, and adds a
// note if that is unknown.
func (t *Training) checkOrigin() error {
	o, parts := t.Prepared.Recipe.Origin, t.spec.FoldCount()
	if o == nil || parts == 0 {
		return nil
	}
	dir, here := t.spec.Kernel.(kernel.Learned).Directory(), t.Prepared.RowsDigest()
	switch {
	case o.HeldOut > 0 && (o.HeldOut != parts || o.Seed != t.spec.Seed):
		return exit.Usagef("--frequencies %s: the features were learned from all rows except one fold of %d with seed %d, "+
			"and only that fold is held out; give --folds %[2]d --seed %[3]d",
			dir, o.HeldOut, o.Seed)
	case o.HeldOut == 0 && (o.Rows == here || o.Fingerprint == t.Prepared.Digest):
		return exit.Usagef("--frequencies %s: the features were learned from all of these rows, so held-out errors would be "+
			"too good; run align with --folds %d, or give one --lambda, and no --folds, --patience or --calibrate",
			dir, parts)
	case o.HeldOut == 0:
		t.AddNotef("the features were learned from all rows of other data; if this data has some of those " +
			"rows, held-out errors are too good")
	}
	return nil
}

// mostJudged is the largest number of rows with which all folds choose λ after a search.
const mostJudged = 3000

// allJudge reports whether all folds choose λ although the search has seen the rows outside the first one. If
// rows are few, a single fold would choose a worse λ. Held-out figures still come from the first fold. The
// first night of a retraining uses only the first fold, as later nights do. So do landmarks, which are rows of
// the other folds: the weight of a landmark determines the prediction for its own row, and few other rows
// determine that weight.
func (t *Training) allJudge(f Found) bool {
	p := t.Prepared
	// only the search has seen the rows
	only := f.Searched != nil && f.Learned == nil && !p.Recipe.Recodes && !t.CountsTrainingRows()
	return only && p.Target.Grid != nil && p.Rule == nil && p.Counts.Used <= mostJudged && t.spec.Lambda.Select == "" &&
		!t.spec.ChoosesSize() && !t.atLandmarks()
}

// firstJudges reports whether only the first fold is held out, because features, preprocessing or encodings
// were learned from the other folds.
func (t *Training) firstJudges(f Found) bool {
	return t.Prepared.Recipe.Recodes || t.CountsTrainingRows() || f.Learned != nil || f.Searched != nil ||
		t.Prepared.Recipe.Origin != nil && t.Prepared.Recipe.Origin.HeldOut > 0
}
