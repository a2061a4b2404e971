package training

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
)

// search is the search for features of a training. The zero value is none.
type search struct {
	full       prepare.Recipe // of all features, if the search is for fewer of them
	counted    []string       // columns that the search encodes by counts
	undoCounts func()         // which encodes them as before
}

// prepareSearch puts the search off if it does not apply to the data, or takes more memory than there is.
// With few rows the search is for fewer features.
func (t *Training) prepareSearch(ctx context.Context) (s search, err error) {
	if !t.opts.Searching() {
		return s, nil
	}
	full := t.Recipe
	if !t.Recipe.Recodes { // which is not searched
		s.counted, s.undoCounts = tuning.Shorten(t.Data.Schema.Table, t.opts.Encode, t.Counts.Used, t.length())
	}
	if s.counted != nil {
		if err := t.RechooseRecipe(ctx, t.opts.Parts()); err != nil {
			return s, err
		}
		s.full = full
	}
	why := tuning.Unsearchable(t.Counts.Used, t.length(), len(t.Target.Grid), len(t.Distinct.Few(t.Counts.Used)),
		t.Recipe.Recodes)
	if _, err := t.Memory(0).Fits(t.opts); why == "" && err != nil && t.Engine.InProcess() {
		why = "memory is too small"
	}
	if t.notSearched(s, why); why != "" || t.opts.Resizes() {
		return s, nil
	}
	size := tuning.Features(t.opts.Kernels, t.Counts.Used, t.Recipe.Dim)
	if size == t.Recipe.Dim {
		return s, nil
	}
	if s.full.Dim == 0 {
		s.full = t.Recipe
	}
	t.Recipe, err = t.Recipe.Resized(size)
	return s, err
}

// length is the larger of the row lengths in the files and of encodings.
func (t *Training) length() int { return max(t.Profile.Dim, t.Recipe.Scaling.Dim) }

// notSearched makes the training one without a search, for that reason, if there is one.
func (t *Training) notSearched(s search, why string) {
	if why == "" {
		return
	}
	t.opts.Search = tuning.NoSearch
	if s.full.Dim > 0 {
		t.Recipe = s.full
	}
	if s.undoCounts != nil {
		s.undoCounts()
	}
	t.Notes = append(t.Notes, fmt.Sprintf("the features are the defaults; they were not searched: %s", why))
}

// searchFeatures replaces the features by those that a search finds.
func (t *Training) searchFeatures(ctx context.Context, s search) (err error) {
	if t.opts.Resizes() { // the memory of a size is planned when it is tried
		all := t.Recipe
		if t.Recipe, err = all.Resized(min(tuning.LeastFeatures, all.Dim)); err != nil {
			return err
		}
		t.LimitMemory(t.Memory(0).Peak)
		t.Recipe = all
	}
	var why string
	t.Searched, why, err = tuning.Search(ctx, t.Session, tuning.Kernels(t.opts.Kernels), t.opts.Parts(),
		t.opts.LearnerName() == "ridge", t.searchedLong())
	t.notSearched(s, why)
	if t.Searched != nil {
		t.judgeByLogLoss()
		if t.Searched.Stopped {
			t.Notes = append(t.Notes, fmt.Sprintf("the search ended at two thirds of --time %s; with more time it would try "+
				"more than these %d candidates", t.opts.Size.Time, t.Searched.Tried))
		}
		if names := t.Searched.Categories; names != nil {
			t.Notes = append(t.Notes, fmt.Sprintf("numbers whose values are categories, as predictions are better so: %s; "+
				"--numeric keeps columns numbers", strings.Join(names, ", ")))
		}
		if s.counted != nil {
			t.Notes = append(t.Notes, fmt.Sprintf("columns encoded by how often their texts occur, as few rows share a text: "+
				"%s; --encode onehot keeps the texts apart", strings.Join(s.counted, ", ")))
		}
	}
	if err == nil && why != "" && !t.opts.Resizes() { // there are more sums, and perhaps other features
		return t.Fits(t.Memory(0))
	}
	return err
}

// searchedLong returns a function that tells whether two thirds of the time of the training are
// over, when a search of features ends; nil if its time is not limited.
func (t *Training) searchedLong() func() bool {
	limit := t.opts.Size.Time
	if limit == 0 {
		return nil
	}
	return func() bool { return time.Since(t.begun) > limit*2/3 }
}
