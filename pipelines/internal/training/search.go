package training

import (
	"context"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/models/align"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// FeatureChoice holds the features that were learned or found by a search.
type FeatureChoice struct {
	Learned  *results.Learned // features learned from the labels; nil if there are none
	Searched *tuning.Result   // the search; nil if there was none
	// lambdaByMSE means that the solve tries values of λ by squared errors, and the log loss then chooses among
	// them.
	lambdaByMSE bool
}

// chooseFeatures learns or searches the features, if the options ask for it. It returns an error if they take
// too much memory.
func (t *Training) chooseFeatures(ctx context.Context) (f FeatureChoice, err error) {
	s := &search{training: t}
	if err := s.prepare(ctx); err != nil {
		return f, err
	}
	if !t.spec.ChoosesSize() { // otherwise each size is checked
		if err := t.Reserve(t.Memory(0)); err != nil {
			return f, err
		}
	}
	if t.spec.LearnsFeatures() {
		if f.Learned, _, err = t.LearnFeatures(ctx); err != nil {
			return f, err
		}
	}
	if t.spec.Searching() {
		err = s.run(ctx, &f)
	}
	return f, err
}

// LearnFeatures learns features from the data, and replaces the drawn ones. It also returns the reports of the game.
func (t *Training) LearnFeatures(ctx context.Context) (learned *results.Learned, game []align.Report, err error) {
	s := &tuning.Game{Session: t.Session, Kernel: t.spec.LearnedKernel()}
	defer t.Job.Time("align")()
	learned, err = s.Learn(ctx, t.spec.Learned)
	return learned, s.Reports, err
}

// search is a search for features, and what prepare changed for it.
type search struct {
	training *Training
	counted  []string // columns that are encoded by counts for the search
	undo     func()   // restores their encoding, and the recipe with all features
}

// prepare turns the search off if it does not apply to the data, or takes too much memory. For few rows
// it reduces the number of features.
func (s *search) prepare(ctx context.Context) (err error) {
	t := s.training
	p := t.Prepared
	if !t.spec.Searching() {
		return nil
	}
	full := p.Recipe
	s.undo = func() { p.Recipe = full }
	if !full.Recodes { // recipes that recode are not searched
		var undo func()
		s.counted, undo = tuning.Shorten(p.Data.Schema.Table, t.spec.Encode, p.Counts.Used, s.length())
		if s.counted != nil {
			s.undo = func() { undo(); p.Recipe = full }
			if err := t.RechooseRecipe(ctx, t.spec.FoldCount()); err != nil {
				return err
			}
		}
	}
	why := tuning.Unsearchable(p.Counts.Used, s.length(), len(p.Target.Grid), len(p.Distinct.Few(p.Counts.Used)),
		p.Recipe.Recodes)
	if _, err := t.spec.CheckMachine(t.Memory(0)); why == "" && err != nil && t.Job.Engine.InProcess() {
		why = "memory is too small"
	}
	s.notSearched(why)
	if why != "" || t.spec.ChoosesSize() {
		return nil
	}
	if size := tuning.Features(t.spec.Kernels, p.Counts.Used, p.Recipe.Dim); size != p.Recipe.Dim {
		p.Recipe, err = p.Recipe.WithFeatures(size)
	}
	return err
}

// length returns the larger of the row lengths before and after encoding.
func (s *search) length() int {
	return max(s.training.Prepared.Profile.Dim, s.training.Prepared.Recipe.Scaling.Dim)
}

// notSearched turns the search off for the given reason, unless it is "", and adds a note.
func (s *search) notSearched(why string) {
	if why == "" {
		return
	}
	s.training.spec.Search = options.SearchNone
	s.undo()
	s.training.AddNotef("the features are the defaults; they were not searched: %s", why)
}

// run replaces the features by the result of a search, and describes it in f.
func (s *search) run(ctx context.Context, f *FeatureChoice) (err error) {
	t := s.training
	defer t.Job.Time("search")()
	if t.spec.ChoosesSize() { // the memory of a size is planned when it is tried
		least, err := t.Prepared.Recipe.WithFeatures(min(tuning.MinFeatures, t.Prepared.Recipe.Dim))
		if err != nil {
			return err
		}
		t.Job.LimitMemory(t.memoryWith(least, 0).Peak)
	}
	var why string
	search := &tuning.Search{Session: t.Session, Kernels: tuning.Kernels(t.spec.Kernels), Folds: t.spec.FoldCount(),
		Landmarks: t.spec.LearnerName() == ridge.Name, Stop: s.searchedLong()}
	f.Searched, why, err = search.Run(ctx)
	s.notSearched(why)
	if r := f.Searched; r != nil {
		f.lambdaByMSE = t.logLossChooses()
		if f.lambdaByMSE {
			t.spec.Lambda.Select = options.SelectLogLoss
		}
		if r.Stopped {
			t.AddNotef("the search ended at two thirds of --time %s; with more time it would try more than these %d "+
				"candidates", t.spec.Size.Time, r.Tried)
		}
		if r.Categories != nil {
			t.AddNotef("numbers whose values are categories, as predictions are better so: %s; --numeric keeps columns numbers",
				strings.Join(r.Categories, ", "))
		}
		if s.counted != nil {
			t.AddNotef("columns encoded by how often their texts occur, as few rows share a text: %s; --encode onehot keeps "+
				"the texts apart", strings.Join(s.counted, ", "))
		}
	}
	if err == nil && why != "" && !t.spec.ChoosesSize() { // the search may have changed sums and features
		return t.Reserve(t.Memory(0))
	}
	return err
}

// searchedLong returns a function that reports whether two thirds of the time limit are over, after which a
// search ends. It returns nil if there is no limit.
func (s *search) searchedLong() func() bool {
	limit := s.training.spec.Size.Time
	if limit == 0 {
		return nil
	}
	return func() bool { return time.Since(s.training.begun) > limit*2/3 }
}
