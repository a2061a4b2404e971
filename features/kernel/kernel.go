// Package kernel is the registry of kernel families: their names, their options, and
// how to make a recipe from options and data.
//
// A family is a package of its own, which registers itself beside its recipe:
//
//	func init() {
//		features.Register("fourier.gaussian", features.Decode[Gaussian])
//		kernel.Register(kernel.Family{Name: "gaussian", New: func() kernel.Options { return &GaussianOptions{} }})
//	}
//
// A program that imports the package can train with the family and has its flags and help.
package kernel

import (
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/internal/registry"
)

// Family is a kernel, or several that differ in their options.
type Family struct {
	Name    string         // one word in lower case
	Aliases []string       // other names, of other programs
	Summary string         // one line for the help
	New     func() Options // returns a pointer to options with their defaults
	Hashes  bool           // its maps are features.Hashers
}

var families = registry.New[Family]("kernel")

// Register makes a family available. Packages call it from init. It panics if a name or
// the type of the options is already registered, or if the options are not a pointer to a struct.
func Register(f Family) {
	o := f.New()
	option.Of(o) // panics if it is not a struct of options
	families.Add(f, o, f.Name, f.Aliases...)
}

// Names returns the names of the families, sorted, without aliases.
func Names() []string { return families.Names() }

// Lookup returns the family of a name or alias.
func Lookup(name string) (Family, error) { return families.Lookup(name, Names()) }

// Of returns the family that the options o belong to. It panics if there is none.
func Of(o Options) Family { return families.Of(o) }
