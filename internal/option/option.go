// Package option lists the options that structs hold: exported fields with tags, as in
//
//	type MaternOptions struct {
//		Nu   float64 `flag:"nu" help:"Smoothness ν of the Matérn kernel."`
//		Form Form    `flag:"form" help:"Form of the features." values:"paired,offset"`
//		Width        // an embedded struct adds its own
//	}
//
// The default of an option is the value of its field when it is listed. Where the tag
// help is missing, a type with a method Help() (help string, values []string) has help and
// values for all its fields. A *Option is a value of a command-line flag (package pflag).
//
// NearestName and DidYouMean find the name that a misspelt word most likely stands for.
//
// A Registry holds what packages register when they are imported, by name: kernels, learners, file
// formats, runners. UnmarshalYAML reads small files in YAML that people write: a bounded number of
// bytes, shallow, without aliases.
package option

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Option is one option of a struct, or of several structs that have one of that name.
type Option struct {
	Name    string
	Help    string
	Values  []string // all that it can be, if there is a list
	Default string   // as text; "" for an empty list
	Commas  bool     // a list whose words have no commas: the tag list is "commas"
	Bytes   bool     // a whole number of bytes, which Set takes as 8GB too: the tag unit is "bytes"
	Owners  []string // the names that Group.Add gave the structs

	fields []reflect.Value
	given  bool
}

// Group holds the options of several structs, of which one will be chosen later. An
// option that several of them have is listed once, with the help and the default
// of the first, and is set in all of them.
type Group struct {
	Options []*Option // in the order of their first fields
}

// List lists the options of the struct that v points to.
func List(v any) []*Option {
	var g Group
	g.Add("", v)
	return g.Options
}

// Add adds the options of the struct that v points to. It panics if v does not point
// to a struct, if a field has a type that options cannot have, or one other than
// the option of that name had before.
func (g *Group) Add(owner string, v any) {
	p := reflect.ValueOf(v)
	if p.Kind() != reflect.Pointer || p.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("option: %T does not point to a struct", v))
	}
	g.add(owner, p.Elem())
}

func (g *Group) add(owner string, s reflect.Value) {
	for i := range s.NumField() {
		f, value := s.Type().Field(i), s.Field(i)
		name := f.Tag.Get("flag")
		switch {
		case name != "":
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			g.add(owner, value)
			continue
		default:
			continue
		}
		if !f.IsExported() || typeName(value) == "" {
			panic(fmt.Sprintf("option: %s.%s: an option cannot be a field of type %v", s.Type(), f.Name, f.Type))
		}
		at := slices.IndexFunc(g.Options, func(o *Option) bool { return o.Name == name })
		if at < 0 {
			o := &Option{Name: name, Default: text(value), Commas: f.Tag.Get("list") == "commas", Bytes: f.Tag.Get("unit") == "bytes"}
			o.Help, o.Values = help(f.Tag, value)
			at, g.Options = len(g.Options), append(g.Options, o)
		}
		o := g.Options[at]
		if len(o.fields) > 0 && o.fields[0].Type() != value.Type() {
			panic(fmt.Sprintf("option: %s is a %v of %s and a %v of %s", name, o.fields[0].Type(), o.Owners[0], value.Type(), owner))
		}
		if slices.Contains(o.Owners, owner) {
			panic(fmt.Sprintf("option: %s %s has two fields of the name %s", s.Type(), owner, name))
		}
		o.Owners, o.fields = append(o.Owners, owner), append(o.fields, value)
	}
}

func help(tag reflect.StructTag, v reflect.Value) (help string, values []string) {
	if list := tag.Get("values"); list != "" {
		values = strings.Split(list, ",")
	}
	if text, ok := tag.Lookup("help"); ok {
		return text, values
	}
	if h, ok := v.Interface().(interface{ Help() (string, []string) }); ok {
		return h.Help()
	}
	return "", values
}

// Misplaced returns the first option that was given although the struct of that owner
// does not have it; nil for none.
func (g *Group) Misplaced(owner string) *Option {
	for _, o := range g.Options {
		if o.given && !slices.Contains(o.Owners, owner) {
			return o
		}
	}
	return nil
}

// Given tells whether Set was called.
func (o *Option) Given() bool { return o.given }

// Type names the type: string, bool, int, int64, uint64, float64, duration or
// stringSlice. A type that reads and writes itself as text is a string.
func (o *Option) Type() string { return typeName(o.fields[0]) }

// String returns the value as text that Set takes.
func (o *Option) String() string {
	if o == nil || len(o.fields) == 0 {
		return ""
	}
	return text(o.fields[0])
}

// Set sets the fields from text. A list is separated by commas, with quotes as in
// CSV; what is given first replaces the default, and more is added to it.
func (o *Option) Set(text string) error {
	for _, f := range o.fields {
		if o.Bytes {
			n, err := ParseBytes(text)
			if err != nil {
				return err
			}
			f.SetInt(n)
		} else if err := set(f, text, o.given); err != nil {
			return err
		}
	}
	o.given = true
	return nil
}
