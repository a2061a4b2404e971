package spec

import (
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// Options that can be used with a recipe, except for the options of sum. Names are separated by spaces.
const (
	TrainByRecipe     = "model lambda C calibrate threshold select folds report"
	TwoSampleByRecipe = "min_p"
)

// CheckByRecipe returns an error for an option that the recipe determines: whose value differs from its default,
// and which is neither an option of sum nor among the free ones. given and defaults point to structs of one type,
// and k is the kernel of given.
func CheckByRecipe(given, defaults any, k kernel.Options, free string) error {
	values := map[string]string{}
	for _, o := range option.List(defaults) {
		values[o.Name] = o.String()
	}
	names := FreeByRecipe(free)
	for _, o := range option.List(given) {
		if o.String() != values[o.Name] && !slices.Contains(names, o.Name) {
			return FixedByRecipe(o.Name)
		}
	}
	if k != nil {
		return FixedByRecipe("kernel")
	}
	return nil
}

// FreeByRecipe returns the names of the options of sum and the given ones.
func FreeByRecipe(free string) []string {
	names := strings.Fields(free)
	for _, o := range option.List(&options.Sum{Data: dataset.Options{Formats: dataset.NewOptions()}}) {
		names = append(names, o.Name)
	}
	return names
}

// FixedByRecipe returns the error for an option that a recipe determines.
func FixedByRecipe(name string) error {
	return exit.Usagef("--%s cannot be used with --recipe, which decides it: leave out one of the two", name)
}
