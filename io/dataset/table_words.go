package dataset

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/io/schema"
)

// Quote quotes the first 40 characters of a text for a message.
func Quote(s string) string { return schema.Quote(s) }

// NotUTF8 returns the reason why a text is not valid UTF-8, "" if it is.
func NotUTF8(b []byte) string {
	if utf8.Valid(b) {
		return ""
	}
	at := 0
	for {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n == 1 {
			return fmt.Sprintf("%s is not UTF-8 (byte %d is 0x%02X)", Quote(string(b[:min(len(b), 200)])), at+1, b[at])
		}
		at += n
	}
}

// Plural adds an s to a noun for all counts but one.
func Plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// InColumn puts the name of a column before a reason.
func InColumn(name, reason string) string { return fmt.Sprintf("column %s: %s", Quote(name), reason) }

// NameList joins the first twenty names for a message.
func NameList(names []string) string {
	const most = 20
	s := make([]string, 0, most)
	for _, name := range names[:min(len(names), most)] {
		s = append(s, schema.Clip(name))
	}
	text := strings.Join(s, ", ")
	if n := len(names) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
