package lines

import "bytes"

// Where a splitter stands in a record.
const (
	fieldStart = iota
	plain      // in an unquoted field
	quoted     // in a quoted field
	closing    // behind a quote in a quoted field: it closes the field or is the first of ""
	closingCR  // behind a closing quote and \r
	broken     // not CSV: the next newline ends the record
)

// splitter finds where a record with quotes ends. A record that is not CSV ends
// at its next newline. Thus, if a quote is left open up to MaxLen and its record
// cut back to the first line, none of the lines up to there opens a quote over
// its newline (a line that does, read from inside quotes, closes them or is
// broken), so no input is scanned again and again.
type splitter struct {
	state int
	at    int // bytes of the record that have been looked at
	field int // 0-based
}

// run looks at the bytes of w behind those it has seen; w begins with the
// record. It returns the length of the record with its line end, or 0 if w ends
// before it.
func (s *splitter) run(w []byte, comma byte) int {
	i := s.at
	for i < len(w) {
		switch s.state {
		case quoted:
			j := bytes.IndexByte(w[i:], '"')
			if j < 0 {
				i = len(w)
				continue
			}
			i += j + 1
			s.state = closing
			continue
		case broken:
			j := bytes.IndexByte(w[i:], '\n')
			if j < 0 {
				i = len(w)
				continue
			}
			return i + j + 1
		}
		c := w[i]
		i++
		switch {
		case c == '\n':
			return i
		case s.state == closingCR:
			s.state = broken
		case c == comma:
			s.field++
			s.state = fieldStart
		case c == '"' && (s.state == fieldStart || s.state == closing):
			s.state = quoted
		case c == '"':
			s.state = broken
		case s.state == closing && c == '\r':
			s.state = closingCR
		case s.state == closing:
			s.state = broken
		default:
			s.state = plain
		}
	}
	s.at = i
	return 0
}
