package patches

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/option"
)

const (
	defaultPatch = 6
	defaultCells = 2
	threshold    = 0.25 // of the root mean square response
	headroom     = 1.25 // of the bound over the largest feature of the sample
	boundRows    = 256  // images that determine the bound
)

// Options are the options of the kernel of a layer of patches. A zero takes the default.
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

// Size returns the size of the features: whole filters, of which each has the same number.
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
	r := Recipe{Shape: shape, Patch: v.Patch, Cells: v.Cells, Threshold: threshold}
	if err := r.checkPlaces(); err != nil {
		return nil, &option.Error{Option: "patch", Err: err}
	}
	x, n, err := d.Sample()
	if err != nil {
		return nil, err
	}
	l, err := fit(images{shape: shape, patch: v.Patch, x: x, n: n, seed: d.Seed})
	if err != nil {
		return nil, err
	}
	r.Floor, r.Bound = l.floor, 1
	draw := func(out int, seed uint64) (Recipe, error) {
		filters, bias, err := l.filters(out/v.perFilter(), seed)
		drawn := r
		drawn.Filters, drawn.Bias = filters, bias
		return drawn, err
	}
	drawn, err := draw(v.Features, d.Seed)
	if err != nil {
		return nil, err
	}
	var reach float64
	if r.Bound, reach, err = chooseBound(drawn, x, n, d.Rows); err != nil {
		return nil, err
	}
	drawn.Bound = r.Bound
	return &kernel.Choice{
		Recipe: drawn, Reach: reach,
		Summary: fmt.Sprintf("patches kernel, %d filters of %d×%[2]d pixels, %d×%[3]d cells", len(drawn.Bias), v.Patch, v.Cells),
		Draw: func(out int, seed uint64) features.Recipe {
			other, _ := draw(out, seed) // no filters are an invalid recipe
			return other
		},
	}, nil
}

// chooseBound returns the bound from the largest feature of the sample, and how far the features of
// all images may exceed it.
func chooseBound(r Recipe, x []float32, n int, images int64) (bound, reach float64, err error) {
	m, err := r.New()
	if err != nil {
		return 0, 0, &option.Error{Option: "features", Err: err}
	}
	in, out := m.Dims()
	phi := make([]float32, out)
	var largest float32
	for i := range min(n, boundRows) {
		m.Apply(phi, x[i*in:], 1)
		for _, v := range phi {
			largest = max(largest, v)
		}
	}
	if !(largest > 0) {
		return 0, 0, errors.New("patches: all features of the sample are zero, so there is nothing to learn from")
	}
	bound, reach = kernel.Reach(headroom*float64(largest), r.most(), images)
	return bound, reach, nil
}

// most returns a bound on the features: ‖p̂‖ ≤ √L, so that |r_k| ≤ ‖f_k‖·√L + |b_k|.
func (r Recipe) most() float64 {
	var most float64
	length := r.length()
	for k, b := range r.Bias {
		var squares float64
		for _, v := range r.Filters[k*length : (k+1)*length] {
			squares += float64(float64(v) * float64(v))
		}
		most = max(most, math.Sqrt(squares*float64(length))+math.Abs(float64(b)))
	}
	return most / math.Sqrt(float64(len(r.Bias)))
}
