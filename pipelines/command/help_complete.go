package command

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
)

// Value describes the values of a flag, for help and shell completion.
type Value struct {
	name  string // in the help; "" uses the flag's type
	names func() []string
	files bool // the shell completes file names
	dirs  bool // the shell completes directory names
	list  bool // a list separated by commas
}

// ValuesOf is the annotation of a flag that lists its values. Flags made from a registry may
// have it; the values of other flags are in the table below.
const ValuesOf = "values"

// Takes returns the values of a flag.
func Takes(f *pflag.Flag) Value {
	v := Values[f.Name]
	if own := f.Annotations[ValuesOf]; len(own) > 0 {
		v.names = func() []string { return own }
		if v.name == "" {
			v.name = "NAME"
		}
	}
	return v
}

// Choices returns the named values of a flag, if any.
func (v Value) Choices() []string {
	if v.names == nil {
		return nil
	}
	return v.names()
}

func oneOf(names ...string) Value {
	return Value{name: "NAME", names: func() []string { return names }}
}

func among(names func() []string) Value { return Value{name: "NAME", names: names} }

func listOf(name string, names ...string) Value {
	return Value{name: name, names: func() []string { return names }, list: true}
}

// Values describes the values of flags whose type does not.
var Values = map[string]Value{
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
	"learner":      among(iterative.Names),
	"runner":       among(engine.Runners),
	"loss":         among(func() []string { return append(loss.Names(true), loss.Names(false)...) }),
	"format":       among(func() []string { return append([]string{"auto"}, dataset.Names()...) }),
	"task":         oneOf("auto", "classification", "regression"),
	"grid":         oneOf("auto", "8", "16"),
	"solver":       oneOf("gram", "cg"),
	"label_case":   oneOf("keep", "lower"),
	"select":       oneOf(spec.Selections()...),
	"calibrate":    oneOf("none", "platt", "isotonic"),
	"method":       oneOf("momentum", "adagrad", "sgd"),
	"align":        oneOf("game", "lkrf"),
	"preset":       oneOf("paper", "demo"),
	"pick":         oneOf("top", "draw"),
	"scale":        listOf("STEPS", "auto", "none", "standard", "minmax", "unit", "gray", "whiten", "hog", "crop:", "patchpca:"),
	"augment":      listOf("STEPS", "crop", "flip", "brightness:", "contrast:", "saturation:"),
	"class_weight": listOf("LIST", "balanced"),
}

// Placeholder returns the placeholder for the value of a flag in its help.
func Placeholder(f *pflag.Flag) string {
	if name := Takes(f).name; name != "" {
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

// Complete adds shell completion of the values of all flags.
func Complete(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || Placeholder(f) == "" {
				return
			}
			if err := cmd.RegisterFlagCompletionFunc(f.Name, Takes(f).complete); err != nil {
				panic("command: " + err.Error())
			}
		})
	}
}

// complete returns the values that begin with a prefix.
func (v Value) complete(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
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
	for _, name := range v.Choices() {
		if strings.HasPrefix(before+name, begun) {
			out = append(out, before+name)
		}
	}
	if v.list {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return out, directive
}
