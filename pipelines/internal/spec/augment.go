package spec

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/transforms/epochs"
)

// augmentWords has the steps of --augment, and whether a step takes a number.
var augmentWords = map[string]bool{"crop": false, "flip": false, "brightness": true, "contrast": true,
	"saturation": true}

// parseAugment parses the steps of --augment, without checking that they suit the data. crops reports
// whether there is a random crop.
func parseAugment(words []string) (a preprocess.Augment, crops bool, err error) {
	for _, word := range words {
		name, text, has := strings.Cut(word, ":")
		numbered, known := augmentWords[name]
		var amount float64
		switch {
		case !known:
			return a, false, exit.Usagef("--augment: unknown word %q%s; have %s", name,
				option.DidYouMean(name, option.SortedNames(augmentWords)), strings.Join(option.SortedNames(augmentWords), ", "))
		case numbered != has:
			return a, false, exit.Usagef("--augment: %q: want flip and crop alone, and an amount from 0 to 1 after the others, "+
				"as in brightness:0.2", word)
		case has:
			if amount, err = strconv.ParseFloat(text, 64); err != nil || !(amount > 0 && amount <= 1) {
				return a, false, exit.Usagef("--augment: %q: want an amount above 0, up to 1", word)
			}
		}
		switch name {
		case "crop":
			crops = true
		case "flip":
			a.Flip = true
		case "brightness":
			a.Brightness = amount
		case "contrast":
			a.Contrast = amount
		case "saturation":
			a.Saturation = amount
		}
	}
	return a, crops, nil
}

// Augmented returns how images are changed before learning, with the recipe of their features, or nil if words
// is empty. A random crop replaces the initial crop of --scale, which takes the middle.
func Augmented(words []string, schema dataset.Schema, r prepare.Recipe, seed uint64) (*epochs.Augment, error) {
	if len(words) == 0 {
		return nil, nil
	}
	a, crops, err := parseAugment(words)
	if err != nil {
		return nil, err
	}
	a.Shape, a.Seed = prepare.ShapeOf(schema), seed
	if a.Shape.Height == 0 {
		return nil, exit.Usagef("--augment needs images, and these rows are not known to be images")
	}
	whole, err := r.Sealed.Open()
	if err != nil {
		return nil, err
	}
	if crops {
		chain, _ := whole.(features.Chain)
		middle, ok := preprocess.Crop{}, false
		if len(chain.Steps) > 1 {
			middle, ok = chain.Steps[0].(preprocess.Crop)
		}
		if !ok {
			return nil, exit.Usagef("--augment crop uses the size of the crop in --scale, which must begin with one, as in " +
				"--scale crop:24,255")
		}
		a.Crop = middle.Size
		whole = features.Chain{Steps: slices.Clone(chain.Steps[1:])}
	}
	if err := a.Validate(); err != nil {
		return nil, &exit.UsageError{Err: err}
	}
	sealed, err := features.Seal(whole)
	if err != nil {
		return nil, err
	}
	return &epochs.Augment{Images: a, Recipe: sealed}, nil
}
