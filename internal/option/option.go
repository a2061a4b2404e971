package option

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Option is one option of a struct, or of several structs that have one of that name.
type Option struct {
	Tag
	Values  []string // all that it can be, if there is a list
	Default string   // as text; "" for an empty list
	Owners  []string // the names that Group.Add gave the structs
	Field   string   // the path of the package, type and name of the first field, separated by dots

	fields []reflect.Value
	given  bool
}

// Tag holds the contents of the tags of a field.
type Tag struct {
	Name        string
	Help        string
	Group       string
	Placeholder string
	List        string
	Unit        string
	Common      bool
	Hidden      bool
}

// Group holds the options of several structs, of which one will be chosen later. An
// option that several of them have is listed once, with the tags and the default
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

// Add adds the options of the struct that v points to. It panics if v does not point to
// a struct, if the type of a field cannot be an option, or if it differs from the type
// of an earlier option of the same name.
func (g *Group) Add(owner string, v any) {
	p := reflect.ValueOf(v)
	if p.Kind() != reflect.Pointer || p.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("option: %T does not point to a struct", v))
	}
	g.add(owner, p.Elem(), "", nil)
}

// add adds the options of a struct. tags are the tags of the field that holds it; outer has the fields that
// a struct that embeds it omits.
func (g *Group) add(owner string, s reflect.Value, tags reflect.StructTag, outer []string) {
	omit := append(omitted(s.Type(), tags), outer...)
	for i := range s.NumField() {
		f, value := s.Type().Field(i), s.Field(i)
		group, grouped := f.Tag.Lookup("group")
		inherited := f.Tag
		if group == "" {
			inherited = reflect.StructTag(fmt.Sprintf("group:%q %s", tags.Get("group"), f.Tag))
		}
		switch {
		case slices.Contains(omit, f.Name):
		case f.Tag.Get("flag") != "":
			g.addField(owner, s.Type(), f, value, inherited)
		case f.Type.Kind() == reflect.Struct && f.Anonymous:
			g.add(owner, value, inherited, omit)
		case f.Type.Kind() == reflect.Struct && grouped:
			g.add(owner, value, inherited, within(f.Name, omit))
		case f.Type.Kind() == reflect.Slice && grouped:
			for j := range value.Len() {
				g.add(owner, reflect.Indirect(value.Index(j).Elem()), inherited, nil)
			}
		}
	}
}

// within returns the names after the name of a struct and a dot.
func within(outer string, names []string) (inner []string) {
	for _, name := range names {
		if name, ok := strings.CutPrefix(name, outer+"."); ok {
			inner = append(inner, name)
		}
	}
	return inner
}

// omitted returns the names of fields that the tag omit lists. It panics if a struct lacks one.
func omitted(t reflect.Type, tags reflect.StructTag) []string {
	names := strings.Fields(strings.ReplaceAll(tags.Get("omit"), ",", " "))
	for _, name := range names {
		name, _, _ := strings.Cut(name, ".")
		if _, has := t.FieldByName(name); !has {
			panic(fmt.Sprintf("option: %s has no field %s to omit", t, name))
		}
	}
	return names
}

// addField adds a field of the struct s of an owner. If the group has an option of that name, the field is set
// together with it; otherwise it becomes a new option, with its default.
func (g *Group) addField(owner string, s reflect.Type, f reflect.StructField, value reflect.Value,
	tags reflect.StructTag) {
	var o *Option
	if f.IsExported() {
		o = newOption(value, tags)
	}
	if o == nil || o.typeName(value) == "" {
		panic(fmt.Sprintf("option: %s.%s: an option cannot be a field of type %v", s, f.Name, f.Type))
	}
	if at := slices.IndexFunc(g.Options, func(has *Option) bool { return has.Name == o.Name }); at >= 0 {
		o = g.Options[at]
	} else {
		if text, has := tags.Lookup("default"); has && value.IsZero() {
			if err := o.setField(value, text); err != nil {
				panic(fmt.Sprintf("option: the default of %s: %v", o.Name, err))
			}
		}
		o.Default, o.Field = o.text(value), fmt.Sprintf("%s.%s.%s", s.PkgPath(), s.Name(), f.Name)
		g.Options = append(g.Options, o)
	}
	if len(o.fields) > 0 && o.fields[0].Type() != value.Type() {
		panic(fmt.Sprintf("option: %s is a %v of %s and a %v of %s", o.Name, o.fields[0].Type(), o.Owners[0],
			value.Type(), owner))
	}
	if slices.Contains(o.Owners, owner) {
		panic(fmt.Sprintf("option: %s %s has two fields of the name %s", s, owner, o.Name))
	}
	o.Owners, o.fields = append(o.Owners, owner), append(o.fields, value)
}

// newOption returns the option that tags describe, still without a field.
func newOption(v reflect.Value, tags reflect.StructTag) *Option {
	name, words, _ := strings.Cut(tags.Get("flag"), ",")
	o := &Option{Tag: Tag{
		Name: name, Help: tags.Get("help"), Group: tags.Get("group"), Placeholder: tags.Get("placeholder"),
		List: tags.Get("list"), Unit: tags.Get("unit"), Common: words == "common", Hidden: words == "hidden",
	}}
	if h, ok := v.Interface().(interface{ Help() (string, []string) }); ok && o.Help == "" {
		o.Help, o.Values = h.Help()
	}
	if list := tags.Get("values"); list != "" {
		o.SetValues(strings.Split(list, ","))
	}
	return o
}

// SetValues sets the possible values of the option, and names them in the help.
func (o *Option) SetValues(values []string) {
	o.Values = values
	o.Help = strings.ReplaceAll(o.Help, "{values}", strings.Join(values, ", "))
}

// Misplaced returns the first given option that the struct of that owner does not have;
// nil if there is none.
func (g *Group) Misplaced(owner string) *Option {
	for _, o := range g.Options {
		if o.given && !slices.Contains(o.Owners, owner) {
			return o
		}
	}
	return nil
}

// Self returns o. The values of flags that wrap an option have this method, too.
func (o *Option) Self() *Option { return o }

// Given reports whether Set was called.
func (o *Option) Given() bool { return o.given }

// Type names the type: string, bool, int, int64, uint64, float64, duration or
// stringSlice. A type that reads and writes itself as text is a string.
func (o *Option) Type() string { return o.typeName(o.fields[0]) }

// String returns the value as text that Set takes.
func (o *Option) String() string {
	if o == nil || len(o.fields) == 0 {
		return ""
	}
	return o.text(o.fields[0])
}

// Set sets the fields from text. The words of a list are separated by commas, with quotes
// as in CSV. The first call for a list replaces the default, later calls append to it.
func (o *Option) Set(text string) error {
	for _, f := range o.fields {
		if err := o.setField(f, text); err != nil {
			return err
		}
	}
	o.given = true
	return nil
}

// Error is the error of an invalid value. The text begins with the option's name, before which
// the command line puts the dashes of a flag.
type Error struct {
	Option string
	Err    error
}

// Errorf returns an Error whose text is the name and the formatted text: "features must be at
// least 1 (have 0)".
func Errorf(name, format string, a ...any) error { return &Error{name, fmt.Errorf(format, a...)} }

func (e *Error) Error() string { return e.Option + " " + e.Err.Error() }

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }
