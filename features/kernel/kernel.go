package kernel

import (
	"cmp"
	"errors"
	"math"
	"reflect"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/rowio"
)

// Family is a kernel, or several kernels that differ in their options.
type Family struct {
	Name    string         // one word in lower case
	Aliases []string       // other names, such as those in other programs
	Summary string         // one line for the help
	New     func() Options // returns a pointer to options with their defaults
	Hashes  bool           // its maps are features.Hasher
}

var families = option.NewRegistry[Family]("kernel")

// Register makes a family available. Packages call it from init. It panics if a name or
// the type of the options is already registered, or if the options are not a pointer to a struct.
func Register(f Family) {
	o := f.New()
	option.List(o) // panics if it is not a struct of options
	families.Add(f, o, f.Name, f.Aliases...)
}

// Names returns the names of the families, sorted, without aliases.
func Names() []string { return families.Names() }

// Lookup returns the family with a name or alias.
func Lookup(name string) (Family, error) { return families.Lookup(name, Names()) }

// FamilyOf returns the family that the options o belong to. It panics if there is none.
func FamilyOf(o Options) Family { return families.Of(o) }

// DefaultFeatures is the default number of features.
const DefaultFeatures = 4096

// Count returns features, or DefaultFeatures if it is 0.
func Count(features int) int { return cmp.Or(features, DefaultFeatures) }

// Options is a pointer to a struct with the options of one family. Each field has the tags flag and help, and its zero
// value is the default. Methods must not change the struct.
type Options interface {
	// Validate returns an error if the options are invalid for any data.
	Validate() error
	// Size returns the size of the features of rows of length in.
	Size(in int) Size
	// Choose makes the recipe for data. Its error is about the data, unless it names an option.
	Choose(d *Data) (*Choice, error)
}

// Size is the size of features.
type Size struct {
	Features int   // number of features
	Map      int64 // upper bound on the bytes of the map
	Most     int64 // largest Map that Choose makes; 0 if there is no limit
	Row      int64 // bytes for each row that is being mapped, besides its features
	// TakesShort is true if the map takes rows in the short form; see features.ShortFormRecipe.
	TakesShort bool
	// Sampled is true if Choose draws the map to find the bound of the features on a sample, so features may
	// exceed it; see Choice.Reach.
	Sampled bool
}

// Choice is the result of Options.Choose.
type Choice struct {
	Recipe  features.Recipe // from preprocessed rows to features
	Summary string          // for messages: "gaussian kernel, width 7 (median distance)"
	Width   float64         // of the kernel, in units of the preprocessed rows; 0 if it has none
	// Reach limits the features, as a multiple of the bound of their grid; 0 means 1.
	Reach float64
	// Wide is true if each feature has its own range (see features.Ranged), for which an 8-bit grid is too
	// coarse.
	Wide bool
	// Draw returns the recipe of out features of the same kernel, drawn with another seed; nil if features
	// are not random.
	Draw func(out int, seed uint64) features.Recipe
}

// Loader is implemented by options that name files.
type Loader interface {
	Options
	// Load returns the options with the content of the files. read reads a whole file of at most limit
	// bytes.
	Load(read func(name string, limit int64) ([]byte, error)) (Options, error)
}

// Varied is implemented by options of a family whose features can be drawn in several ways.
type Varied interface {
	Options
	// Variants returns the options for each way, which are otherwise equal.
	Variants() []Variant
}

// Variant is a way to draw the features of a kernel.
type Variant struct {
	Name    string
	Options Options
}

// Learned is implemented by options of a family whose features are not random: a search finds them in
// labelled data, starting from the features of another kernel.
type Learned interface {
	Options
	// Directory returns the directory of features that were found earlier; "" to search for them.
	Directory() string
	// Start returns the options of the kernel that the search starts from.
	Start() Options
}

// With returns a copy of the options with one option set from text. It fails if the value is invalid or the
// family does not have the option.
func With(o Options, name, text string) (Options, error) {
	old := reflect.ValueOf(o).Elem()
	c := reflect.New(old.Type())
	c.Elem().Set(old)
	for _, f := range option.List(c.Interface()) {
		if f.Name == name {
			if err := f.Set(text); err != nil {
				return nil, &option.Error{Option: name, Err: err}
			}
			return c.Interface().(Options), nil
		}
	}
	return nil, option.Errorf(name, "is not an option of the kernel %s", FamilyOf(o).Name)
}

// RangeSlack is the factor by which features may exceed the bound found on a sample, or columns their range
// in it, if nothing better is known. A row beyond that stops the job.
const RangeSlack = 16

// Data describes the preprocessed rows from which a recipe is chosen. Its functions are only called if
// their results are needed.
type Data struct {
	In   int    // row length
	Rows int64  // number of rows
	Seed uint64 // of the features
	// Sample returns some of the rows (n×In, row-major). The caller must not change them.
	Sample func() (x []float32, n int, err error)
	// Ranges returns the least and the largest value of each column, or bounds of them.
	Ranges func() (low, high []float32, err error)
	// Variance is the variance of all values of all rows together; NaN if it is unknown.
	Variance float64
	// Norm is an upper bound on the length of the rows; +Inf if it is unknown.
	Norm float64
	// Image is the shape of the rows; its height is 0 if they are not images.
	Image rowio.Image

	medians map[Distance]float64
}

// median returns the median distance of the rows of the sample.
func (d *Data) median(distance Distance) (float64, error) {
	if m, known := d.medians[distance]; known {
		return m, nil
	}
	x, n, err := d.Sample()
	if err != nil {
		return 0, err
	}
	m, err := MedianWidth(x, n, d.In, distance)
	if err != nil {
		return 0, err
	}
	if d.medians == nil {
		d.medians = map[Distance]float64{}
	}
	d.medians[distance] = m
	return m, nil
}

// headroom is the ratio of a bound to the largest feature of the sample. Features beyond the bound take
// more time but lose no accuracy.
const headroom = 1.25

// boundRows is the number of sample rows that determine a bound.
const boundRows = 256

// Bound returns a bound for the grid of the features of m, from the largest feature of the sample. counts
// selects features; nil means all.
func (d *Data) Bound(m features.Map, counts func(j int) bool) (float64, error) {
	x, n, err := d.Sample()
	if err != nil {
		return 0, err
	}
	in, out := m.Dims()
	phi := make([]float32, out)
	var largest float32
	for i := range min(n, boundRows) {
		m.Apply(phi, x[i*in:(i+1)*in], 1)
		for j, v := range phi {
			if counts == nil || counts(j) {
				largest = max(largest, v, -v)
			}
		}
	}
	switch {
	case largest == 0:
		return 0, errors.New("all features of the sample are zero, so there is nothing to learn from")
	case !exact.Finite(largest):
		return 0, errors.New("features of the sample are beyond float32")
	}
	return headroom * float64(largest), nil
}

// Reach returns how far features that never exceed largest may exceed the bound, as a multiple of it. If
// necessary it raises the bound, so that all features are on the grid and their sums exact.
func (d *Data) Reach(bound, largest float64) (raised, reach float64) {
	reach = largest / bound
	if limit := min(blas.MaxSteps, math.Sqrt((1<<53)/float64(d.Rows))) / blas.MaxByte; reach > limit {
		bound *= reach / limit
		reach = limit
	}
	return bound, reach
}
