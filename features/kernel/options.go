package kernel

import (
	"cmp"
	"reflect"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/option"
)

// DefaultFeatures is the number of features where none is given.
const DefaultFeatures = 4096

// Count returns the number of features, DefaultFeatures where none is given.
func Count(features int) int { return cmp.Or(features, DefaultFeatures) }

// Options are the options of a family: a pointer to a struct whose fields have the tags
// flag and help. The zero value of a field is its default. Methods do not change the
// options.
type Options interface {
	// Validate returns what is wrong whatever the data are.
	Validate() error
	// Size returns what the features of rows of so many numbers take, for a plan.
	Size(in int) Size
	// Choose makes the recipe for data. An error that is not about an option is about the
	// data.
	Choose(d *Data) (*Choice, error)
}

// Size is what features take.
type Size struct {
	Features int   // how many there are
	Map      int64 // bytes of the map, at most
	Row      int64 // bytes for each row that is being mapped, beside its features
	// Sampled says that Choose draws the map to find the bound of the features on a
	// sample, so that features can be beyond it (see Choice.Reach).
	Sampled bool
}

// Choice is what was chosen for data.
type Choice struct {
	Recipe  features.Recipe // from rows as they come out of the scaling to features
	Summary string          // for people: "gaussian kernel, width 7 (median distance)"
	Width   float64         // of the kernel in units of the scaled rows; 0 for a kernel without
	// Reach is how many times the bound of their grid the features may be; 0 is once.
	Reach float64
	// Wide says that each feature has a range of its own (see features.Ranged), for which a grid
	// of 8 bits is too coarse.
	Wide bool
	// Draw returns the recipe of so many features of the same kernel, drawn with another
	// seed; nil for features that are not drawn.
	Draw func(out int, seed uint64) features.Recipe
}

// Loader are options that name files.
type Loader interface {
	Options
	// Load returns the options with what the files hold. Read reads a whole file of at
	// most so many bytes.
	Load(read func(name string, most int64) ([]byte, error)) (Options, error)
}

// Varied are options of a family whose features can be drawn in several ways, which can
// be compared.
type Varied interface {
	Options
	// Variants returns the options for each way, which differ in nothing else.
	Variants() []Variant
}

// Variant is a way to draw the features of a kernel.
type Variant struct {
	Name    string
	Options Options
}

// Found are options of a family whose features are not drawn: they are found in labelled
// data, by a search that starts from the features of another kernel.
type Found interface {
	Options
	// Directory is where features are that were found earlier; "" is to find them.
	Directory() string
	// Start returns the options of the kernel that the search starts from.
	Start() Options
}

// With returns a copy of the options in which one has the value that the text says. The
// error is a value that cannot be, or an option that the family does not have.
func With(o Options, name, text string) (Options, error) {
	old := reflect.ValueOf(o).Elem()
	c := reflect.New(old.Type())
	c.Elem().Set(old)
	for _, f := range option.Of(c.Interface()) {
		if f.Name == name {
			if err := f.Set(text); err != nil {
				return nil, &option.Error{Option: name, Err: err}
			}
			return c.Interface().(Options), nil
		}
	}
	return nil, option.Errorf(name, "is not an option of the kernel %s", Of(o).Name)
}
