package jsonlio

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// kind is the kind of a value.
type kind uint8

const (
	text kind = iota
	number
	truth
	null
	list   // an array of numbers, perhaps missing
	nested // an object or another array
)

// scanner iterates over the members of the object on a line.
type scanner struct {
	line  []byte
	at    int
	first bool   // no member has been read
	key   []byte // scratch for keys and texts with escapes
	text  []byte
}

// member is a member of an object. Its parts are valid until the next one is read.
type member struct {
	key  []byte
	kind kind
	text []byte // of a text, a number, a list, or true and false
	n    int    // elements of a list
}

// open begins a line and returns the reason why it does not hold an object.
func (s *scanner) open(line []byte) (reason string) {
	s.line, s.at, s.first = line, 0, true
	if s.skip() != '{' {
		return "is not a JSON object"
	}
	s.at++
	return ""
}

// next reads the next member; more is false after the last one.
func (s *scanner) next(m *member) (more bool, reason string) {
	c := s.skip()
	first := s.first
	s.first = false
	switch {
	case c == '}':
		s.at++
		s.skip()
		if s.at < len(s.line) {
			return false, s.bad("text after the object")
		}
		return false, ""
	case !first && c != ',':
		return false, s.bad("want a comma or }")
	case !first:
		s.at++
		c = s.skip()
	}
	if c != '"' {
		return false, s.bad("want a key in quotes")
	}
	var ok bool
	m.key, s.key, ok = s.quoted(s.key)
	if !ok {
		return false, s.bad("a key is not a valid string")
	}
	if s.skip() != ':' {
		return false, s.bad("want a colon")
	}
	s.at++
	s.skip()
	if !s.value(m) {
		return false, s.bad("want a value")
	}
	s.skip()
	return true, ""
}

// bad returns a reason with the position.
func (s *scanner) bad(what string) string {
	return fmt.Sprintf("is not a JSON object (%s at character %d)", what, s.at+1)
}

// skip skips spaces and returns the next byte, 0 at the end.
func (s *scanner) skip() byte {
	for ; s.at < len(s.line); s.at++ {
		if c := s.line[s.at]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c
		}
	}
	return 0
}

// value reads a value.
func (s *scanner) value(m *member) (ok bool) {
	b := s.line[s.at:]
	if len(b) == 0 {
		return false
	}
	switch b[0] {
	case '"':
		m.kind = text
		m.text, s.text, ok = s.quoted(s.text)
		return ok
	case '[':
		at := s.at
		m.n, ok = s.list()
		if ok {
			m.kind, m.text = list, s.line[at:s.at]
			return true
		}
		s.at = at
		fallthrough
	case '{':
		m.kind, m.text = nested, b[:1]
		return s.skipNested()
	}
	for _, w := range words {
		if bytes.HasPrefix(b, w.text) {
			m.kind, m.text = w.kind, w.text
			s.at += len(w.text)
			return true
		}
	}
	n := numberLen(b)
	m.kind, m.text = number, b[:n]
	s.at += n
	return n > 0
}

// words are the values that are words. Python writes NaN and Infinity, which are not JSON.
var words = []struct {
	text []byte
	kind kind
}{
	{[]byte("null"), null}, {[]byte("true"), truth}, {[]byte("false"), truth},
	{[]byte("NaN"), null}, {[]byte("Infinity"), text}, {[]byte("-Infinity"), text},
}

// numberLen returns the length of the number that b begins with, 0 if there is none.
func numberLen(b []byte) int {
	digits := func(i int) int {
		for i < len(b) && b[i]-'0' <= 9 {
			i++
		}
		return i
	}
	i := 0
	if b[0] == '-' {
		i++
	}
	n := digits(i)
	if n == i || n > i+1 && b[i] == '0' {
		return 0
	}
	if n < len(b) && b[n] == '.' {
		i = digits(n + 1)
		if i == n+1 {
			return 0
		}
		n = i
	}
	if n < len(b) && b[n]|0x20 == 'e' {
		i = n + 1
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		n = digits(i)
		if n == i {
			return 0
		}
	}
	return n
}

// list skips a list and returns the number of its elements; not ok if it is another value.
func (s *scanner) list() (n int, ok bool) {
	var m member
	for s.at++; s.skip() != ']'; n++ {
		if !s.element(n, &m) {
			return 0, false
		}
	}
	s.at++
	return n, true
}

// element reads element k of a list, from the end of the one before it; not ok if the value is another.
func (s *scanner) element(k int, m *member) (ok bool) {
	c := s.skip()
	if k > 0 {
		if c != ',' {
			return false
		}
		s.at++
		c = s.skip()
	}
	return c != '"' && c != '[' && c != '{' && s.value(m) && m.kind != truth
}

// skipNested skips an object or array: brackets and strings are matched, nothing else is
// checked.
func (s *scanner) skipNested() bool {
	for depth := 0; s.at < len(s.line); s.at++ {
		switch s.line[s.at] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				s.at++
				return true
			}
		case '"':
			n := stringLen(s.line[s.at:])
			if n == 0 {
				return false
			}
			s.at += n - 1
		}
	}
	return false
}

// stringLen returns the length of the string that b begins with, with both quotes; 0 if it
// does not end.
func stringLen(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// quoted reads a string. Its content is in the line, or in scratch if it has escapes.
func (s *scanner) quoted(scratch []byte) (content, used []byte, ok bool) {
	b := s.line[s.at+1:]
	for i, c := range b {
		switch {
		case c == '"':
			s.at += i + 2
			return b[:i], scratch, true
		case c == '\\':
			return s.escaped(append(scratch[:0], b[:i]...), b[i:])
		case c < ' ':
			return nil, scratch, false
		}
	}
	return nil, scratch, false
}

// escaped reads the rest of a string from its first escape.
func (s *scanner) escaped(dst, b []byte) (content, used []byte, ok bool) {
	for len(b) > 0 {
		c := b[0]
		switch {
		case c == '"':
			s.at = len(s.line) - len(b) + 1
			return dst, dst, true
		case c < ' ':
			return nil, dst, false
		case c != '\\':
			dst, b = append(dst, c), b[1:]
			continue
		case len(b) < 2:
			return nil, dst, false
		}
		if b[1] == 'u' {
			r, n := runeOf(b)
			if n == 0 {
				return nil, dst, false
			}
			dst, b = utf8.AppendRune(dst, r), b[n:]
			continue
		}
		i := bytes.IndexByte([]byte(`"\/bfnrt`), b[1])
		if i < 0 {
			return nil, dst, false
		}
		dst, b = append(dst, "\"\\/\b\f\n\r\t"[i]), b[2:]
	}
	return nil, dst, false
}

// runeOf decodes the escape \uXXXX, or two of them that are a surrogate pair, and returns its
// length; 0 if it is not valid.
func runeOf(b []byte) (r rune, n int) {
	unit := func(b []byte) (rune, bool) {
		if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
			return 0, false
		}
		v, err := strconv.ParseUint(string(b[2:6]), 16, 16)
		return rune(v), err == nil
	}
	r, ok := unit(b)
	switch {
	case !ok:
		return 0, 0
	case !utf16.IsSurrogate(r):
		return r, 6
	}
	if low, ok := unit(b[6:]); ok {
		if r := utf16.DecodeRune(r, low); r != utf8.RuneError {
			return r, 12
		}
	}
	return utf8.RuneError, 6
}
