package kernel

import (
	"cmp"
	"reflect"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/option"
)

// DefaultFeatures is the default number of features.
const DefaultFeatures = 4096

// Count returns features, or DefaultFeatures if it is 0.
func Count(features int) int { return cmp.Or(features, DefaultFeatures) }

// Options are the options of a family: a pointer to a struct whose fields have the tags
// flag and help. The zero value of a field is its default. Methods do not change the
// options.
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
	// Gathers says that the map takes rows in the short form; see features.Gathering.
	Gathers bool
	// Sampled says that Choose draws the map to find the bound of the features on a sample, so features may
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
	// Wide says that each feature has its own range (see features.Ranged), for which an 8-bit grid is too
	// coarse.
	Wide bool
	// Draw returns the recipe of out features of the same kernel, drawn with another seed; nil if features
	// are not random.
	Draw func(out int, seed uint64) features.Recipe
}

// Loader is implemented by options that name files.
type Loader interface {
	Options
	// Load returns the options with the content of the files. read reads a whole file of at most most
	// bytes.
	Load(read func(name string, most int64) ([]byte, error)) (Options, error)
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

// LearnedKernel is implemented by options of a family whose features are not random: a search finds them in
// labelled data, starting from the features of another kernel.
type LearnedKernel interface {
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
