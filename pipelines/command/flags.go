package command

import (
	"cmp"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// registryValues has functions that return the values of flags from registries. A key is the name
// of a flag, or of a command and a flag.
var registryValues = map[string]func() []string{
	"kernel":               kernel.Names,
	"learner":              iterative.Names,
	"runner":               engine.Runners,
	"loss":                 func() []string { return append(loss.Names(true), loss.Names(false)...) },
	"format":               func() []string { return append([]string{"auto"}, dataset.Names()...) },
	"export format":        pipelines.ExportFormats,
	"predict out_format":   pipelines.PredictFormats,
	"featurize out_format": pipelines.FeaturizeFormats,
}

// addOptions adds a flag for each option.
func addOptions(cmd *cobra.Command, options []*option.Option) {
	for _, o := range options {
		if _, text, ok := strings.Cut(fieldTexts, "\n"+o.Field+"\n"); ok && o.Help == "" {
			o.Help, _, _ = strings.Cut(text, "\n")
		}
		values := o.Values
		for _, name := range []string{o.Name, cmd.Name() + " " + o.Name} {
			if registered := registryValues[name]; registered != nil {
				values = registered()
			}
		}
		if values != nil {
			o.SetValues(values)
		}
		f := cmd.Flags().VarPF(o.Value(), o.Name, "", o.Help)
		f.Hidden = o.Hidden
		if o.Type() == "bool" {
			f.NoOptDefVal = "true"
		}
	}
}

// underscored normalises the names of flags, so that --id-column means --id_column.
func underscored(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "-", "_"))
}

// optionOf returns the option that a flag sets, or an empty one for flags of cobra and Beam.
func optionOf(f *pflag.Flag) *option.Option {
	if v, ok := f.Value.(interface{ Self() *option.Option }); ok {
		return v.Self()
	}
	return new(option.Option)
}

// showOnly makes --help of a command show only these flags.
func showOnly(cmd *cobra.Command, names string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { optionOf(f).Common = false })
	showAlso(cmd, names)
}

// showAlso makes --help of a command show these flags, too.
func showAlso(cmd *cobra.Command, names string) {
	for _, name := range flagNames(cmd, names) {
		optionOf(cmd.Flags().Lookup(name)).Common = true
	}
}

// flagNames returns the words of a list. It panics if the command has no flag with the name of a word: a flag
// was renamed, but not in the list.
func flagNames(cmd *cobra.Command, list string) []string {
	names := strings.Fields(list)
	for _, name := range names {
		if cmd.Flags().Lookup(name) == nil {
			panic(fmt.Sprintf("%s has no flag --%s", cmd.Name(), name))
		}
	}
	return names
}

// refuse returns an error with the reason why if one of the named flags is given.
func refuse(cmd *cobra.Command, names []string, why string) error {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return exit.Usagef("--%s %s", name, why)
		}
	}
	return nil
}

// namesOf returns the names of the options of structs.
func namesOf(structs ...any) (names []string) {
	for _, s := range structs {
		for _, o := range option.List(s) {
			names = append(names, o.Name)
		}
	}
	return names
}

// addBeamFlags adds Beam's own flags and hides them from the help.
func addBeamFlags(fs *pflag.FlagSet) {
	flag.CommandLine.VisitAll(func(g *flag.Flag) {
		if fs.Lookup(g.Name) != nil || strings.HasPrefix(g.Name, "test.") {
			return
		}
		fs.AddGoFlag(g)
		fs.Lookup(g.Name).Hidden = true
	})
}

// beamFlags returns the help of Beam's own flags.
func beamFlags() string {
	var b strings.Builder
	flag.CommandLine.VisitAll(func(g *flag.Flag) {
		if !strings.HasPrefix(g.Name, "test.") {
			_, usage := flag.UnquoteUsage(g)
			fmt.Fprintf(&b, "\n  --%s\n        %s", g.Name, strings.ReplaceAll(usage, "\n", " "))
		}
	})
	return "\n" + b.String()
}

// kernelFlags are the flags that choose a kernel: its name and the options of all families.
type kernelFlags struct {
	// Kernel: {values}.
	Name     string `flag:"kernel,common" group:"Features" placeholder:"NAME"`
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
		o.Group = cmp.Or(o.Group, group)
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
		return nil, exit.Usagef("--%s cannot be used with --kernel %s; it is an option of %s", o.Name, family.Name,
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
	kernelNamed := func(name string) kernel.Options {
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
		return []kernel.Options{kernelNamed(family.Name)}
	}
	var out []kernel.Options
	for _, k := range tuning.Families() {
		name := kernel.FamilyOf(k).Name
		if f.options.Misplaced(name) != nil {
			continue
		}
		one := kernelNamed(name)
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

// learnerFlags are the flags that choose a learner: its name and the options of all learners.
type learnerFlags struct {
	Name     string `flag:"learner,common" group:"Learner" default:"ridge" placeholder:"NAME"`
	learners map[string]iterative.Options
	options  option.Group
}

// searchOwner owns the options of the rounds of feature learning.
const searchOwner = "search"

// newLearners returns the flags of all learners. found has the options of the rounds of feature
// learning, which share flags with the learners.
func newLearners(running *iterative.Running) *learnerFlags {
	f := &learnerFlags{learners: map[string]iterative.Options{}}
	for _, l := range iterative.Learners() {
		f.learners[l.Name] = l.New()
		f.options.Add(l.Name, f.learners[l.Name])
	}
	f.options.Add(searchOwner, running)
	return f
}

// flags returns all options.
func (f *learnerFlags) flags() []*option.Option {
	var once, byRounds []string
	for _, l := range iterative.Learners() {
		text := fmt.Sprintf("%s (%s)", l.Name, l.Summary)
		if l.Open != nil {
			byRounds = append(byRounds, text)
		} else {
			once = append(once, text)
		}
	}
	name := option.List(f)
	name[0].Help = fmt.Sprintf("Learner: %s, or an iterative learner: %s.", strings.Join(once, ", "),
		strings.Join(byRounds, ", "))
	return append(name, inGroup("Learner", f.options.Options)...)
}

// chosen returns the options of the learner that the flags name. If finds is true, features are
// learned in rounds, which allows the options of rounds.
func (f *learnerFlags) chosen(finds bool) (iterative.Options, error) {
	l, err := iterative.Lookup(f.Name)
	if err == nil && l.Unlabeled {
		err = fmt.Errorf("%s takes no labels; bochner embed runs it", l.Name)
	}
	if err != nil {
		return nil, &exit.UsageError{Err: err}
	}
	chosen, solver := "--learner "+l.Name, ""
	if r, ok := f.learners[l.Name].(*ridge.LearnerOptions); ok && r.Solver == iterative.CG {
		chosen, solver, l = "--solver cg", "solver", iterative.DefinitionOf(f.learners[string(iterative.CG)])
	}
	for _, o := range f.options.Options {
		if !o.Given() || slices.Contains(o.Owners, l.Name) || o.Name == solver || finds && slices.Contains(o.Owners, searchOwner) {
			continue
		}
		owners := slices.DeleteFunc(slices.Clone(o.Owners), func(name string) bool { return name == searchOwner })
		if l.Open == nil {
			return nil, exit.Usagef("--%s is for iterative learners (%s); %s is fitted in one pass", o.Name,
				strings.Join(owners, ", "), l.Name)
		}
		return nil, exit.Usagef("--%s cannot be used with %s; it is an option of %s", o.Name, chosen,
			strings.Join(owners, ", "))
	}
	return f.learners[l.Name], nil
}
