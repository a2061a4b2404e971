package lines

import "bytes"

// The state of a splitter in a record.
const (
	fieldStart = iota
	plain      // in an unquoted field
	quoted     // in a quoted field
	closing    // after a quote in a quoted field: it closes the field or starts ""
	closingCR  // after a closing quote and \r
	broken     // not CSV: the next newline ends the record
)

// splitter finds the end of a record with quotes. A record that is not CSV ends at its
// next newline. So if a quote stays open up to MaxLen and the record is cut back to its
// first line, none of the lines up to MaxLen opens a quote across its newline (such a
// line, read from inside quotes, closes them or is broken), and no input is scanned
// repeatedly.
type splitter struct {
	state int
	at    int // bytes of the record that have been scanned
	field int // 0-based
}

// run scans the new bytes of w, which begins with the record. It returns the length of
// the record with its line end, or 0 if w ends first.
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
		case s.state == closingCR && c != '\r':
			s.state = broken
		case c == comma:
			s.field++
			s.state = fieldStart
		case c == '"' && (s.state == fieldStart || s.state == closing):
			s.state = quoted
		case c == '"':
			s.state = broken
		case c == '\r' && (s.state == closing || s.state == closingCR):
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
