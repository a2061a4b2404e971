package schema

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/io/lines"
)

// Rules say how the fields of all columns are written.
type Rules struct {
	// Missing lists the texts that mean a missing value, in addition to the empty text. Case does not matter.
	Missing []string `json:"missing,omitempty"`
	// Decimal separates the fraction of a number; 0 means a point. Thousands may separate groups
	// of three digits before it; 0 means that nothing does.
	Decimal   byte `json:"decimal,omitempty"`
	Thousands byte `json:"thousands,omitempty"`
}

// Validate returns an error for rules that cannot be used.
func (r *Rules) Validate() error { return named(r.check()) }

// named begins an error with the name of the package.
func named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("schema: %w", err)
}

// check is Validate without the name of the package.
func (r *Rules) check() error {
	if len(r.Missing) > maxCodes || slices.ContainsFunc(r.Missing, func(s string) bool { return len(s) > maxLevelText }) {
		return fmt.Errorf("at most %d texts of %d bytes may mean a missing value", maxCodes, maxLevelText)
	}
	mark := cmp.Or(r.Decimal, '.')
	switch {
	case mark != '.' && mark != ',':
		return fmt.Errorf("the fraction of a number begins with a point or a comma (have %q)", rune(mark))
	case r.Thousands != 0 && strings.IndexByte(".,' _", r.Thousands) < 0:
		return fmt.Errorf("thousands may be separated by one of . , ' _ and space (have %q)", rune(r.Thousands))
	case r.Thousands == mark:
		return fmt.Errorf("%q separates both thousands and the fraction", rune(mark))
	}
	return nil
}

// Number converts a number in the form of the rules to one with a point and without thousands, in
// scratch memory. It returns any other text unchanged. If that text would be a different number
// without the rules, the reason says why it cannot be used.
func (r *Rules) Number(scratch *[]byte, text []byte) (plain []byte, reason string) {
	trimmed := bytes.Trim(text, " \t")
	if plain, ok := lines.PlainNumber(scratch, trimmed, r.Decimal, r.Thousands); ok {
		if _, ok := lines.ParseNumber(plain); ok {
			return plain, ""
		}
	}
	if _, ok := lines.ParseNumber(trimmed); ok {
		return nil, fmt.Sprintf("%.40q is not a number: %s", text, r.form())
	}
	return text, ""
}

// form says how numbers are written.
func (r *Rules) form() string {
	thousands := "not separated"
	if r.Thousands != 0 {
		thousands = fmt.Sprintf("separated by %q in groups of three digits", rune(r.Thousands))
	}
	return fmt.Sprintf("fractions begin with %q, thousands are %s", rune(cmp.Or(r.Decimal, '.')), thousands)
}

// missing finds the texts that mean a missing value.
type missing struct {
	codes   map[string]int // index of a code, in lower case
	values  []float64      // those that are numbers,
	numbers []int          // and their indexes
	longest int            // bytes of the longest code
	first   [256]bool      // first bytes of codes
}

// newMissing prepares texts that mean a missing value to be looked up, ignoring case. Codes that are numbers also
// match equal numbers in other notations.
func newMissing(codes []string) *missing {
	m := &missing{codes: make(map[string]int)}
	for i, code := range codes {
		lower := string(lines.CutFraction([]byte(strings.ToLower(code)), 0))
		if _, twice := m.codes[lower]; twice || code == "" {
			continue
		}
		m.codes[lower] = i
		m.longest = max(m.longest, len(code), len(lower))
		for c := range 256 {
			// A letter beyond ASCII may belong to a code in another case.
			m.first[c] = m.first[c] || c >= 0x80 || strings.EqualFold(string(rune(c)), lower[:1])
		}
		if v, err := strconv.ParseFloat(code, 64); err == nil && !math.IsNaN(v) {
			m.values = append(m.values, v)
			m.numbers = append(m.numbers, i)
		}
	}
	return m
}

// find returns the index of the code that equals a nonempty text; -1 if there is none.
func (m *missing) find(text []byte) int {
	if len(text) > m.longest || !m.first[text[0]] {
		return -1
	}
	if i, ok := m.codes[string(text)]; ok {
		return i
	}
	var room [32]byte // so that most texts are compared without an allocation
	if i, ok := m.codes[string(appendLower(room[:0], text))]; ok {
		return i
	}
	return -1
}

// appendLower returns a text in lower case, in the memory of b, which is empty, unless it has letters beyond ASCII.
func appendLower(b, text []byte) []byte {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return bytes.ToLower(text)
		}
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

// value returns the index of the code that is a number, or -1.
func (m *missing) value(v float64) int {
	if i := slices.Index(m.values, v); i >= 0 {
		return m.numbers[i]
	}
	return -1
}

// absentWords are words that programs write for a missing value, in lower case. Words that are not in
// DefaultMissing are not read as missing; a note then says how to change that.
var absentWords = []string{
	"na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "nil", "?", "-", "--", ".", "\\n", "nat", "(null)",
	"n.a.", "missing", "unknown",
	"inf", "-inf", "#value!", "#div/0!", "#ref!",
}

// meansMissing reports whether a text is a word for a missing value.
func meansMissing(text []byte) bool {
	return len(text) <= len("unknown") && slices.Contains(absentWords, strings.ToLower(string(text)))
}
