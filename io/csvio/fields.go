package csvio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rowio"
)

// fields iterates over the fields of a record (RFC 4180).
type fields struct {
	rec   []byte
	comma byte
	at    int    // start of the next field; len(rec)+1 after the last one
	text  []byte // a quoted field with "" unescaped
}

// more reports whether there is another field. A record has at least one.
func (f *fields) more() bool { return f.at <= len(f.rec) }

// next is like untrimmed, but returns the text without the spaces around it.
func (f *fields) next() (text []byte, reason string) {
	text, reason = f.untrimmed()
	return trim(text, f.comma), reason
}

// untrimmed returns the text of the next field, valid until the next call, or the reason why
// the record is not CSV.
func (f *fields) untrimmed() (text []byte, reason string) {
	b := f.rec[f.at:]
	if len(b) == 0 || b[0] != '"' {
		n := bytes.IndexByte(b, f.comma)
		if n < 0 {
			n = len(b)
		}
		f.at += n + 1
		if bytes.IndexByte(b[:n], '"') >= 0 {
			return nil, "has a quote in an unquoted field"
		}
		return b[:n], ""
	}
	b = b[1:]
	f.text = f.text[:0]
	for {
		i := bytes.IndexByte(b, '"')
		if i < 0 {
			f.at = len(f.rec) + 1
			return nil, "opens a quote that is never closed"
		}
		rest := b[i+1:]
		if len(rest) > 0 && rest[0] == '"' {
			f.text = append(f.text, b[:i+1]...)
			b = rest[1:]
			continue
		}
		text = b[:i]
		if len(f.text) > 0 {
			f.text = append(f.text, text...)
			text = f.text
		}
		f.at = len(f.rec) - len(rest) + 1
		if len(rest) > 0 && rest[0] != f.comma {
			return nil, "has text after its closing quote"
		}
		return text, ""
	}
}

// count returns the number of remaining fields, and for the first invalid one its
// 0-based index and the reason.
func (f fields) count() (n, at int, reason string) {
	for ; f.more(); n++ {
		if _, reason := f.next(); reason != "" {
			return n, n, reason
		}
	}
	return n, 0, ""
}

// trim removes spaces from both ends, and tabs unless they separate fields.
func trim(b []byte, comma byte) []byte {
	space := func(c byte) bool { return c == ' ' || c == '\t' && comma != '\t' }
	for len(b) > 0 && space(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && space(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// Records reads the fields of records that are not rows, such as the labels in a separate file.
type Records struct {
	Fields int // of each record; 0 for any number

	lines *lines.Reader
	comma byte
	text  []string
}

// NewRecords returns a reader of text in UTF-8 whose fields comma separates.
func NewRecords(in io.Reader, comma byte, fields int) *Records {
	return &Records{Fields: fields, comma: comma, lines: lines.New(in, lines.Options{Comma: comma})}
}

// Record returns the fields of the next record that is not blank, in a slice that the next call overwrites. The error
// is io.EOF after the last.
func (r *Records) Record() ([]string, error) {
	rec, err := r.lines.Next()
	if err == io.EOF {
		return nil, err
	}
	line := r.lines.Line()
	if bad, ok := errors.AsType[*rowio.BadRow](err); ok {
		err = errors.New(bad.Reason)
	}
	r.text = r.text[:0]
	for f := (fields{rec: bytes.TrimPrefix(rec, bom), comma: r.comma}); f.more() && err == nil; {
		text, reason := f.next()
		if reason != "" {
			err = fmt.Errorf("field %d %s", len(r.text)+1, reason)
		}
		r.text = append(r.text, string(text))
	}
	if n := len(r.text); err == nil && r.Fields > 0 && n != r.Fields {
		err = fmt.Errorf("has %d %s, want %d", n, dataset.Plural(n, "field"), r.Fields)
	}
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	return r.text, nil
}

// kind is the kind of a field's text.
type kind uint8

const (
	kindNumber  kind = iota // finite
	kindMissing             // empty, or a word for a missing value
	kindText
)

func kindOf(b []byte) kind {
	if v, ok := lines.ParseNumber(b); ok && !math.IsInf(float64(v), 0) {
		return kindNumber
	}
	if len(b) == 0 || isMissing(b) || isInfinite(b) {
		return kindMissing
	}
	return kindText
}

// isMissing reports whether b is a word that R, pandas, SQL or the UCI repository
// writes for a missing value.
func isMissing(b []byte) bool {
	if len(b) > 6 {
		return false
	}
	switch strings.ToLower(string(b)) {
	case "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "nil", "?", "-", ".", "\\n":
		return true
	}
	return false
}

func isInfinite(b []byte) bool {
	if len(b) > len("+infinity") {
		return false
	}
	switch strings.ToLower(strings.TrimLeft(string(b), "+-")) {
	case "inf", "infinity":
		return true
	}
	return false
}

// notNumber returns why the text of a field cannot be a value of a row.
func notNumber(b []byte) string {
	if len(b) == 0 {
		return "is empty"
	}
	q := dataset.Quote(string(b[:min(len(b), 200)]))
	if v, ok := lines.ParseNumber(b); ok {
		return q + " is " + rowio.CheckFinite(v)
	}
	switch {
	case isMissing(b):
		return q + " is not a number"
	case isInfinite(b):
		return q + " is not a finite number"
	case bytes.Count(b, []byte{','}) == 1 && kindOf(bytes.Replace(b[:min(len(b), 200)], []byte{','}, []byte{'.'},
		1)) == kindNumber:
		return q + " is not a number (its fraction seems to begin with a comma)"
	}
	return q + " is not a number"
}
