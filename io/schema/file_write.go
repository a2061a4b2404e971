package schema

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// AppendDescription appends a description as YAML that ReadDescription reads. Comments describe the
// columns and levels as far as they are known.
func AppendDescription(b []byte, d *Description) []byte {
	b = append(b, `# Columns, in the order of the files.
# role: feature, label, weight, id, time or ignore. type: number, boolean, category or time.
# The levels of a category that lists none, and the layout of a time without one, are found
# in the data. A category can have encode: onehot, count or target; a number fill: mean, median
# or a number, for missing values, and a unit: $, €, £, ¥ or %, with which it may be written.
`...)
	b = append(b, "missing: ["...)
	for i, code := range d.Missing {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendScalar(b, code)
	}
	b = append(b, "]\n"...)
	if d.Decimal != 0 {
		b = fmt.Appendf(b, "decimal: %q\n", string(rune(d.Decimal)))
	}
	if d.Thousands != 0 {
		b = fmt.Appendf(b, "thousands: %q\n", string(rune(d.Thousands)))
	}
	b = append(b, "columns:\n"...)
	for i := range d.Fields {
		b = appendField(b, &d.Fields[i])
	}
	return b
}

func appendField(b []byte, f *Field) []byte {
	b = appendScalar(append(b, "  - name: "...), f.Name)
	b = fmt.Appendf(b, "\n    role: %s\n", f.Role)
	if f.Type != "" {
		b = fmt.Appendf(b, "    type: %s", f.Type)
		if text := summaryText(f); text != "" {
			b = append(append(b, "  # "...), text...)
		}
		b = append(b, '\n')
	}
	for _, pair := range [][2]string{{"layout", f.Layout}, {"encode", f.Encode}, {"fill", f.Fill}, {"unit", f.Unit}} {
		if key, value := pair[0], pair[1]; value != "" {
			b = append(appendScalar(fmt.Appendf(b, "    %s: ", key), value), '\n')
		}
	}
	if f.Buckets > 0 {
		b = fmt.Appendf(b, "    buckets: %d\n", f.Buckets)
	}
	if len(f.Levels) == 0 {
		return b
	}
	b = append(b, "    levels:\n"...)
	for _, l := range SortedLevels(f) {
		b = appendScalar(append(b, "      - "...), l.Text)
		if l.Rows > 0 {
			b = append(b, "  # "...)
			b = strconv.AppendInt(b, l.Rows, 10)
		}
		b = append(b, '\n')
	}
	return b
}

// SortedLevels returns the levels of a category, the most frequent ones first if counts are known.
func SortedLevels(f *Field) (levels []Level) {
	left := make(map[string]bool, len(f.Levels))
	for _, l := range f.Levels {
		left[l] = true
	}
	if f.Summary != nil {
		for _, l := range f.Summary.Levels {
			if left[l.Text] {
				levels = append(levels, l)
				delete(left, l.Text)
			}
		}
	}
	for _, l := range f.Levels {
		if left[l] {
			levels = append(levels, Level{Text: l})
		}
	}
	return levels
}

// summaryText returns what is known about the fields of a column, for a comment.
func summaryText(f *Field) string {
	s := f.Summary
	if s == nil {
		return ""
	}
	var parts []string
	if s.Numbers > 0 && f.Type == Number {
		parts = append(parts, fmt.Sprintf("%s to %s, median %s", fileNumber(s.Min), fileNumber(s.Max), fileNumber(s.Median)))
	}
	if s.Texts > 0 {
		parts = append(parts, s.different()+" different")
	}
	if s.Missing > 0 {
		parts = append(parts, fmt.Sprintf("%d missing", s.Missing))
	}
	return strings.Join(parts, ", ")
}

// fileNumber prints a number for people.
func fileNumber(v float64) string { return strconv.FormatFloat(v, 'g', 7, 64) }

// appendScalar appends a text as a YAML scalar, in double quotes unless it is a plain scalar.
func appendScalar(b []byte, text string) []byte {
	if plainScalar(text) {
		return append(b, text...)
	}
	return strconv.AppendQuote(b, strings.ToValidUTF8(text, "\ufffd")) // its escapes are the same in YAML
}

// plainScalar reports whether a text is the same text in YAML without quotes: it begins with an
// ASCII letter, consists of letters, digits and some signs, and is not a word with a meaning.
func plainScalar(text string) bool {
	if text == "" || !isLetter(text[0]) || text[len(text)-1] == ' ' || strings.ContainsFunc(text, isSpecial) {
		return false
	}
	switch strings.ToLower(text) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf":
		return false
	}
	return true
}

// isSpecial reports whether plain scalars are quoted if they contain a character.
func isSpecial(c rune) bool {
	return c >= utf8.RuneSelf || !isLetter(byte(c)) && !isDigit(byte(c)) && !strings.ContainsRune("_-./ ", c)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
