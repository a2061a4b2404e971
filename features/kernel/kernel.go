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
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/internal/spell"
)

// Family is a kernel, or several that differ in their options.
type Family struct {
	Name    string         // one word in lower case
	Aliases []string       // other names, of other programs
	Summary string         // one line for the help
	New     func() Options // returns a pointer to options with their defaults
	Hashes  bool           // its maps are features.Hashers
}

var registry = struct {
	sync.RWMutex
	families map[string]Family // by name
	names    map[string]string // by name or alias
	types    map[reflect.Type]string
}{families: map[string]Family{}, names: map[string]string{}, types: map[reflect.Type]string{}}

// Register makes a family available. Packages call it from init. It panics if a name or
// the type of the options is already registered, or if the options are not a pointer to a struct.
func Register(f Family) {
	o := f.New()
	option.Of(o) // panics if it is not a struct of options
	registry.Lock()
	defer registry.Unlock()
	names := append([]string{f.Name}, f.Aliases...)
	for _, name := range names {
		if registry.names[name] != "" || name == "" {
			panic(fmt.Sprintf("kernel: Register: the name %q is empty or already registered", name))
		}
	}
	t := reflect.TypeOf(o)
	if other := registry.types[t]; other != "" {
		panic(fmt.Sprintf("kernel: Register %q: %v are the options of %q", f.Name, t, other))
	}
	for _, name := range names {
		registry.names[name] = f.Name
	}
	registry.types[t] = f.Name
	registry.families[f.Name] = f
}

// Families returns the registered families, sorted by name.
func Families() []Family {
	registry.RLock()
	defer registry.RUnlock()
	var list []Family
	for _, name := range slices.Sorted(maps.Keys(registry.families)) {
		list = append(list, registry.families[name])
	}
	return list
}

// Names returns the names of the families, sorted, without aliases.
func Names() []string {
	var names []string
	for _, f := range Families() {
		names = append(names, f.Name)
	}
	return names
}

// Lookup returns the family of a name or alias.
func Lookup(name string) (Family, error) {
	registry.RLock()
	f, ok := registry.families[registry.names[name]]
	registry.RUnlock()
	if ok {
		return f, nil
	}
	hint := ""
	if meant := spell.Nearest(name, Names()); meant != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", meant)
	}
	return Family{}, fmt.Errorf("unknown kernel %q%s; have %s", name, hint, strings.Join(Names(), ", "))
}

// Of returns the family that the options o belong to. It panics if there is none.
func Of(o Options) Family {
	registry.RLock()
	defer registry.RUnlock()
	name, ok := registry.types[reflect.TypeOf(o)]
	if !ok {
		panic(fmt.Sprintf("kernel: no family has options of type %T; call kernel.Register", o))
	}
	return registry.families[name]
}
