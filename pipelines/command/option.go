package command

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/internal/option"
)

// addOption adds a flag for an option of a registry.
func addOption(fs *pflag.FlagSet, o *option.Option) {
	f := fs.VarPF(o.Value(), o.Name, "", o.Help)
	if o.Type() == "bool" {
		f.NoOptDefVal = "true"
	}
	if o.Values != nil {
		f.Annotations = map[string][]string{ValuesOf: o.Values}
	}
}

// formatFlag adds --out_format, whose values are the given names.
func formatFlag(fs *pflag.FlagSet, to *string, byDefault, what string, names []string) {
	fs.StringVar(to, "out_format", byDefault, "Format of the "+what+": "+strings.Join(names, ", ")+".")
	fs.Lookup("out_format").Annotations = map[string][]string{ValuesOf: names}
}
