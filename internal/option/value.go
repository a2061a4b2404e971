package option

import (
	"cmp"
	"encoding"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

var (
	duration    = reflect.TypeFor[time.Duration]()
	marshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	unmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// typeName returns "" for a type that options cannot have.
func (o *Option) typeName(v reflect.Value) string {
	switch t := v.Type(); {
	case t == duration:
		return "duration"
	case t.Kind() == reflect.String, t.Implements(marshaler) && reflect.PointerTo(t).Implements(unmarshaler):
		return "string"
	case t.PkgPath() != "":
		return ""
	case t == reflect.TypeFor[[]string]():
		return "stringSlice"
	case v.Kind() == reflect.Bool && len(o.Values) == 2, o.Unit == "days", t == reflect.TypeFor[[]float64](),
		t == reflect.TypeFor[[]int]():
		return "string"
	case t == reflect.TypeFor[*float64]():
		return "float64"
	}
	switch v.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
		return v.Kind().String()
	}
	return ""
}

// auto is the text of a list of numbers without any.
const auto = "auto"

// text returns the text of a value, which set would accept, except that a list without values is auto.
func (o *Option) text(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case encoding.TextMarshaler:
		b, err := x.MarshalText()
		if err != nil {
			panic(fmt.Sprintf("option: the default of a %v: %v", v.Type(), err))
		}
		return string(b)
	case time.Duration:
		if x == 0 {
			return "0"
		}
		return x.String()
	case []string:
		return JoinList(x)
	case []float64, []int:
		if v.Len() == 0 {
			return auto
		}
		return strings.ReplaceAll(strings.Trim(fmt.Sprint(x), "[]"), " ", ",")
	case *float64:
		if x == nil {
			return ""
		}
		return strconv.FormatFloat(*x, 'g', -1, 64)
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case bool:
		if len(o.Values) == 2 {
			return o.Values[map[bool]int{true: 1}[x]]
		}
		return strconv.FormatBool(x)
	case int:
		switch {
		case o.Unit != "days":
			return strconv.Itoa(x)
		case x == 0:
			return "" // none
		}
		return strconv.Itoa(x) + "d"
	default:
		return fmt.Sprint(x)
	}
}

// JoinList joins the words of a list with commas, with quotes as in CSV.
func JoinList(words []string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.Write(words)
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// setField sets a field from text. It appends to a list that was given before.
func (o *Option) setField(v reflect.Value, text string) (err error) {
	switch to := v.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		return to.UnmarshalText([]byte(text))
	case *bool:
		if len(o.Values) == 2 {
			i := slices.Index(o.Values, text)
			if i < 0 {
				return fmt.Errorf("want %s", strings.Join(o.Values, " or "))
			}
			*to = i == 1
		} else if *to, err = strconv.ParseBool(text); err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
	case *string:
		if o.List == "joined" && o.given {
			text = *to + "," + text
		}
		*to = text
	case *[]string:
		words, err := split(text)
		if err != nil {
			return err
		}
		if o.given {
			words = append(*to, words...)
		}
		*to = words
	case *int, *int64:
		n, err := o.whole(text, v.Type().Bits())
		if err != nil {
			return err
		}
		v.SetInt(n)
	case *uint64:
		if *to, err = strconv.ParseUint(text, 0, 64); err != nil {
			return fmt.Errorf("%q is not a whole number from 0 up%s", text, tooLarge(err))
		}
	case *float64:
		if *to, err = strconv.ParseFloat(text, 64); err != nil {
			return fmt.Errorf("%q is not a number%s", text, tooLarge(err))
		}
	case **float64:
		n := new(float64)
		if err := o.setField(reflect.ValueOf(n).Elem(), text); err != nil {
			return err
		}
		*to = n
	case *time.Duration:
		if *to, err = time.ParseDuration(text); err != nil {
			return fmt.Errorf("%q is not a duration such as 90s or 2h", text)
		}
	case *[]float64, *[]int:
		return setNumbers(v, text)
	default: // a string of a named type
		v.SetString(text)
	}
	return nil
}

// whole reads a whole number in the unit of the option.
func (o *Option) whole(text string, bits int) (int64, error) {
	switch o.Unit {
	case "bytes":
		return parseBytes(text)
	case "days":
		n, err := strconv.ParseInt(strings.TrimSuffix(cmp.Or(text, "0"), "d"), 10, bits)
		if err != nil || n < 1 && text != "" {
			return 0, fmt.Errorf("%q is not a number of days; write it as 90d", text)
		}
		return n, nil
	}
	n, err := strconv.ParseInt(text, 0, bits)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number%s", text, tooLarge(err))
	}
	return n, nil
}

// split returns the words of a list, with quotes as in CSV.
func split(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	words, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil {
		return nil, fmt.Errorf("%q is not a list with commas between: %w", text, err)
	}
	return words, nil
}

// setNumbers sets a list of numbers from text with commas between them.
func setNumbers(v reflect.Value, text string) error {
	v.SetZero()
	if text == "" || text == auto {
		return nil
	}
	for word := range strings.SplitSeq(text, ",") {
		n := reflect.New(v.Type().Elem()).Elem()
		if err := new(Option).setField(n, strings.TrimSpace(word)); err != nil {
			v.SetZero()
			return err
		}
		v.Set(reflect.Append(v, n))
	}
	return nil
}

// parseBytes reads a number of bytes: 8000000000, 8GB (powers of 1,000) or 8GiB (of 1,024).
func parseBytes(text string) (int64, error) {
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return n, nil
	}
	n, err := humanize.ParseBytes(text)
	if err != nil || n > math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a number of bytes such as 8000000000, 8GB or 512MiB", text)
	}
	return int64(n), nil
}

// Wrong returns an error if text is not a value of a type, named as by Option.Type. Any text
// is a value of type string.
func Wrong(kind, text string) error {
	for _, t := range []reflect.Type{duration, reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int64](),
		reflect.TypeFor[uint64](), reflect.TypeFor[float64]()} {
		if v := reflect.New(t).Elem(); new(Option).typeName(v) == kind {
			return new(Option).setField(v, text)
		}
	}
	return nil
}

// tooLarge returns an addition to a message if err means that a number is out of range.
func tooLarge(err error) string {
	if errors.Is(err, strconv.ErrRange) {
		return " that fits into 64 bits"
	}
	return ""
}

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
	return w.Option.Set(JoinList(list))
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
	if l.Given() {
		words = l.GetSlice()
	}
	given := len(words)
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line != "" {
			words = append(words, line)
		}
	}
	if len(words) == given {
		return fmt.Errorf("%s has no names", name)
	}
	return l.Replace(words)
}
