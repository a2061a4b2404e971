package spec

import (
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/features/image"
	"github.com/bochner-ml/bochner/internal/spell"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// augmentWords are the steps of --augment; the value tells whether a step takes a number.
var augmentWords = map[string]bool{"crop": false, "flip": false, "brightness": true, "contrast": true, "saturation": true}

// Augmentation parses the steps of --augment, without the data.
func Augmentation(words []string) (a image.Augment, crops bool, err error) {
	for _, word := range words {
		name, text, has := strings.Cut(word, ":")
		numbered, known := augmentWords[name]
		var amount float64
		switch {
		case !known:
			return a, false, exit.Usage("--augment: unknown word %q%s; have %s", name, spell.DidYouMean(name, spell.Names(augmentWords)), strings.Join(spell.Names(augmentWords), ", "))
		case numbered != has:
			return a, false, exit.Usage("--augment: %q: want flip and crop alone, and an amount from 0 to 1 after the others, as in brightness:0.2", word)
		case has:
			if amount, err = strconv.ParseFloat(text, 64); err != nil || !(amount > 0 && amount <= 1) {
				return a, false, exit.Usage("--augment: %q: want an amount above 0, up to 1", word)
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
