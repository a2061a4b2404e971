package spec

import (
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
)

// Searches returns the values of Options.Search.
func Searches() []string { return []string{tuning.AutoSearch, tuning.NoSearch} }

func (o Options) validateSearch() error {
	if !slices.Contains(Searches(), o.Search) {
		return exit.Usage("--search must be %s (have %q)%s", strings.Join(Searches(), " or "), o.Search,
			option.DidYouMean(o.Search, Searches()))
	}
	return nil
}

// WithKernels returns the options with the default Kernels for a search.
func (o Options) WithKernels() Options {
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

// Searching reports whether the search is on and has something to choose.
func (o Options) Searching() bool {
	return o.Search == tuning.AutoSearch && len(tuning.Kernels(o.Kernels)) > 0
}
