package patches

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/rowio"
)

const (
	signs = 2 // features per filter and cell: its positive and its negative part
	// maxFilterValues limits the total number of values of all filters.
	maxFilterValues = 1 << 26
)

// Recipe is the recipe of a layer of patches. It holds the filters, because they come from data.
type Recipe struct {
	Shape     preprocess.ImageShape `json:"shape"`
	Patch     int                   `json:"patch"`     // pixels, 1 to the lesser of height and width
	Cells     int                   `json:"cells"`     // rows and columns of the grid
	Floor     float64               `json:"floor"`     // > 0, added to the variance of a patch
	Threshold float64               `json:"threshold"` // θ ≥ 0
	Filters   features.Floats       `json:"filters"`   // K×L, row-major, L = Patch×Patch×channels
	Bias      features.Floats       `json:"bias"`      // K
	// Bound is the bound of the features for the grid.
	Bound float64 `json:"bound"`
}

func init() {
	features.Register("patches", features.Decode[Recipe])
	kernel.Register(kernel.Family{
		Name: "patches", Summary: "how strongly random patches of the training images occur in the cells of a grid",
		New: func() kernel.Options {
			return &Options{Patch: defaultPatch, Cells: defaultCells, Features: kernel.DefaultFeatures}
		},
	})
}

// length returns the number of values of a patch.
func (r Recipe) length() int { return r.Patch * r.Patch * r.Shape.Channels }

// places returns the number of patches vertically and horizontally.
func (r Recipe) places() (down, across int) {
	return r.Shape.Height - r.Patch + 1, r.Shape.Width - r.Patch + 1
}

// Validate implements features.Recipe.
func (r Recipe) Validate() error {
	fail := func(format string, a ...any) error { return fmt.Errorf("patches: "+format, a...) }
	filters := len(r.Bias)
	if err := r.checkPlaces(); err != nil {
		return err
	}
	switch {
	case !(r.Floor > 0 && r.Floor <= math.MaxFloat32):
		return fail("floor must be > 0 and finite (have %v)", r.Floor)
	case !(r.Threshold >= 0 && r.Threshold <= math.MaxFloat32):
		return fail("threshold must be ≥ 0 and finite (have %v)", r.Threshold)
	case filters < 1 || filters > r.maxFilters():
		return fail("bias must have 1 to %d values, one for each filter (have %d)", r.maxFilters(), filters)
	case len(r.Filters) != filters*r.length():
		return fail("filters must have %d×%d values (have %d)", filters, r.length(), len(r.Filters))
	case !(r.Bound >= 0x1p-118 && r.Bound <= 0x1p126):
		return fail("bound must be a number > 0 within float32 (have %v)", r.Bound)
	}
	for i, v := range r.Filters {
		if !exact.Finite(v) {
			return fail("value %d of filter %d must be finite (have %v)", i%r.length()+1, i/r.length()+1, v)
		}
	}
	for k, v := range r.Bias {
		if !exact.Finite(v) {
			return fail("bias %d must be finite (have %v)", k+1, v)
		}
	}
	return nil
}

// checkPlaces checks the sizes of image, patches and cells.
func (r Recipe) checkPlaces() error {
	if err := preprocess.CheckPatches("patches", r.Shape, r.Patch, 1, 1); err != nil {
		return err
	}
	down, across := r.places()
	if limit := min(down, across); r.Cells < 1 || r.Cells > limit {
		return fmt.Errorf("patches: cells must be 1 to %d, for there are %d×%d patches (have %d)", limit, down, across,
			r.Cells)
	}
	return nil
}

// maxFilters returns the largest number of filters.
func (r Recipe) maxFilters() int {
	return min(rowio.MaxDim/(signs*r.Cells*r.Cells), maxFilterValues/r.length())
}

// Dims returns the length of an image and the number of features.
func (r Recipe) Dims() (in, out int) { return r.Shape.Len(), signs * r.Cells * r.Cells * len(r.Bias) }

// Means returns the matrix (places×cells, row-major) whose product with the responses of a filter at all
// positions, row by row, gives features: the means over cells, divided by √K.
func (r Recipe) Means() (m []float32, places, cells int) {
	down, across := r.places()
	places, cells = down*across, r.Cells*r.Cells
	m = make([]float32, places*cells)
	root := math.Sqrt(float64(len(r.Bias)))
	for p := range places {
		i, j := cellOf(p/across, down, r.Cells), cellOf(p%across, across, r.Cells)
		size := cellSize(i, down, r.Cells) * cellSize(j, across, r.Cells)
		m[p*cells+i*r.Cells+j] = float32(1 / (float64(size) * root))
	}
	return m, places, cells
}

// featureBound returns a bound on the features: ‖p̂‖ ≤ √L, so that |r_k| ≤ ‖f_k‖·√L + |b_k|.
func (r Recipe) featureBound() float64 {
	var bound float64
	length := r.length()
	for k, b := range r.Bias {
		var squares float64
		for _, v := range r.Filters[k*length : (k+1)*length] {
			squares += float64(float64(v) * float64(v))
		}
		bound = max(bound, math.Sqrt(squares*float64(length))+math.Abs(float64(b)))
	}
	return bound / math.Sqrt(float64(len(r.Bias)))
}

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

// Validate implements kernel.Options.
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
