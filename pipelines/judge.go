package pipelines

// parts is how many parts rows are cut into because some of them are to judge: λ, the
// round to stop at, or the curves of probabilities. It is 0 where no rows are held out.
func (o TrainOptions) parts() int {
	if o.Learner.Name != "ridge" {
		_, folds := o.roundPath(1)
		return folds
	}
	_, folds := o.Lambda.path(1)
	switch {
	case folds > 1:
		return folds
	case o.Calibrate != "":
		return DefaultFolds
	}
	return 0
}

// origin tells from which rows learned features were found.
type origin struct {
	held int    // parts the rows were cut into, the first of which was not looked at; 0 for none
	seed uint64 // of the parts
	rows string // a digest of the rows, whatever the seed; "" of older versions

	fingerprint string // of the rows by that seed
}

// checkOrigin refuses to judge by rows that the features of --frequencies were found
// from, and notes where that cannot be told.
func (t *training) checkOrigin() error {
	o, parts := t.recipe.origin, t.opts.parts()
	if o == nil || parts == 0 {
		return nil
	}
	dir, here := t.opts.Kernel.Frequencies, t.rowsDigest()
	switch {
	case o.held > 0 && (o.held != parts || o.seed != t.opts.Seed):
		return usage("--frequencies %s: the features were found from all rows but one part in %d by the seed %d, and only such rows can judge them; give --folds %[2]d --seed %[3]d",
			dir, o.held, o.seed)
	case o.held == 0 && (o.rows == here || o.fingerprint == t.digest):
		return usage("--frequencies %s: the features were found from all of these rows, so none of them can judge: held-out errors would be too good; run align with --folds %d, or give one --lambda, and no --folds, --patience or --calibrate",
			dir, parts)
	case o.held == 0:
		t.notes = append(t.notes, "the features were found from all rows of other data; where rows of those are among these, held-out errors are too good")
	}
	return nil
}

// partWords names the rows held out: one in 5.
func partWords(parts int) string { return "one in " + groups(int64(parts)) }

// firstJudges tells that only the first part of the rows can judge, because features
// were found from the others.
func (t *training) firstJudges() bool {
	return t.learned != nil || t.recipe.origin != nil && t.recipe.origin.held > 0
}
