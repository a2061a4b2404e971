package training

import (
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// checkOrigin refuses held-out rows from which the features of --frequencies were learned, and
// adds a note if that is unknown.
func (t *Training) checkOrigin() error {
	o, parts := t.Recipe.Origin, t.opts.Parts()
	if o == nil || parts == 0 {
		return nil
	}
	dir, here := t.opts.Kernel.(kernel.LearnedKernel).Directory(), t.RowsDigest()
	switch {
	case o.HeldOut > 0 && (o.HeldOut != parts || o.Seed != t.opts.Seed):
		return exit.Usage("--frequencies %s: the features were learned from all rows except one fold of %d with seed %d, "+
			"and only that fold is held out; give --folds %[2]d --seed %[3]d",
			dir, o.HeldOut, o.Seed)
	case o.HeldOut == 0 && (o.Rows == here || o.Fingerprint == t.Digest):
		return exit.Usage("--frequencies %s: the features were learned from all of these rows, so held-out errors would be "+
			"too good; run align with --folds %d, or give one --lambda, and no --folds, --patience or --calibrate",
			dir, parts)
	case o.HeldOut == 0:
		t.Notes = append(t.Notes, "the features were learned from all rows of other data; if this data has some of those "+
			"rows, held-out errors are too good")
	}
	return nil
}

// mostJudged is the number of rows up to which all folds choose λ after a search.
const mostJudged = 3000

// allJudge reports whether all folds choose λ although the search has seen the rows of all but the first.
// If rows are few, one fold alone chooses a worse λ. Held-out figures still come from the first fold. A
// first night leaves λ to the first fold, as later ones do. Landmarks are rows of the other folds, which cannot
// judge them: if a row is a landmark, the weight of that landmark decides its prediction, and hardly any other row
// fits that weight.
func (t *Training) allJudge() bool {
	// nothing else has seen the rows
	only := t.Searched != nil && t.Learned == nil && !t.Recipe.Recodes && !t.CountsApart()
	return only && t.Target.Grid != nil && t.Rule == nil && t.Counts.Used <= mostJudged && t.opts.Lambda.Select == "" &&
		!t.opts.Resizes() && !t.atLandmarks()
}

// firstJudges reports whether only the first fold is held out, because features, the way to make
// them, or encodings were learned from the other folds.
func (t *Training) firstJudges() bool {
	return t.Recipe.Recodes || t.CountsApart() || t.Learned != nil || t.Searched != nil ||
		t.Recipe.Origin != nil && t.Recipe.Origin.HeldOut > 0
}
