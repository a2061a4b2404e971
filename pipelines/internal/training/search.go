package training

import (
	"context"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/models/align"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
)

// Found says which features were learned or found by a search.
type Found struct {
	Learned  *prepare.Learned // features learned from the labels; nil for none
	Searched *tuning.Result   // the search; nil if there was none
	// lambdaByMSE tells that the solve tries values of λ by squared errors, and the log loss then chooses among
	// them.
	lambdaByMSE bool
}

// chooseFeatures learns or searches the features, if the options ask for it. It returns an error if they take
// too much memory.
func (t *Training) chooseFeatures(ctx context.Context) (f Found, err error) {
	s, err := t.prepareSearch(ctx)
	if err != nil {
		return f, err
	}
	if !t.opts.Resizes() { // otherwise each size is checked
		if err := t.Reserve(t.Memory(0)); err != nil {
			return f, err
		}
	}
	if t.opts.LearnsFeatures() {
		if f.Learned, _, err = t.LearnFeatures(ctx); err != nil {
			return f, err
		}
	}
	if t.opts.Searching() {
		err = t.Timed(ctx, "search", func(ctx context.Context) error { return t.searchFeatures(ctx, s, &f) })
	}
	return f, err
}

// LearnFeatures learns features from the data, and replaces the drawn ones. It also returns the reports of the game.
func (t *Training) LearnFeatures(ctx context.Context) (found *prepare.Learned, game []align.Report, err error) {
	s := &tuning.Game{Session: t.Session, Kernel: t.opts.LearnedKernel()}
	err = t.Timed(ctx, "align", func(ctx context.Context) (err error) {
		found, err = s.Learn(ctx, t.opts.Learned)
		return err
	})
	return found, s.Game, err
}

// search has what prepareSearch changed for the search.
type search struct {
	counted []string // columns that are encoded by counts for the search
	undo    func()   // restores their encoding, and the recipe with all features
}

// prepareSearch turns the search off if it does not apply to the data, or takes too much memory. For few rows
// it reduces the number of features.
func (t *Training) prepareSearch(ctx context.Context) (s search, err error) {
	if !t.opts.Searching() {
		return s, nil
	}
	full := t.Recipe
	s.undo = func() { t.Recipe = full }
	if !full.Recodes { // recipes that recode are not searched
		var undo func()
		s.counted, undo = tuning.Shorten(t.Data.Schema.Table, t.opts.Encode, t.Counts.Used, t.length())
		if s.counted != nil {
			s.undo = func() { undo(); t.Recipe = full }
			if err := t.RechooseRecipe(ctx, t.opts.Parts()); err != nil {
				return s, err
			}
		}
	}
	why := tuning.Unsearchable(t.Counts.Used, t.length(), len(t.Target.Grid), len(t.Distinct.Few(t.Counts.Used)),
		t.Recipe.Recodes)
	if _, err := t.Memory(0).CheckMachine(t.opts); why == "" && err != nil && t.Engine.InProcess() {
		why = "memory is too small"
	}
	t.notSearched(s, why)
	if why != "" || t.opts.Resizes() {
		return s, nil
	}
	if size := tuning.Features(t.opts.Kernels, t.Counts.Used, t.Recipe.Dim); size != t.Recipe.Dim {
		t.Recipe, err = t.Recipe.Resized(size)
	}
	return s, err
}

// length returns the larger of the row lengths before and after encoding.
func (t *Training) length() int { return max(t.Profile.Dim, t.Recipe.Scaling.Dim) }

// notSearched turns the search off for the given reason, unless it is "", and adds a note.
func (t *Training) notSearched(s search, why string) {
	if why == "" {
		return
	}
	t.opts.Search = tuning.NoSearch
	s.undo()
	t.AddNote("the features are the defaults; they were not searched: %s", why)
}

// searchFeatures replaces the features by the result of a search, and describes it in f.
func (t *Training) searchFeatures(ctx context.Context, s search, f *Found) (err error) {
	if t.opts.Resizes() { // the memory of a size is planned when it is tried
		all := t.Recipe
		if t.Recipe, err = all.Resized(min(tuning.LeastFeatures, all.Dim)); err != nil {
			return err
		}
		t.LimitMemory(t.Memory(0).Peak)
		t.Recipe = all
	}
	var why string
	f.Searched, why, err = tuning.Search(ctx, t.Session, tuning.Kernels(t.opts.Kernels), t.opts.Parts(),
		t.opts.LearnerName() == "ridge", t.searchedLong())
	t.notSearched(s, why)
	if r := f.Searched; r != nil {
		f.lambdaByMSE = t.judgeByLogLoss()
		if r.Stopped {
			t.AddNote("the search ended at two thirds of --time %s; with more time it would try more than these %d "+
				"candidates", t.opts.Size.Time, r.Tried)
		}
		if r.Categories != nil {
			t.AddNote("numbers whose values are categories, as predictions are better so: %s; --numeric keeps columns numbers",
				strings.Join(r.Categories, ", "))
		}
		if s.counted != nil {
			t.AddNote("columns encoded by how often their texts occur, as few rows share a text: %s; --encode onehot keeps "+
				"the texts apart", strings.Join(s.counted, ", "))
		}
	}
	if err == nil && why != "" && !t.opts.Resizes() { // the search may have changed sums and features
		return t.Reserve(t.Memory(0))
	}
	return err
}

// searchedLong returns a function that reports whether two thirds of the time limit are over, after which a
// search ends. It returns nil if there is no limit.
func (t *Training) searchedLong() func() bool {
	limit := t.opts.Size.Time
	if limit == 0 {
		return nil
	}
	return func() bool { return time.Since(t.begun) > limit*2/3 }
}
