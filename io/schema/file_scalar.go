package schema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// appendScalar appends a text as a YAML scalar, in double quotes unless it is a plain scalar.
func appendScalar(b []byte, text string) []byte {
	if plainScalar(text) {
		return append(b, text...)
	}
	b = append(b, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\r':
			b = append(b, `\r`...)
		case strconv.IsPrint(r):
			b = utf8.AppendRune(b, r)
		case r < 0x100:
			b = fmt.Appendf(b, `\x%02x`, r)
		default:
			b = fmt.Appendf(b, `\U%08x`, r)
		}
	}
	return append(b, '"')
}

// plainScalar reports whether a text is the same text in YAML without quotes: it begins with an
// ASCII letter, consists of letters, digits and some signs, and is not a word with a meaning.
func plainScalar(text string) bool {
	if text == "" || text[len(text)-1] == ' ' {
		return false
	}
	for i, c := range []byte(text) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || !(c >= '0' && c <= '9') && !strings.ContainsRune("_-./ ", rune(c))) {
			return false
		}
	}
	switch strings.ToLower(text) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf":
		return false
	}
	return true
}

// scalar reads the YAML scalar at the beginning of text, and returns the rest. A plain scalar ends
// before a comment or, in a list, before a comma or bracket.
func scalar(text string, list bool) (value, rest string, err error) {
	if text == "" {
		return "", "", errors.New(`nothing where a text should be; write "" for an empty text`)
	}
	switch c := text[0]; c {
	case '"':
		return doubleQuoted(text[1:])
	case '\'':
		return singleQuoted(text[1:])
	case '&', '*', '!', '|', '>', '%', '@', '`', '{', '}', '[', ']', ',', '#', '?', ':':
		if c != '?' && c != ':' || len(text) == 1 || text[1] == ' ' {
			return "", "", errors.New("a text that begins with " + strconv.Quote(text[:1]) + " must be quoted")
		}
	case '-':
		if len(text) == 1 || text[1] == ' ' {
			return "", "", errors.New(`a list in a list; quote the text if it is "-"`)
		}
	}
	end := len(text)
	for i := range len(text) {
		c := text[i]
		if c == '#' && i > 0 && text[i-1] == ' ' || list && strings.IndexByte(",[]{}", c) >= 0 {
			end = i
			break
		}
		if c == ':' && (i+1 == len(text) || text[i+1] == ' ') {
			return "", "", errors.New("a text with a colon before a space must be quoted")
		}
	}
	return strings.TrimRight(text[:end], " "), text[end:], nil
}

func singleQuoted(text string) (value, rest string, err error) {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '\'')
		if i < 0 {
			return "", "", errors.New("a quote is not closed on its line")
		}
		b.WriteString(text[:i])
		text = text[i+1:]
		if text == "" || text[0] != '\'' {
			return b.String(), text, nil
		}
		b.WriteByte('\'')
		text = text[1:]
	}
}

// escapes are the characters after a backslash that stand for one character.
var escapes = map[byte]string{
	'"': `"`, '\\': `\`, '/': "/", ' ': " ", 'n': "\n", 't': "\t", 'r': "\r", '0': "\x00",
	'a': "\a", 'b': "\b", 'e': "\x1b", 'f': "\f", 'v': "\v",
}

// digitsOf are the numbers of hexadecimal digits of escapes.
var digitsOf = map[byte]int{'x': 2, 'u': 4, 'U': 8}

func doubleQuoted(text string) (value, rest string, err error) {
	var b strings.Builder
	for {
		i := strings.IndexAny(text, `"\`)
		if i < 0 || i+1 == len(text) && text[i] == '\\' {
			return "", "", errors.New("a quote is not closed on its line")
		}
		b.WriteString(text[:i])
		if text[i] == '"' {
			return b.String(), text[i+1:], nil
		}
		c := text[i+1]
		text = text[i+2:]
		if s, ok := escapes[c]; ok {
			b.WriteString(s)
			continue
		}
		n := digitsOf[c]
		if n == 0 || n > len(text) {
			return "", "", errors.New(`unknown escape \` + string(rune(c)))
		}
		v, err := strconv.ParseUint(text[:n], 16, 32)
		if err != nil || !utf8.ValidRune(rune(v)) {
			return "", "", errors.New(`\` + string(rune(c)) + text[:n] + " is not a character")
		}
		b.WriteRune(rune(v))
		text = text[n:]
	}
}
