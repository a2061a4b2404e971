package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/io/lines"
	"golang.org/x/text/cases"
	"golang.org/x/text/runes"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/rangetable"
)

// Vocabulary is the list of classes of a data set; a class index is an index into it.
// Labels are text in files: "1", "1.0" and "+1" are one class if every label is a
// number, otherwise three. Whole numbers that differ in any digit are different classes.
//
// Create it with NewVocabulary, with LabelCounts.Summary or from JSON. It is then read-only and safe
// for concurrent use.
type Vocabulary struct {
	Classes []string `json:"classes"` // by value if Numeric, else bytewise; distinct
	Numeric bool     `json:"numeric"` // all classes are numbers in canonical form

	tokens map[string]int  // classes as written in Classes, and in canonical form
	values map[float64]int // numeric classes below 2⁵³, for other ways to write them
}

// NewVocabulary returns the vocabulary of a set of labels, in any order and
// with repetitions. It is Numeric if every label is a number.
func NewVocabulary(labels []string) *Vocabulary {
	v := &Vocabulary{Numeric: len(labels) > 0, Classes: slices.Clone(labels)}
	for _, l := range labels {
		_, v.Numeric = labelNumber([]byte(l))
		if !v.Numeric {
			break
		}
	}
	if v.Numeric {
		for i, l := range labels {
			v.Classes[i] = canonicalLabel([]byte(l))
		}
	}
	slices.SortFunc(v.Classes, v.compare)
	v.Classes = slices.Compact(v.Classes)
	v.index()
	return v
}

// compare orders numbers in canonical form by value, and text bytewise.
func (v *Vocabulary) compare(a, b string) int {
	if !v.Numeric {
		return strings.Compare(a, b)
	}
	x, _ := labelNumber([]byte(a))
	y, _ := labelNumber([]byte(b))
	if x == y && a != b { // large numbers can be equal in float64
		r, _ := new(big.Rat).SetString(a)
		s, _ := new(big.Rat).SetString(b)
		return r.Cmp(s)
	}
	return cmp.Compare(x, y)
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
			x, _ := labelNumber([]byte(c))
			v.values[x] = i
		}
	}
}

// Index returns the class of a label as written in a file, and false if the vocabulary
// does not have it.
func (v *Vocabulary) Index(label []byte) (int, bool) {
	if v.tokens == nil && len(v.Classes) > 0 {
		panic("schema: Vocabulary not made by NewVocabulary")
	}
	if i, ok := v.tokens[string(label)]; ok {
		return i, true
	}
	if v.Numeric {
		if x, ok := labelNumber(label); ok && math.Abs(x) < maxExact {
			i, ok := v.values[x]
			return i, ok
		} else if ok {
			i, ok := v.tokens[canonicalLabel(label)]
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

// MarshalJSON writes the classes. Errors are as from Check.
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

// UnmarshalJSON reads a vocabulary and rejects classes that are out of order, repeated,
// or not in canonical form, because a class index would then change its meaning.
func (v *Vocabulary) UnmarshalJSON(b []byte) error {
	type plain Vocabulary
	var p plain
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	read := Vocabulary{Classes: p.Classes, Numeric: p.Numeric}
	for i, c := range p.Classes {
		if p.Numeric {
			if _, ok := labelNumber([]byte(c)); !ok || canonicalLabel([]byte(c)) != c {
				return fmt.Errorf("labels: vocabulary: class %d: %.80q is not a number in canonical form", i, c)
			}
		}
		if i > 0 && read.compare(p.Classes[i-1], c) >= 0 {
			return fmt.Errorf("labels: vocabulary: class %d: %.80q is repeated or out of order", i, c)
		}
	}
	read.index()
	*v = read
	return nil
}

// labelNumber returns the value of a label that is a finite decimal number, with
// spaces around it allowed. Other notations that Go reads (0x1p3,
// inf, nan) are text: as a class, they are more likely a code.
func labelNumber(label []byte) (float64, bool) {
	t := bytes.Trim(label, " \t")
	if !isDecimal(t) {
		return 0, false
	}
	x, err := strconv.ParseFloat(string(t), 64)
	return x, err == nil
}

// isDecimal reports whether a label has only bytes of decimal numbers and a plausible length.
func isDecimal(t []byte) bool {
	return len(t) > 0 && len(t) <= MaxLabel && len(bytes.Trim(t, "0123456789.-+eE")) == 0
}

// maxExact is the number up to which float64 represents every whole number exactly.
const maxExact = 1 << 53

// canonicalLabel returns the form in which a label becomes a class of a numeric
// vocabulary: the shortest decimal that reads back as the same float64 ("-2.5"), whole
// numbers only in digits. Numbers from 2⁵³ on keep all of their digits, if these
// are at most MaxLabel. A label that is not a number is returned as it is.
func canonicalLabel(label []byte) string {
	x, ok := labelNumber(label)
	if !ok {
		return string(label)
	}
	if math.Abs(x) >= maxExact {
		r, _ := new(big.Rat).SetString(string(bytes.Trim(label, " \t")))
		places, _ := r.FloatPrec()
		if exact := r.FloatString(places); len(exact) <= MaxLabel {
			return exact
		}
	}
	if x == math.Trunc(x) && math.Abs(x) < maxExact {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// whole reports whether a label of value x is a whole number; from 2⁵³ on it must be written in digits.
func whole(label []byte, x float64) bool {
	return x == math.Trunc(x) && (math.Abs(x) < maxExact ||
		!bytes.ContainsAny(lines.CutFraction(bytes.Trim(label, " \t"), '.'), ".eE"))
}

// ParseTarget returns the label as a regression target, rounded to float64 once,
// or the reason why it cannot be one. It must be within the range of float32 and is never −0.
func ParseTarget(label []byte) (y float64, reason string) {
	t := bytes.Trim(label, " \t")
	switch {
	case len(t) == 0:
		return 0, "the label is empty"
	case bytes.Count(t, []byte{','}) == 1 && isDecimal(bytes.Replace(t, []byte{','}, nil, 1)):
		return 0, fmt.Sprintf("the label %.40q is not a number (its fraction seems to begin with a comma)", label)
	case !isDecimal(t):
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

// maxAlike is the number of texts that look the same, and of such groups, that Alike lists.
const maxAlike = 5

// Alike lists, for a message, texts that differ only in case, Unicode form, spaces or invisible
// characters. They are quoted with escapes. The result is "" if there are none.
func Alike(texts []string) string {
	looks := map[string][]string{}
	for _, text := range texts {
		look := Look(text)
		looks[look] = append(looks[look], text)
	}
	var groups []string
	for _, same := range looks {
		slices.Sort(same)
		if len(same) > 1 {
			for i, text := range same {
				same[i] = strconv.QuoteToASCII(fmt.Sprintf("%.40s", text))
			}
			groups = append(groups, Some(same, ", "))
		}
	}
	slices.Sort(groups)
	return Some(groups, "; ")
}

var invisible = rangetable.Merge(unicode.Cf, unicode.Variation_Selector)

// Look returns a normal form of a text, equal for texts that differ only as Alike describes.
func Look(text string) string {
	visible := runes.Remove(runes.In(invisible)).String(norm.NFKC.String(text))
	return strings.Join(strings.Fields(norm.NFKC.String(cases.Fold().String(visible))), " ")
}

// Some joins the first few items for a message.
func Some(items []string, by string) string {
	if more := len(items) - maxAlike; more > 0 {
		items = append(slices.Clone(items[:maxAlike]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(items, by)
}
