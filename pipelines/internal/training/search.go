package training

import (
	"context"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/models/align"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Found says which features were learned or found by a search.
type Found struct {
	Learned  *results.Learned // features learned from the labels; nil for none
	Searched *tuning.Result   // the search; nil if there was none
	// lambdaByMSE means that the solve tries values of λ by squared errors, and the log loss then chooses among
	// them.
	lambdaByMSE bool
}

// chooseFeatures learns or searches the features, if the options ask for it. It returns an error if they take
// too much memory.
func (t *Training) chooseFeatures(ctx context.Context) (f Found, err error) {
	s := &search{Training: t}
	if err := s.prepare(ctx); err != nil {
		return f, err
	}
	if !t.opts.ChoosesSize() { // otherwise each size is checked
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
		err = t.Timed(ctx, "search", func(ctx context.Context) error { return s.run(ctx, &f) })
	}
	return f, err
}

// LearnFeatures learns features from the data, and replaces the drawn ones. It also returns the reports of the game.
func (t *Training) LearnFeatures(ctx context.Context) (found *results.Learned, game []align.Report, err error) {
	s := &tuning.Game{Session: t.Session, Kernel: t.opts.LearnedKernel()}
	err = t.Timed(ctx, "align", func(ctx context.Context) (err error) {
		found, err = s.Learn(ctx, t.opts.Learned)
		return err
	})
	return found, s.Game, err
}

// search is a search for features, and what prepare changed for it.
type search struct {
	*Training
	counted []string // columns that are encoded by counts for the search
	undo    func()   // restores their encoding, and the recipe with all features
}

// prepare turns the search off if it does not apply to the data, or takes too much memory. For few rows
// it reduces the number of features.
func (s *search) prepare(ctx context.Context) (err error) {
	if !s.opts.Searching() {
		return nil
	}
	full := s.Recipe
	s.undo = func() { s.Recipe = full }
	if !full.Recodes { // recipes that recode are not searched
		var undo func()
		s.counted, undo = tuning.Shorten(s.Data.Schema.Table, s.opts.Encode, s.Counts.Used, s.length())
		if s.counted != nil {
			s.undo = func() { undo(); s.Recipe = full }
			if err := s.RechooseRecipe(ctx, s.opts.FoldCount()); err != nil {
				return err
			}
		}
	}
	why := tuning.Unsearchable(s.Counts.Used, s.length(), len(s.Target.Grid), len(s.Distinct.Few(s.Counts.Used)),
		s.Recipe.Recodes)
	if _, err := s.opts.CheckMachine(s.Memory(0)); why == "" && err != nil && s.Engine.InProcess() {
		why = "memory is too small"
	}
	s.notSearched(why)
	if why != "" || s.opts.ChoosesSize() {
		return nil
	}
	if size := tuning.Features(s.opts.Kernels, s.Counts.Used, s.Recipe.Dim); size != s.Recipe.Dim {
		s.Recipe, err = s.Recipe.WithFeatures(size)
	}
	return err
}

// length returns the larger of the row lengths before and after encoding.
func (s *search) length() int { return max(s.Profile.Dim, s.Recipe.Scaling.Dim) }

// notSearched turns the search off for the given reason, unless it is "", and adds a note.
func (s *search) notSearched(why string) {
	if why == "" {
		return
	}
	s.opts.Search = options.NoSearch
	s.undo()
	s.AddNote("the features are the defaults; they were not searched: %s", why)
}

// run replaces the features by the result of a search, and describes it in f.
func (s *search) run(ctx context.Context, f *Found) (err error) {
	if s.opts.ChoosesSize() { // the memory of a size is planned when it is tried
		least, err := s.Recipe.WithFeatures(min(tuning.LeastFeatures, s.Recipe.Dim))
		if err != nil {
			return err
		}
		s.LimitMemory(s.memoryWith(least, 0).Peak)
	}
	var why string
	f.Searched, why, err = tuning.Search(ctx, s.Session, tuning.Kernels(s.opts.Kernels), s.opts.FoldCount(),
		s.opts.LearnerName() == "ridge", s.searchedLong())
	s.notSearched(why)
	if r := f.Searched; r != nil {
		if f.lambdaByMSE = s.logLossChooses(); f.lambdaByMSE {
			s.opts.Lambda.Select = options.SelectLogLoss
		}
		if r.Stopped {
			s.AddNote("the search ended at two thirds of --time %s; with more time it would try more than these %d "+
				"candidates", s.opts.Size.Time, r.Tried)
		}
		if r.Categories != nil {
			s.AddNote("numbers whose values are categories, as predictions are better so: %s; --numeric keeps columns numbers",
				strings.Join(r.Categories, ", "))
		}
		if s.counted != nil {
			s.AddNote("columns encoded by how often their texts occur, as few rows share a text: %s; --encode onehot keeps "+
				"the texts apart", strings.Join(s.counted, ", "))
		}
	}
	if err == nil && why != "" && !s.opts.ChoosesSize() { // the search may have changed sums and features
		return s.Reserve(s.Memory(0))
	}
	return err
}

// searchedLong returns a function that reports whether two thirds of the time limit are over, after which a
// search ends. It returns nil if there is no limit.
func (s *search) searchedLong() func() bool {
	limit := s.opts.Size.Time
	if limit == 0 {
		return nil
	}
	return func() bool { return time.Since(s.begun) > limit*2/3 }
}
