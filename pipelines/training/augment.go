package training

import (
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/image"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/recipe"
	"github.com/bochner-ml/bochner/pipelines/spec"
	"github.com/bochner-ml/bochner/transforms/epochs"
)

// augment returns how images are changed before learning, and the recipe of features for them;
// nil if nothing was requested. A random crop replaces the initial crop of --scale, which takes
// the middle.
func (t *Training) augment(words []string) (*epochs.Augment, error) {
	if len(words) == 0 {
		return nil, nil
	}
	a, crops, err := spec.Augmentation(words)
	if err != nil {
		return nil, err
	}
	a.Shape, a.Seed = recipe.ShapeOf(t.Data.Schema), t.opts.Seed
	if a.Shape.Height == 0 {
		return nil, exit.Usage("--augment needs images, and these rows are not known to be images")
	}
	recipe, err := t.Recipe.Sealed.Open()
	if err != nil {
		return nil, err
	}
	if crops {
		chain, _ := recipe.(features.Chain)
		middle, ok := image.Crop{}, false
		if len(chain.Steps) > 1 {
			middle, ok = chain.Steps[0].(image.Crop)
		}
		if !ok {
			return nil, exit.Usage("--augment crop uses the size of the crop in --scale, which must begin with one, as in --scale crop:24,255")
		}
		a.Crop = middle.Size
		recipe = features.Chain{Steps: slices.Clone(chain.Steps[1:])}
	}
	if err := a.Validate(); err != nil {
		return nil, &exit.UsageError{Err: err}
	}
	sealed, err := features.Seal(recipe)
	if err != nil {
		return nil, err
	}
	return &epochs.Augment{Images: a, Recipe: sealed}, nil
}
