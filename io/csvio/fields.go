package csvio

import "bytes"

// fields iterates over the fields of a record (RFC 4180).
type fields struct {
	rec   []byte
	comma byte
	at    int    // start of the next field; len(rec)+1 after the last one
	text  []byte // a quoted field with "" unescaped
}

// more reports whether there is another field. A record has at least one.
func (f *fields) more() bool { return f.at <= len(f.rec) }

// next is like whole, but returns the text without the spaces around it.
func (f *fields) next() (text []byte, reason string) {
	text, reason = f.whole()
	return trim(text, f.comma), reason
}

// whole returns the text of the next field, valid until the next call, or the reason why
// the record is not CSV.
func (f *fields) whole() (text []byte, reason string) {
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
