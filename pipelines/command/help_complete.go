package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// placeholder returns the placeholder for the value of a flag in its help.
func placeholder(f *pflag.Flag) string {
	o := optionOf(f)
	if o.Placeholder != "" {
		return o.Placeholder
	}
	switch t := f.Value.Type(); {
	case t == "bool" || t == "boolfunc":
		return ""
	case len(o.Values) > 0:
		return "NAME"
	case t == "duration":
		return "TIME"
	case strings.HasPrefix(t, "int") || strings.HasPrefix(t, "uint"):
		return "N"
	case strings.HasPrefix(t, "float"):
		return "NUMBER"
	}
	return "VALUE"
}

// addCompletion adds shell completion of the values of all flags.
func addCompletion(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || placeholder(f) == "" {
				return
			}
			if err := cmd.RegisterFlagCompletionFunc(f.Name, completion(f)); err != nil {
				panic("command: " + err.Error())
			}
		})
	}
}

// completion returns a function that lists the values of a flag with a given prefix.
func completion(f *pflag.Flag) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		switch placeholder(f) {
		case "DIR", "DIRS":
			return nil, cobra.ShellCompDirectiveFilterDirs
		case "FILE", "FILES", "PATH":
			return nil, cobra.ShellCompDirectiveDefault
		}
		before, directive := "", cobra.ShellCompDirectiveNoFileComp
		if _, list := f.Value.(pflag.SliceValue); list {
			before = begun[:strings.LastIndex(begun, ",")+1]
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		names := slices.Clone(optionOf(f).Values)
		for i, name := range names {
			names[i] = before + name
		}
		return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, begun) }), directive
	}
}
