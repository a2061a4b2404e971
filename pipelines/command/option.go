package command

import (
	"encoding/csv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/internal/option"
)

// addOption adds a flag for an option of a registry.
func addOption(fs *pflag.FlagSet, o *option.Option) {
	var v pflag.Value = o
	switch {
	case o.Type() != "stringSlice":
	case o.Commas:
		v = list{words{o}}
	default:
		v = words{o}
	}
	f := fs.VarPF(v, o.Name, "", o.Help)
	if o.Type() == "bool" {
		f.NoOptDefVal = "true"
	}
	if o.Values != nil {
		f.Annotations = map[string][]string{valuesOf: o.Values}
	}
}

// words is an option that takes one word, possibly with commas, each time it is given.
type words struct{ *option.Option }

func (w words) Type() string { return "stringArray" }

func (w words) String() string { return "[" + w.Option.String() + "]" }

func (w words) Set(word string) error { return w.Append(word) }

func (w words) Append(word string) error { return w.Replace([]string{word}) }

// Replace sets the words, instead of the default.
func (w words) Replace(list []string) error {
	var b strings.Builder
	c := csv.NewWriter(&b)
	if err := c.Write(list); err != nil {
		return err
	}
	c.Flush()
	return w.Option.Set(strings.TrimSuffix(b.String(), "\n"))
}

// GetSlice implements pflag.SliceValue.
func (w words) GetSlice() []string {
	list, err := csv.NewReader(strings.NewReader(w.Option.String())).Read()
	if err != nil {
		return nil // the text is empty
	}
	return list
}

// list is an option that takes a list separated by commas.
type list struct{ words }

func (l list) Type() string { return "stringSlice" }

func (l list) Set(text string) error { return l.Option.Set(text) }
