package prepare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/patches"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/search"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// Parameters of hog: 8 orientations in cells of 4×4 pixels, as in Bullins, Zhang and Zhang ("Not-So-Random
// Features", 2018, §5).
const (
	hogCell         = 4
	hogOrientations = 8
)

// ShapeOf returns the shape of the images that rows hold. Its height is 0 if rows are not known to be images.
func ShapeOf(schema dataset.Schema) preprocess.ImageShape {
	return preprocess.ImageShape(schema.Shape())
}

// imageArgs has the number of arguments of steps.
var imageArgs = map[string]int{"crop": 1, "patchpca": 3, "patches": 3}

// imageNumbers returns the arguments of a step such as crop:24.
func imageNumbers(name, args string) ([]int, error) {
	want, ok := imageArgs[name]
	if !ok {
		return nil, exit.Usagef("--scale: unknown step %q%s; have crop:SIZE, patchpca:SIZE:STRIDE:KEEP, "+
			"patches:SIZE:CELLS:FILTERS", name, option.DidYouMean(name, option.SortedNames(imageArgs)))
	}
	var numbers []int
	for _, word := range strings.Split(args, ":") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, exit.Usagef("--scale: %s:%s: %q is not a whole number > 0", name, args, word)
		}
		numbers = append(numbers, n)
	}
	if len(numbers) != want {
		return nil, exit.Usagef("--scale: %s takes %d numbers, as in crop:24 and patchpca:5:2:12 (have %s)", name, want, args)
	}
	return numbers, nil
}

// imageStep adds a step for images. recipe returns it for the shape of the rows.
func (sc *Scaling) imageStep(name string, recipe func(preprocess.ImageShape) (features.Recipe, error)) error {
	if sc.image.Height == 0 {
		return exit.Usagef("--scale: %s needs images, and these rows are not images (or no longer)", name)
	}
	r, err := recipe(sc.image)
	if err != nil {
		return err
	}
	var result preprocess.ImageShape // stays zero after steps such as hog
	if images, ok := r.(interface{ Result() preprocess.ImageShape }); ok {
		result = images.Result()
	}
	if err := sc.mix(r); err != nil {
		return err
	}
	sc.image = result
	return nil
}

// plainImageStep returns the step without arguments of that name.
func plainImageStep(name string, recipe func(preprocess.ImageShape) features.Recipe) func(*Scaling) error {
	return func(sc *Scaling) error {
		return sc.imageStep(name, func(s preprocess.ImageShape) (features.Recipe, error) { return recipe(s), nil })
	}
}

// numberedStep adds a step with arguments.
func (sc *Scaling) numberedStep(name, args string) error {
	numbers, err := imageNumbers(name, args)
	if err != nil {
		return err
	}
	return sc.imageStep(name, func(shape preprocess.ImageShape) (features.Recipe, error) {
		if name == "crop" {
			return preprocess.Crop{Shape: shape, Size: numbers[0]}, nil
		}
		x, n, err := sc.Sample() // patchpca and patches learn from its patches
		if err != nil {
			return nil, err
		}
		if name == "patches" {
			return sc.patches(x, n, numbers[0], numbers[1], numbers[2])
		}
		r, err := preprocess.FitPatchPCA(x, n, preprocess.PatchFit{Shape: shape, Patch: numbers[0], Stride: numbers[1],
			Out: numbers[2]})
		if err != nil {
			return nil, &exit.DataError{Err: err}
		}
		return r, nil
	})
}

// patches returns a convolutional layer whose filters are patches of the n images of x.
func (sc *Scaling) patches(x []float32, n, size, cells, filters int) (features.Recipe, error) {
	l, err := patches.Sample{Shape: sc.image, Patch: size, X: x, N: n, Seed: sc.seed}.Fit(cells)
	if err != nil {
		return nil, &exit.DataError{Err: err}
	}
	r, err := l.Recipe(filters, sc.seed)
	if err != nil {
		return nil, &exit.DataError{Err: err}
	}
	return r, nil
}

// Sizes of the layer of patches that a search tries, for images of at least leastSide pixels on each side.
const (
	leastSide   = 16
	viewPatch   = 5 // pixels, one more for images in colour
	viewCells   = 3
	viewFilters = 64
)

// viewSize returns the number of pixels on each side of the patches that a search tries.
func viewSize(shape preprocess.ImageShape) int {
	if shape.Channels > 1 {
		return viewPatch + 1
	}
	return viewPatch
}

// PatchNumbers returns the length of rows after the layer of patches that a search tries. It is 0 if the search
// tries none, because the user chose scalings or rows are not large images.
func PatchNumbers(chain []string, schema dataset.Schema) int {
	shape := ShapeOf(schema)
	if !AutoScale(chain) || min(shape.Height, shape.Width) < leastSide {
		return 0
	}
	_, length := patches.Recipe{Shape: shape, Cells: viewCells, Bias: make(features.Floats, viewFilters)}.Dims()
	return length
}

// patchView returns the preprocessing that a search tries for images: the chain, followed by a layer of patches
// of the n encoded rows of x. It returns false if the patches have no contrast.
func (sc *Scaling) patchView(chain string, x []float32, n int) (search.View, bool) {
	size, steps := viewSize(sc.image), sc.Steps[sc.encoded:]
	n = min(n, profile.SampleSize(sc.Dim))
	x, err := apply(steps, x, n)
	if err != nil {
		return search.View{}, false
	}
	r, err := sc.patches(x, n, size, viewCells, viewFilters)
	if err != nil {
		return search.View{}, false
	}
	return search.View{Name: fmt.Sprintf("%s,patches:%d:%d:%d", chain, size, viewCells, viewFilters),
		Steps: append(slices.Clip(steps), r)}, true
}
