package command

import (
	"flag"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
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
		for _, name := range []string{o.Name, cmd.Name() + " " + o.Name} {
			if values := registryValues[name]; values != nil {
				o.SetValues(values())
			}
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
	if v, is := f.Value.(interface{ Self() *option.Option }); is {
		return v.Self()
	}
	return new(option.Option)
}

// showOnly has --help of a command show only these flags.
func showOnly(cmd *cobra.Command, names string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { optionOf(f).Common = false })
	showAlso(cmd, names)
}

// showAlso has --help of a command show these flags, too.
func showAlso(cmd *cobra.Command, names string) {
	for _, name := range strings.Fields(names) {
		optionOf(cmd.Flags().Lookup(name)).Common = true
	}
}

// refuse returns an error with the reason why if one of the named flags is given.
func refuse(cmd *cobra.Command, names []string, why string) error {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return exit.Usage("--%s %s", name, why)
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
