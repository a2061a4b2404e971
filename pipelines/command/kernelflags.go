package command

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
)

// kernelFlags are the flags that choose a kernel: its name and the options of all families.
type kernelFlags struct {
	Name     string `flag:"kernel,common" group:"Features" placeholder:"NAME" help:"Kernel: {values}."`
	families map[string]kernel.Options
	options  option.Group
}

// newKernels returns the flags of all families. The options of standard, the default family, come
// first. other may have the name of an option and the default that replaces its usual one.
func newKernels(standard string, other ...string) *kernelFlags {
	f := &kernelFlags{Name: standard, families: map[string]kernel.Options{}}
	for _, name := range append([]string{standard}, kernel.Names()...) {
		if f.families[name] != nil {
			continue
		}
		family, err := kernel.Lookup(name)
		if err != nil {
			panic("command: " + err.Error())
		}
		f.families[name] = family.New()
		if len(other) > 0 {
			if k, err := kernel.With(f.families[name], other[0], other[1]); err == nil { // the family has this option
				f.families[name] = k
			}
		}
		f.options.Add(name, f.families[name])
	}
	return f
}

// flags returns all options.
func (f *kernelFlags) flags() []*option.Option {
	return append(option.List(f), inGroup("Features", f.options.Options)...)
}

// inGroup puts options that have no group into the given one.
func inGroup(group string, options []*option.Option) []*option.Option {
	for _, o := range options {
		if o.Group == "" {
			o.Group = group
		}
	}
	return options
}

// chosen returns the options of the family that the flags name.
func (f *kernelFlags) chosen() (kernel.Options, error) {
	family, err := kernel.Lookup(f.Name)
	if err != nil {
		return nil, &exit.UsageError{Err: fmt.Errorf("--kernel: %w", err)}
	}
	if o := f.options.Misplaced(family.Name); o != nil {
		return nil, exit.Usage("--%s cannot be used with --kernel %s; it is an option of %s", o.Name, family.Name,
			strings.Join(o.Owners, ", "))
	}
	return f.families[family.Name], nil
}

// searchKernels returns the options of the kernels that a search may choose from: the named kernel, or all that
// have the options that were given. Without --features, the number of features is left open.
func (f *kernelFlags) searchKernels(named bool) []kernel.Options {
	given := func(name string) bool {
		return slices.ContainsFunc(f.options.Options, func(o *option.Option) bool { return o.Name == name && o.Given() })
	}
	of := func(name string) kernel.Options {
		if given("features") {
			return f.families[name]
		}
		return tuning.Unsized(f.families[name])
	}
	if named {
		family, err := kernel.Lookup(f.Name)
		if err != nil {
			return nil
		}
		return []kernel.Options{of(family.Name)}
	}
	var out []kernel.Options
	for _, k := range tuning.Families() {
		name := kernel.FamilyOf(k).Name
		if f.options.Misplaced(name) != nil {
			continue
		}
		one := of(name)
		for _, o := range option.List(k) {
			if o.Name == "exponent" && !given(o.Name) {
				one, _ = kernel.With(one, o.Name, o.Default)
			}
		}
		if !slices.ContainsFunc(out, func(o kernel.Options) bool { return reflect.DeepEqual(o, one) }) {
			out = append(out, one)
		}
	}
	return out
}
