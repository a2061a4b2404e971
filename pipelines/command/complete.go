package command

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/learner"
	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/training"
)

// value describes the values of a flag, for help and shell completion.
type value struct {
	name  string // in the help; "" uses the flag's type
	names func() []string
	files bool // the shell completes file names
	dirs  bool // the shell completes directory names
	list  bool // a list separated by commas
}

// valuesOf is the annotation of a flag that lists its values. Flags made from a registry may
// have it; the values of other flags are in the table below.
const valuesOf = "values"

// takes returns the values of a flag.
func takes(f *pflag.Flag) value {
	v := values[f.Name]
	if own := f.Annotations[valuesOf]; len(own) > 0 {
		v.names = func() []string { return own }
		if v.name == "" {
			v.name = "NAME"
		}
	}
	return v
}

// choices returns the named values of a flag, if any.
func (v value) choices() []string {
	if v.names == nil {
		return nil
	}
	return v.names()
}

func oneOf(names ...string) value {
	return value{name: "NAME", names: func() []string { return names }}
}

func among(names func() []string) value { return value{name: "NAME", names: names} }

func listOf(name string, names ...string) value {
	return value{name: name, names: func() []string { return names }, list: true}
}

// values describes the values of flags whose type does not.
var values = map[string]value{
	"data":        {name: "FILES", files: true},
	"label_files": {name: "FILES", files: true},
	"model":       {name: "DIR", dirs: true},
	"models":      {name: "DIR", dirs: true},
	"expect":      {name: "MODEL"},
	"day":         {name: "DAY"},
	"sums":        {name: "DIR", dirs: true},
	"sums_dir":    {name: "DIR", dirs: true},
	"window":      {name: "DAYS"},
	"held_out":    {name: "FILES", files: true},
	"paired_gate": {name: "CONDITION"},
	"why":         {name: "TEXT"},
	"by":          {name: "TEXT"},
	"out":         {name: "PATH", files: true},
	"work":        {name: "DIR", dirs: true},
	"frequencies": {name: "DIR", dirs: true},
	"init":        {name: "DIR", dirs: true},
	"config":      {name: "FILE", files: true},
	"skeleton":    {name: "FILE", files: true},
	"curve":       {name: "FILE", files: true},
	"picture":     {name: "FILE", files: true},
	"reliability": {name: "FILE", files: true},
	"label":       {name: "COLUMN"},
	"slices":      {name: "COLUMNS"},
	"label_strip": {name: "CHARACTERS"},
	"gate":        {name: "CONDITION"},
	"budgets":     {name: "LIST"},
	"lambda":      {name: "LIST", names: func() []string { return []string{"auto"} }},
	"width":       {name: "NUMBER"},
	"max_time":    {name: "TIME"},
	"time":        {name: "TIME"},
	"worth":       {name: "SHARE"},

	"kernel":       among(kernel.Names),
	"learner":      among(learner.Names),
	"runner":       among(engine.Runners),
	"loss":         among(func() []string { return append(loss.Names(true), loss.Names(false)...) }),
	"format":       among(func() []string { return append([]string{"auto"}, dataset.Names()...) }),
	"task":         oneOf("auto", "classification", "regression"),
	"grid":         oneOf("auto", "8", "16"),
	"label_case":   oneOf("keep", "lower"),
	"select":       oneOf(training.Selections()...),
	"calibrate":    oneOf("none", "platt", "isotonic"),
	"method":       oneOf("momentum", "adagrad", "sgd"),
	"align":        oneOf("game", "lkrf"),
	"preset":       oneOf("paper", "demo"),
	"pick":         oneOf("top", "draw"),
	"scale":        listOf("STEPS", "auto", "none", "standard", "minmax", "unit", "gray", "whiten", "hog", "crop:", "patchpca:"),
	"augment":      listOf("STEPS", "crop", "flip", "brightness:", "contrast:", "saturation:"),
	"class_weight": listOf("LIST", "balanced"),
}

// placeholder returns the placeholder for the value of a flag in its help.
func placeholder(f *pflag.Flag) string {
	if name := takes(f).name; name != "" {
		return name
	}
	switch t := f.Value.Type(); {
	case t == "bool" || t == "boolfunc":
		return ""
	case strings.HasPrefix(t, "int") || strings.HasPrefix(t, "uint"):
		return "N"
	case strings.HasPrefix(t, "float"):
		return "NUMBER"
	}
	return "VALUE"
}

// completions adds shell completion of the values of all flags.
func completions(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || placeholder(f) == "" {
				return
			}
			if err := cmd.RegisterFlagCompletionFunc(f.Name, takes(f).complete); err != nil {
				panic("command: " + err.Error())
			}
		})
	}
}

// complete returns the values that begin with a prefix.
func (v value) complete(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	switch {
	case v.dirs:
		return nil, cobra.ShellCompDirectiveFilterDirs
	case v.files:
		return nil, cobra.ShellCompDirectiveDefault
	}
	before := ""
	if v.list {
		if i := strings.LastIndex(begun, ","); i >= 0 {
			before = begun[:i+1]
		}
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	var out []string
	for _, name := range v.choices() {
		if strings.HasPrefix(before+name, begun) {
			out = append(out, before+name)
		}
	}
	if v.list {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return out, directive
}
