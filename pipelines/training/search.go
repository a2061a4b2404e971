package training

import (
	"context"
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
	if o.Search != "" && !slices.Contains(Searches(), o.Search) {
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

// searchFeatures replaces the features by those that a search finds.
func (t *Training) searchFeatures(ctx context.Context) (err error) {
	t.Searched, err = tuning.Search(ctx, t.Session, tuning.Kernels(t.opts.Kernels), t.opts.parts())
	return err
}
