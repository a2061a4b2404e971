package training

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/spell"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/tuning"
)

// Searches returns the values of Options.Search.
func Searches() []string { return []string{tuning.Auto, tuning.None} }

func (o Options) validateSearch() error {
	if !slices.Contains(Searches(), o.Search) {
		return exit.Usage("--search must be %s (have %q)%s", strings.Join(Searches(), " or "), o.Search, spell.DidYouMean(o.Search, Searches()))
	}
	return nil
}

// withKernels fills in the kernels of a search.
func (o Options) withKernels() Options {
	switch {
	case o.Kernels == nil && o.Kernel == nil:
		o.Kernels = tuning.Families()
	case o.Kernels == nil:
		o.Kernels = []kernel.Options{o.Kernel}
	}
	if o.Kernel == nil && len(o.Kernels) > 0 {
		o.Kernel = o.Kernels[0]
	}
	return o
}

// Searching tells whether there is anything to search.
func (o Options) Searching() bool {
	return o.Search == tuning.Auto && len(tuning.Kernels(o.Kernels)) > 0
}

// canSearch puts the search off if it does not apply to the data, or takes more memory than there is.
// With few rows the search is for fewer features.
func (t *Training) canSearch() (err error) {
	if !t.opts.Searching() {
		return nil
	}
	why := tuning.Unsearchable(t.Counts.Used, max(t.Profile.Dim, t.Recipe.Scaling.Dim), len(t.Target.Grid), t.Recipe.Recodes)
	if _, err := t.Memory(0).Fits(t.opts); why == "" && err != nil && t.Engine.InProcess() {
		why = "memory is too small"
	}
	if t.notSearched(why); why != "" || t.opts.resizes() {
		return nil
	}
	size := tuning.Features(t.opts.Kernels, t.Counts.Used, t.Recipe.Dim)
	if size == t.Recipe.Dim {
		return nil
	}
	t.whole = t.Recipe
	t.Recipe, err = t.Recipe.Resized(size)
	return err
}

// notSearched makes the training one without a search, for that reason, if there is one.
func (t *Training) notSearched(why string) {
	if why == "" {
		return
	}
	t.opts.Search = tuning.None
	if t.whole.Dim > 0 {
		t.Recipe = t.whole
	}
	t.Notes = append(t.Notes, fmt.Sprintf("the features are the defaults; they were not searched: %s", why))
}

// searchFeatures replaces the features by those that a search finds.
func (t *Training) searchFeatures(ctx context.Context) (err error) {
	var why string
	t.Searched, why, err = tuning.Search(ctx, t.Session, tuning.Kernels(t.opts.Kernels), t.opts.parts())
	t.notSearched(why)
	if err == nil && why != "" && t.whole.Dim > 0 {
		return t.Fits(t.Memory(0))
	}
	return err
}
