package patches

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/option"
)

const (
	defaultPatch = 6
	defaultCells = 2
)

// Options are the options of the kernel of a layer of patches. Zeros mean defaults.
type Options struct {
	Patch    int `flag:"patch" help:"Pixels on each side of the patches of --kernel patches."`
	Cells    int `flag:"cells" help:"Cells on each side of the grid in which --kernel patches takes means."`
	Features int `flag:"features,common" help:"Number of random features. More features are more accurate and slower."`
}

func (o *Options) withDefaults() Options {
	return Options{cmp.Or(o.Patch, defaultPatch), cmp.Or(o.Cells, defaultCells), kernel.Count(o.Features)}
}

// perFilter returns the number of features of a filter.
func (o Options) perFilter() int { return signs * o.Cells * o.Cells }

// Validate returns an error that names the invalid option.
func (o *Options) Validate() error {
	v := o.withDefaults()
	switch {
	case v.Patch < 2 || v.Patch > 45: // 45² ≤ preprocess.MaxPatch
		return option.Errorf("patch", "must be 2 to 45 (have %d)", v.Patch)
	case v.Cells < 1 || v.Cells > 64:
		return option.Errorf("cells", "must be 1 to 64 (have %d)", v.Cells)
	case v.Features < v.perFilter():
		return option.Errorf("features", "must be at least %d, the features of one filter (have %d)", v.perFilter(), v.Features)
	}
	return nil
}

// Size returns the size of the features, rounded to whole filters.
func (o *Options) Size(in int) kernel.Size {
	v := o.withDefaults()
	filters := v.Features / v.perFilter()
	return kernel.Size{Features: filters * v.perFilter(), Map: 4 * int64(filters) * int64(min(in, preprocess.MaxPatch)),
		Sampled: true}
}

// Choose fits the layer to the sample, with a bound measured on it.
func (o *Options) Choose(d *kernel.Data) (*kernel.Choice, error) {
	v := o.withDefaults()
	shape := preprocess.ImageShape(d.Image)
	if shape.Height == 0 || shape.Len() != d.In {
		return nil, errors.New("patches: the rows are not images (or no longer, after these steps of --scale)")
	}
	x, n, err := d.Sample()
	if err != nil {
		return nil, err
	}
	l, err := Sample{Shape: shape, Patch: v.Patch, X: x, N: n, Seed: d.Seed}.Fit(v.Cells)
	if err != nil {
		return nil, err
	}
	r, err := l.Recipe(v.Features/v.perFilter(), d.Seed)
	if err != nil {
		return nil, err
	}
	m, err := r.New()
	if err != nil {
		return nil, &option.Error{Option: "features", Err: err}
	}
	bound, err := d.Bound(m, nil)
	if err != nil {
		return nil, fmt.Errorf("patches: %w", err)
	}
	c := &kernel.Choice{Summary: fmt.Sprintf("patches kernel, %d filters of %d×%[2]d pixels, %d×%[3]d cells", len(r.Bias),
		v.Patch, v.Cells)}
	r.Bound, c.Reach = d.Reach(bound, r.Bound)
	c.Recipe = r
	c.Draw = func(out int, seed uint64) features.Recipe {
		drawn, _ := l.Recipe(out/v.perFilter(), seed) // without filters the recipe is not valid
		drawn.Bound = r.Bound
		return drawn
	}
	return c, nil
}
