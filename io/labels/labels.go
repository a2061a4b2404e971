package labels

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Vocabulary is the list of classes of a data set; a class index is an index into it.
// Labels are text in files: "1", "1.0" and "+1" are one class if every label is a
// number, otherwise three.
//
// Create it with New, with Counts.Summary or from JSON. It is then read-only and safe
// for concurrent use.
type Vocabulary struct {
	Classes []string `json:"classes"` // by value if Numeric, else bytewise; distinct
	Numeric bool     `json:"numeric"` // all classes are numbers in canonical form

	tokens map[string]int  // classes as written in Classes
	values map[float64]int // numeric classes, for other ways to write them
}

// New returns the vocabulary of a set of labels, in any order and
// with repetitions. It is Numeric if every label is a number.
func New(labels []string) *Vocabulary {
	v := &Vocabulary{Numeric: len(labels) > 0}
	var values []float64
	for _, l := range labels {
		x, ok := number([]byte(l))
		if v.Numeric = ok; !ok {
			break
		}
		values = append(values, x)
	}
	if v.Numeric {
		slices.Sort(values)
		for _, x := range slices.Compact(values) {
			v.Classes = append(v.Classes, canonical(x))
		}
	} else {
		v.Classes = slices.Clone(labels)
		slices.Sort(v.Classes)
		v.Classes = slices.Compact(v.Classes)
	}
	v.index()
	return v
}

// compareClasses orders numbers in canonical form by value, and text bytewise.
func compareClasses(a, b string, numeric bool) int {
	if numeric {
		x, _ := number([]byte(a))
		y, _ := number([]byte(b))
		return cmp.Compare(x, y)
	}
	return strings.Compare(a, b)
}

// index builds the maps from Classes.
func (v *Vocabulary) index() {
	v.tokens, v.values = make(map[string]int, len(v.Classes)), nil
	if v.Numeric {
		v.values = make(map[float64]int, len(v.Classes))
	}
	for i, c := range v.Classes {
		v.tokens[c] = i
		if v.Numeric {
			x, _ := number([]byte(c))
			v.values[x] = i
		}
	}
}

// Index returns the class of a label as written in a file, and false if the vocabulary
// does not have it.
func (v *Vocabulary) Index(label []byte) (int, bool) {
	if v.tokens == nil && len(v.Classes) > 0 {
		panic("labels: Vocabulary not made by New")
	}
	if i, ok := v.tokens[string(label)]; ok {
		return i, true
	}
	if v.Numeric {
		if x, ok := number(label); ok {
			i, ok := v.values[x]
			return i, ok
		}
	}
	return 0, false
}

// Check returns an error if a class cannot be written as JSON and read back,
// because it is not UTF-8.
func (v Vocabulary) Check() error {
	for i, c := range v.Classes {
		if !utf8.ValidString(c) {
			return fmt.Errorf("labels: vocabulary: class %d: %.80q is not UTF-8; convert the data, for instance with iconv", i, c)
		}
	}
	return nil
}

// MarshalJSON writes the classes. The error is that of Check.
func (v Vocabulary) MarshalJSON() ([]byte, error) {
	if err := v.Check(); err != nil {
		return nil, err
	}
	type plain Vocabulary
	p := plain(v)
	if p.Classes == nil {
		p.Classes = []string{}
	}
	return json.Marshal(p)
}

// Equal reports whether both have the same classes.
func (v *Vocabulary) Equal(w *Vocabulary) bool {
	if v == nil || w == nil {
		return v == w
	}
	return v.Numeric == w.Numeric && slices.Equal(v.Classes, w.Classes)
}

// UnmarshalJSON reads a vocabulary and rejects classes that are out of order, repeated,
// or not in canonical form, because a class index would then change its meaning.
func (v *Vocabulary) UnmarshalJSON(b []byte) error {
	type plain Vocabulary
	var p plain
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	for i, c := range p.Classes {
		if p.Numeric {
			if _, ok := number([]byte(c)); !ok || Canonical([]byte(c)) != c {
				return fmt.Errorf("labels: vocabulary: class %d: %.80q is not a number in canonical form", i, c)
			}
		}
		if i > 0 && compareClasses(p.Classes[i-1], c, p.Numeric) >= 0 {
			return fmt.Errorf("labels: vocabulary: class %d: %.80q is repeated or out of order", i, c)
		}
	}
	*v = Vocabulary{Classes: p.Classes, Numeric: p.Numeric}
	v.index()
	return nil
}

// number returns the value of a label that is a finite decimal number, with
// spaces around it allowed. Other notations that Go reads (0x1p3,
// inf, nan) are text: as a class, they are more likely a code.
func number(label []byte) (float64, bool) {
	t := bytes.Trim(label, " \t")
	if !decimal(t) {
		return 0, false
	}
	x, err := strconv.ParseFloat(string(t), 64)
	return x, err == nil
}

// decimal reports whether a label has only bytes of decimal numbers and a plausible length.
func decimal(t []byte) bool {
	if len(t) == 0 || len(t) > MaxLabel {
		return false
	}
	for _, c := range t {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return false
		}
	}
	return true
}

// Canonical returns the form in which a label becomes a class of a numeric
// vocabulary: the shortest decimal that reads back as the same float64, whole
// numbers below 2⁵³ in digits alone ("1", "-2.5", "1e+300"). A label that is not a
// number is returned as it is.
func Canonical(label []byte) string {
	if x, ok := number(label); ok {
		return canonical(x)
	}
	return string(label)
}

func canonical(x float64) string {
	if whole(x) {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// whole reports whether x is a whole number that float64 represents exactly, as it does
// its neighbours.
func whole(x float64) bool { return x == math.Trunc(x) && math.Abs(x) < 1<<53 }

// ParseTarget returns the label as a regression target, rounded to float64 once,
// or the reason why it cannot be one. It must be within the range of float32 and is never −0.
func ParseTarget(label []byte) (y float64, reason string) {
	t := bytes.Trim(label, " \t")
	switch {
	case len(t) == 0:
		return 0, "the label is empty"
	case bytes.Count(t, []byte{','}) == 1 && decimal(bytes.Replace(t, []byte{','}, nil, 1)):
		return 0, fmt.Sprintf("the label %.40q is not a number (its fraction seems to begin with a comma)", label)
	case !decimal(t):
		return 0, fmt.Sprintf("the label %.40q is not a number", label)
	}
	x, err := strconv.ParseFloat(string(t), 64)
	switch {
	case math.IsInf(float64(float32(x)), 0):
		return 0, fmt.Sprintf("the label %.40q is too large for float32 (largest is 3.4e38)", label)
	case err != nil:
		return 0, fmt.Sprintf("the label %.40q is not a number", label)
	}
	return x + 0, ""
}
