package storage

import (
	gopath "path"
	"regexp"
	"strings"
)

// Matcher returns a function that reports whether a name matches a pattern: * and ?
// match everything but slashes, ** everything; [a-z] and \ are as in path.Match. A name
// with a part that begins with a dot matches only patterns that have such a part.
func Matcher(pattern string) (func(name string) bool, error) {
	expr, err := Expression(pattern)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, Invalid("%v", gopath.ErrBadPattern)
	}
	dotted := dotPart(pattern)
	return func(name string) bool { return re.MatchString(name) && (dotted || !dotPart(name)) }, nil
}

// Expression returns the regular expression of a pattern, in which letters and digits stand for
// themselves. It also matches names with parts that begin with a dot.
func Expression(pattern string) (string, error) {
	if _, err := gopath.Match(strings.ReplaceAll(pattern, "**", "*"), ""); err != nil {
		return "", Invalid("%v", err)
	}
	var expr strings.Builder
	expr.WriteString(`(?s)\A`)
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch {
		case strings.HasPrefix(rest, "**/") && (i == 0 || pattern[i-1] == '/'):
			expr.WriteString(`(?:.*/)?`) // also no directory at all
			i += 2
		case strings.HasPrefix(rest, "**"):
			expr.WriteString(`.*`)
			i++
		case rest[0] == '*':
			expr.WriteString(`[^/]*`)
		case rest[0] == '?':
			expr.WriteString(`[^/]`)
		case rest[0] == '[':
			i += class(&expr, rest) - 1
		default:
			if rest[0] == '\\' {
				i++
			}
			// Byte by byte: the bytes of a character stay in order.
			expr.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	expr.WriteString(`\z`)
	return expr.String(), nil
}

// class writes the character class at the beginning of a pattern, which path.Match has
// accepted, and returns its length.
func class(expr *strings.Builder, pattern string) int {
	i := 1
	expr.WriteByte('[')
	if pattern[i] == '^' {
		expr.WriteByte('^')
		i++
	}
	for ; pattern[i] != ']'; i++ {
		switch pattern[i] {
		case '\\':
			i++
			expr.WriteString(`\` + pattern[i:i+1])
		case '[', '^', '&', '~', ':':
			expr.WriteString(`\` + pattern[i:i+1])
		default:
			expr.WriteByte(pattern[i])
		}
	}
	expr.WriteByte(']')
	return i + 1
}

// dotPart reports whether a part of the name begins with a dot.
func dotPart(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
}
