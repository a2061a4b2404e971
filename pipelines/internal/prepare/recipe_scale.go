package prepare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/patches"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/search"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// Scaling is a chain of preprocessing steps for a dataset, with the statistics of its output columns.
type Scaling struct {
	Steps []features.Recipe
	Dim   int
	statistics
	encoded  int                                    // number of first steps that encode columns
	unitNorm bool                                   // rows have norm 1 after the last step
	image    preprocess.ImageShape                  // of the output; height 0 if rows are not images
	seed     uint64                                 // seed to choose patches
	Sample   func() (x []float32, n int, err error) // sample of output rows, n×Dim
}

// statistics holds the statistics of the output columns.
type statistics struct {
	mean, variance []float64
	low, high      []float64
	least, largest []float32 // range of the columns before scaling
	unscaled       []bool    // columns that standard and minmax do not scale; nil if they scale all
	// known is true if the statistics are valid. They are not after steps that mix columns.
	known bool
}

// Encode applies the steps that encode columns to the n rows of a profile.
func (sc *Scaling) Encode(x []float32, n int) ([]float32, error) {
	return apply(sc.Steps[:sc.encoded], x, n)
}

// checkScale checks the steps of --scale.
func checkScale(chain []string) error {
	for _, word := range chain {
		if _, isStep := plainSteps[word]; isStep {
			continue
		}
		if name, args, has := strings.Cut(word, ":"); has {
			if _, err := imageNumbers(name, args); err != nil {
				return err
			}
			continue
		}
		c, err := strconv.ParseFloat(word, 64)
		if err != nil || (preprocess.Divide{In: 1, By: c}).Validate() != nil {
			return exit.Usagef("--scale: %q is neither a float32 number > 0 to divide by nor one of %s, crop:SIZE, "+
				"patchpca:SIZE:STRIDE:KEEP, patches:SIZE:CELLS:FILTERS", word, strings.Join(option.SortedNames(plainSteps), ", "))
		}
	}
	if len(chain) > 1 && (slices.Contains(chain, "auto") || slices.Contains(chain, "none")) {
		return exit.Usagef("--scale: auto and none cannot be used with other steps")
	}
	return nil
}

// plainSteps holds the steps without arguments.
var plainSteps = map[string]func(*Scaling) error{
	"auto": nil, "none": func(*Scaling) error { return nil },
	"unit": (*Scaling).unit, "standard": (*Scaling).standard, "minmax": (*Scaling).minmax,
	"gray": plainImageStep("gray", func(s preprocess.ImageShape) features.Recipe { return preprocess.Gray{Shape: s} }),
	"whiten": plainImageStep("whiten", func(s preprocess.ImageShape) features.Recipe {
		return preprocess.Whiten{Shape: s}
	}),
	"unitpixels": plainImageStep("unitpixels", func(s preprocess.ImageShape) features.Recipe {
		return preprocess.UnitPixels{Shape: s}
	}),
	"hog": plainImageStep("hog", func(s preprocess.ImageShape) features.Recipe {
		return preprocess.HoG{Shape: s, Cell: hogCell, Orientations: hogOrientations}
	}),
}

// AutoScale reports whether the program chooses the scaling.
func AutoScale(chain []string) bool { return len(chain) == 0 || chain[0] == "auto" }

// chooseScale makes the chain for a dataset. auto is the format's default, and standard for tables. The first
// step for a typed table encodes its columns.
func chooseScale(chain []string, encode encoding, seed uint64, schema dataset.Schema, p *profile.Profile,
	sum *profile.Sum) (*Scaling, error) {
	if AutoScale(chain) {
		chain = []string{cmp.Or(schema.Traits().Scale, "standard")}
	}
	sc := &Scaling{Dim: p.Dim, statistics: statistics{known: true}, image: ShapeOf(schema), seed: seed}
	sc.Sample = func() ([]float32, int, error) {
		x, n, d := sum.Sample()
		if sc.encoded > 0 {
			n = min(n, profile.SampleSize(sc.Dim)) // encoded rows are longer than the rows of the profile
		}
		x, err := sc.Apply(x[:n*d], n)
		return x, n, err
	}
	if schema.Table != nil {
		if err := sc.encode(schema, encode, p, sum); err != nil {
			return nil, err
		}
	} else {
		sc.grow(len(p.Columns))
		for _, c := range p.Columns {
			sc.column(c.Mean, float64(c.Dev*c.Dev), c.Min, c.Max)
		}
	}
	for _, word := range chain {
		if err := sc.add(word); err != nil {
			return nil, err
		}
	}
	return sc, nil
}

// grow sets the capacity of the statistics to n columns.
func (sc *Scaling) grow(n int) {
	sc.mean, sc.variance = slices.Grow(sc.mean, n), slices.Grow(sc.variance, n)
	sc.low, sc.high = slices.Grow(sc.low, n), slices.Grow(sc.high, n)
	sc.least, sc.largest = slices.Grow(sc.least, n), slices.Grow(sc.largest, n)
}

// column appends the statistics of a column.
func (sc *Scaling) column(mean, variance float64, low, high float32) {
	sc.mean, sc.variance = append(sc.mean, mean), append(sc.variance, variance)
	sc.low, sc.high = append(sc.low, float64(low)), append(sc.high, float64(high))
	sc.least, sc.largest = append(sc.least, low), append(sc.largest, high)
}

// add adds the preprocessing step of a word of --scale: a name, a name with numbers, or a number to divide by.
func (sc *Scaling) add(word string) error {
	sc.unitNorm = word == "unit"
	if step, ok := plainSteps[word]; ok {
		return step(sc)
	}
	if name, args, has := strings.Cut(word, ":"); has {
		return sc.numberedStep(name, args)
	}
	c, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return exit.Usagef("--scale: %q is not a number", word)
	}
	sc.Steps = append(sc.Steps, preprocess.Divide{In: sc.Dim, By: c})
	sc.affine(func(int) (shift, divide float64) { return 0, c })
	return nil
}

// mix adds a step after which the statistics of columns are not known.
func (sc *Scaling) mix(r features.Recipe) error {
	_, out, err := features.Dims(r)
	if err == nil {
		err = r.Validate()
	}
	if err != nil {
		return &exit.UsageError{Err: err}
	}
	sc.Steps, sc.Dim, sc.known = append(sc.Steps, r), out, false
	return nil
}

func (sc *Scaling) unit() error { return sc.mix(preprocess.Unit{In: sc.Dim}) }

var errStatistics = exit.Usagef("--scale: standard and minmax need statistics of the columns of the files; put them " +
	"before unit and other steps that mix columns")

func (sc *Scaling) standard() error {
	if !sc.known {
		return errStatistics
	}
	mean, variance := sc.toScale(sc.mean, 0), sc.toScale(sc.variance, 1)
	sc.Steps = append(sc.Steps, preprocess.NewStandard(mean, variance))
	sc.affine(func(j int) (shift, divide float64) { return mean[j], math.Sqrt(variance[j]) })
	return nil
}

func (sc *Scaling) minmax() error {
	if !sc.known {
		return errStatistics
	}
	m := preprocess.MinMax{}
	low, high := sc.toScale(sc.low, 0), sc.toScale(sc.high, 1)
	for j := range low {
		m.Low, m.High = append(m.Low, float32(low[j])), append(m.High, float32(high[j]))
	}
	sc.Steps = append(sc.Steps, m)
	sc.affine(func(j int) (shift, divide float64) { return low[j], high[j] - low[j] })
	return nil
}

// toScale returns a copy of a statistic of the columns, with the value neutral for unscaled columns.
func (sc *Scaling) toScale(statistic []float64, neutral float64) []float64 {
	out := slices.Clone(statistic)
	for j, unscaled := range sc.unscaled {
		if unscaled {
			out[j] = neutral
		}
	}
	return out
}

// affine updates the statistics for x ↦ (x − shift)/divide in each column.
func (sc *Scaling) affine(coefficients func(j int) (shift, divide float64)) {
	for j := range sc.mean {
		shift, divide := coefficients(j)
		divide = cmp.Or(divide, 1)
		sc.mean[j] = (sc.mean[j] - shift) / divide
		sc.variance[j] /= float64(divide * divide)
		sc.low[j], sc.high[j] = (sc.low[j]-shift)/divide, (sc.high[j]-shift)/divide
	}
}

// ranges returns bounds on the numbers of each output column. They hold for all rows if the steps scale columns
// separately, or if rows have norm 1. Otherwise they are the range of the sample, widened equally on both sides
// to kernel.RangeSlack times its length.
func (sc *Scaling) ranges() (low, high []float32, err error) {
	d := sc.Dim
	switch {
	case sc.known:
		x := append(slices.Clone(sc.least), sc.largest...)
		if x, err = apply(sc.Steps[sc.encoded:], x, 2); err != nil {
			return nil, nil, err
		}
		return x[:d], x[d:], nil
	case sc.unitNorm:
		return slices.Repeat([]float32{-1}, d), slices.Repeat([]float32{1}, d), nil
	}
	x, n, err := sc.Sample()
	if err != nil {
		return nil, nil, err
	}
	low, high = slices.Clone(x[:d]), slices.Clone(x[:d])
	for i, v := range x[:n*d] {
		low[i%d], high[i%d] = min(low[i%d], v), max(high[i%d], v)
	}
	for j := range low {
		more := (high[j] - low[j]) * (kernel.RangeSlack - 1) / 2
		low[j], high[j] = low[j]-more, high[j]+more
	}
	return low, high, nil
}

// data describes n output rows, for the choice of a kernel.
func (sc *Scaling) data(n int64, seed uint64) *kernel.Data {
	d := &kernel.Data{In: sc.Dim, Rows: n, Seed: seed, Sample: sc.Sample, Ranges: sc.ranges, Variance: math.NaN(),
		Norm: sc.norm(), Image: rowio.Image(sc.image)}
	if sc.known {
		d.Variance = sc.varianceAll()
	}
	return d
}

// norm returns a bound on the norm of output rows, or +Inf if none is known.
func (sc *Scaling) norm() float64 {
	if sc.unitNorm {
		return 1
	}
	if !sc.known {
		return math.Inf(1)
	}
	low, high, err := sc.ranges()
	if err != nil {
		return math.Inf(1)
	}
	var squares float64
	for j := range low {
		largest := max(math.Abs(float64(low[j])), math.Abs(float64(high[j])))
		squares += float64(largest * largest)
	}
	return math.Sqrt(squares)
}

// Apply applies the chain to n rows of x.
func (sc *Scaling) Apply(x []float32, n int) ([]float32, error) { return apply(sc.Steps, x, n) }

func apply(steps []features.Recipe, x []float32, n int) ([]float32, error) {
	for _, step := range steps {
		m, err := step.New()
		if err != nil {
			return nil, &exit.DataError{Err: err}
		}
		_, out := m.Dims()
		dst := make([]float32, n*out) // not all maps can work in place
		m.Apply(dst, x, n)
		x = dst
	}
	return x, nil
}

// varianceAll returns the variance of all numbers in all output rows.
func (sc *Scaling) varianceAll() float64 {
	var mean, within float64
	for j := range sc.mean {
		mean += sc.mean[j]
		within += sc.variance[j] + float64(sc.mean[j]*sc.mean[j])
	}
	d := float64(len(sc.mean))
	mean /= d
	return within/d - float64(mean*mean)
}

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

// imageArgs holds the number of arguments of steps.
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
