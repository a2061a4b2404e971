package option

import (
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"strings"
)

// Value is the value of a flag of a command line: a pflag.Value.
type Value interface {
	flag.Value
	Type() string
}

// Value returns the option as the value of a flag. A list can be given by several flags, and one
// that is separated by commas as @FILE.
func (o *Option) Value() Value {
	switch {
	case o.Type() != "stringSlice":
		return o
	case o.List == "commas":
		return list{words{o}}
	}
	return words{o}
}

// words is an option that takes one word, possibly with commas, each time it is given.
type words struct{ *Option }

func (w words) Type() string { return "stringArray" }

func (w words) String() string { return "[" + w.Option.String() + "]" }

func (w words) Set(word string) error { return w.Append(word) }

func (w words) Append(word string) error { return w.Replace([]string{word}) }

// Replace sets the words, instead of the default.
func (w words) Replace(list []string) error {
	if len(list) == 1 && list[0] == "" {
		return w.Option.Set(`""`) // which package csv does not quote, and reads as no word
	}
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

// Set takes a list, or @FILE for the lines of a file.
func (l list) Set(text string) error {
	name, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		return l.Option.Set(text)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var words []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" {
			words = append(words, line)
		}
	}
	if len(words) == 0 {
		return fmt.Errorf("%s has no names", name)
	}
	return l.Replace(append(l.given(), words...))
}

// given returns the words that were set before.
func (l list) given() []string {
	if !l.Option.Given() {
		return nil
	}
	return l.GetSlice()
}
