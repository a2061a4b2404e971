// Package records reads rows that a program has in memory, each a Row or a struct of its own
// type, as the rows of a file are read: by the same types of columns, missing values, labels and
// weights, to the same numbers.
package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/exact"
)

// Row is a row of a table with its key. Its values are either all numbers, in the order of the
// columns of the training data, or named.
type Row struct {
	Key string // comes back with what is computed from the row
	// Values are the numbers of all columns of a model; NaN is a missing value.
	Values []float64
	// Numbers and Texts hold the values by the names of their columns, if Values is empty: numbers,
	// where NaN is a missing value, and texts as they would be written in a CSV file, where "" is
	// one. Each column of the model must be in one of them; other columns are ignored.
	Numbers map[string]float64
	Texts   map[string]string
	// Label is the label of a row to train on: the name of its class, or a number. If it is empty,
	// the column of the label is taken. Several targets are always in Numbers or Texts, by name.
	Label string
	// Weight is the weight of a row to train on, for recipes with weights, unless Numbers has the
	// column of the weights.
	Weight float64
}

// Tag is the key of the struct tags that define the roles of fields:
//
//	Area  float64 `bochner:"area"`        // the column area
//	Rooms *int64  `beam:"rooms"`          // likewise, by the tag of Beam's schemas; nil is missing
//	Kind  string                          // the column Kind
//	ID    string  `bochner:",key"`        // the key of the row
//	Price float64 `bochner:"price,label"` // the label, whatever its column is called (several
//	                                      // targets are columns by their names)
//	Times int     `bochner:",weight"`     // the weight
//	Pixel []float32 `bochner:",values"`   // all columns of the model, in order
//	Note  []byte  `bochner:"-"`           // nothing
//
// Columns are strings, booleans, integers, floating-point numbers, and pointers to these. A field
// that no column of a model is named as is ignored.
const Tag = "bochner"

// Type has the columns and roles of the fields of a struct type.
type Type struct {
	of     reflect.Type
	named  map[string][]int // index of the field of each column
	roles  map[string][]int // of key, label, weight and values
	fields []string         // names of columns, in order
	label  string           // the name of the label's column
	weight string           // and of the weight's; "" if there is none
}

// roles of fields that are not columns.
const (
	roleKey    = "key"
	roleLabel  = "label"
	roleWeight = "weight"
	roleValues = "values"
)

var rowType = reflect.TypeFor[Row]()

// TypeOf describes a type of rows: Row, or a struct whose fields have the tags of Tag. It returns
// an error if values of the type cannot be rows.
func TypeOf(t reflect.Type) (*Type, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("records: rows are of the type %s, want Row or a struct with a field for each column", t)
	}
	d := &Type{of: t, named: map[string][]int{}, roles: map[string][]int{}}
	if t == rowType {
		d.label = roleLabel
		return d, nil
	}
	var ignored []int // index of an embedded struct
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag.Get(Tag)
		switch {
		case ignored != nil && len(f.Index) > len(ignored) && slices.Equal(f.Index[:len(ignored)], ignored):
			continue
		case f.Anonymous && tag == "-":
			ignored = f.Index
		}
		if !f.IsExported() || tag == "-" || f.Anonymous && f.Type.Kind() == reflect.Struct {
			continue
		}
		if throughPointer(t, f.Index) {
			return nil, fmt.Errorf("records: %s.%s is a field of an embedded pointer; embed the struct itself", t, f.Name)
		}
		name, role, _ := strings.Cut(tag, ",")
		if name == "" {
			name, _, _ = strings.Cut(f.Tag.Get("beam"), ",")
		}
		if name == "" {
			name = f.Name
		}
		switch role {
		case "":
			if _, twice := d.named[name]; twice {
				return nil, fmt.Errorf("records: %s has two fields for the column %q", t, name)
			}
			d.named[name], d.fields = f.Index, append(d.fields, name)
			continue
		case roleKey, roleLabel, roleWeight, roleValues:
		default:
			return nil, fmt.Errorf("records: %s.%s has the tag %q; want key, label, weight or values after the comma", t,
				f.Name, tag)
		}
		if _, twice := d.roles[role]; twice {
			return nil, fmt.Errorf("records: %s has two fields with the tag %q", t, ","+role)
		}
		if err := checkRole(role, f.Type); err != nil {
			return nil, fmt.Errorf("records: %s.%s: %w", t, f.Name, err)
		}
		d.roles[role] = f.Index
		switch role {
		case roleLabel:
			d.label = name
		case roleWeight:
			d.weight = name
		}
	}
	return d, nil
}

// throughPointer reports whether the way to a field leads through a pointer.
func throughPointer(t reflect.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		t = t.Field(i).Type
		if t.Kind() == reflect.Pointer {
			return true
		}
	}
	return false
}

func checkRole(role string, t reflect.Type) error {
	if role != roleValues {
		if !scalar(t) {
			return fmt.Errorf("a %s cannot be of the type %s", role, t)
		}
		return nil
	}
	if t.Kind() == reflect.Slice && (t.Elem().Kind() == reflect.Float32 || t.Elem().Kind() == reflect.Float64) {
		return nil
	}
	return fmt.Errorf("values of the type %s, want []float32 or []float64", t)
}

// scalar reports whether a column can have values of the type.
func scalar(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	}
	return false
}

// Key returns the key of a row of the type; "" if it has none.
func (t *Type) Key(row reflect.Value) string {
	if t.of == rowType {
		return row.Field(0).String()
	}
	index, ok := t.roles[roleKey]
	if !ok {
		return ""
	}
	return Text(row.FieldByIndex(index))
}

// Text returns the text of a key: of a string, boolean or number, or of what a pointer points to.
func Text(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	return fmt.Sprint(plain(v))
}

// Columns returns the names under which JSON has the label and the weight of rows; "" if they have
// none. A Row has its label as "label", and no weight.
func (t *Type) Columns() (label, weight string) { return t.label, t.weight }

// plain returns a value without the methods of its type, which may write it as another value than readers take.
func plain(v reflect.Value) any {
	switch {
	case v.Kind() == reflect.String:
		return v.String()
	case v.Kind() == reflect.Bool:
		return v.Bool()
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return v.Uint()
	case v.Kind() == reflect.Float32:
		return float32(v.Float())
	}
	return v.Float()
}

// CheckColumns returns an error if a field that may be a column cannot be one. A model ignores such fields, unless it
// has a column of that name; without a model they would be lost.
func (t *Type) CheckColumns() error {
	for _, name := range t.fields {
		if f := t.of.FieldByIndex(t.named[name]); !scalar(f.Type) {
			return fmt.Errorf("records: %s.%s is of the type %s, which cannot be a column: make it a text, number or boolean, "+
				"or tag it `bochner:\"-\"`", t.of, f.Name, f.Type)
		}
	}
	return nil
}

// JSON returns a row as a line of JSON with its columns, its label and its weight. What is missing and
// numbers that JSON cannot have are null.
func (t *Type) JSON(row reflect.Value) (line []byte, err error) {
	add := func(name string, v reflect.Value) {
		var value any
		v = reflect.Indirect(v)
		if v.IsValid() && !(v.CanFloat() && !exact.Finite(v.Float())) {
			value = plain(v)
		}
		data, failed := json.Marshal(map[string]any{name: value})
		err = errors.Join(err, failed)
		line = append(append(line, ','), bytes.Trim(data, "{}")...)
	}
	if t.of == rowType {
		r := row.Interface().(Row)
		for _, name := range slices.Sorted(maps.Keys(r.Numbers)) {
			add(name, reflect.ValueOf(r.Numbers[name]))
		}
		for _, name := range slices.Sorted(maps.Keys(r.Texts)) {
			add(name, reflect.ValueOf(r.Texts[name]))
		}
		if r.Label != "" {
			add(t.label, reflect.ValueOf(r.Label))
		}
	}
	for _, name := range t.fields {
		if f := row.FieldByIndex(t.named[name]); scalar(f.Type()) {
			add(name, f)
		}
	}
	for _, role := range [][2]string{{roleLabel, t.label}, {roleWeight, t.weight}} {
		if index, ok := t.roles[role[0]]; ok {
			add(role[1], row.FieldByIndex(index))
		}
	}
	if len(line) == 0 {
		return nil, fmt.Errorf("records: %s has no columns by name", t.of)
	}
	line[0] = '{'
	return append(line, "}\n"...), err
}
