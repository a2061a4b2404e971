package csvio

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/bochner-ml/bochner/io/dataset"
)

// Encoding is how the text of a file is stored. The zero value means the encoding of the model, or UTF8.
type Encoding string

// The encodings. Latin1 is Windows-1252, which has ISO 8859-1 and more letters in place of control
// characters.
const (
	UTF8   Encoding = "utf-8"
	Latin1 Encoding = "latin1"
)

var latin1Names = []string{string(Latin1), "latin-1", "iso-8859-1", "windows-1252", "cp1252"}

// MarshalText returns the encoding's name.
func (e Encoding) MarshalText() ([]byte, error) { return []byte(e), nil }

// UnmarshalText accepts the names of the encodings, other common names for them, and the empty text.
func (e *Encoding) UnmarshalText(text []byte) error {
	switch name := strings.ToLower(string(text)); {
	case name == "":
		*e = ""
	case name == string(UTF8) || name == "utf8":
		*e = UTF8
	case slices.Contains(latin1Names, name):
		*e = Latin1
	default:
		return fmt.Errorf("must be utf-8 or latin1 (have %.20q); convert other files with iconv -t UTF-8", text)
	}
	return nil
}

// Validate returns an error for an unknown encoding.
func (e Encoding) Validate() error {
	if e != "" && e != UTF8 && e != Latin1 {
		return fmt.Errorf("csvio: encoding must be utf-8 or latin1 (have %.20q)", string(e))
	}
	return nil
}

// decode returns the text in UTF-8, in scratch memory if it changes. It may be applied to a whole record,
// because delimiters and quotes are ASCII.
func (e Encoding) decode(scratch *[]byte, text []byte) []byte {
	if e != Latin1 || !bytes.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return text
	}
	b := (*scratch)[:0]
	for _, c := range text {
		b = utf8.AppendRune(b, charmap.Windows1252.DecodeByte(c))
	}
	*scratch = b
	return b
}

// inUTF8 reports whether a text has letters beyond ASCII, all of them in UTF-8.
func inUTF8(text []byte) bool {
	text = text[:bytes.LastIndexByte(text, '\n')+1] // the last line may be cut
	return bytes.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) && utf8.Valid(text)
}

// notUTF8 returns the reason why a text cannot be used if it is not UTF-8.
func notUTF8(b []byte) string {
	if reason := dataset.NotUTF8(b); reason != "" {
		return reason + "; read Latin-1 and Windows-1252 with --encoding latin1, or convert the file to UTF-8"
	}
	return ""
}
