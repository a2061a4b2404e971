package option

import (
	"encoding"
	"encoding/csv"
	"fmt"
	"math"
	"reflect"
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
func typeName(v reflect.Value) string {
	switch t := v.Type(); {
	case t == duration:
		return "duration"
	case t.Implements(marshaler) && reflect.PointerTo(t).Implements(unmarshaler):
		return "string"
	case t == reflect.TypeFor[[]string]():
		return "stringSlice"
	case t.PkgPath() != "":
		return ""
	}
	switch v.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
		return v.Kind().String()
	}
	return ""
}

func text(v reflect.Value) string {
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
		var b strings.Builder
		w := csv.NewWriter(&b)
		w.Write(x)
		w.Flush()
		return strings.TrimSuffix(b.String(), "\n")
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	default:
		return fmt.Sprint(x)
	}
}

func set(v reflect.Value, text string, more bool) error {
	var err error
	switch to := v.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		return to.UnmarshalText([]byte(text))
	case *string:
		*to = text
	case *bool:
		if *to, err = strconv.ParseBool(text); err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
	case *int, *int64:
		n, err := strconv.ParseInt(text, 0, v.Type().Bits())
		if err != nil {
			return fmt.Errorf("%q is not a whole number%s", text, tooLarge(err))
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
	case *time.Duration:
		if *to, err = time.ParseDuration(text); err != nil {
			return fmt.Errorf("%q is not a duration such as 90s or 2h", text)
		}
	case *[]string:
		var words []string
		if text != "" {
			if words, err = csv.NewReader(strings.NewReader(text)).Read(); err != nil {
				return fmt.Errorf("%q is not a list with commas between: %w", text, err)
			}
		}
		if more {
			words = append(*to, words...)
		}
		*to = words
	}
	return nil
}

// ParseBytes reads a number of bytes: 8000000000, 8GB (powers of 1,000) or 8GiB (of 1,024).
func ParseBytes(text string) (int64, error) {
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return n, nil
	}
	n, err := humanize.ParseBytes(text)
	if err != nil || n > math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a number of bytes such as 8000000000, 8GB or 512MiB", text)
	}
	return int64(n), nil
}

// Wrong says what is wrong with text as a value of a type, which is named as by
// Option.Type; nil if nothing is, or if it is a text.
func Wrong(kind, text string) error {
	for _, t := range []reflect.Type{duration, reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int64](), reflect.TypeFor[uint64](), reflect.TypeFor[float64]()} {
		if v := reflect.New(t).Elem(); typeName(v) == kind {
			return set(v, text, false)
		}
	}
	return nil
}

// tooLarge says so, if that is what is wrong with a number.
func tooLarge(err error) string {
	if n, ok := err.(*strconv.NumError); ok && n.Err == strconv.ErrRange {
		return " that fits into 64 bits"
	}
	return ""
}
