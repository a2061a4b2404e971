// Package lines splits text into records: one line each, or several where a quoted CSV
// field holds newlines. It reads whole files and shards of files; the shards of a file
// together give the records of the file.
//
// ParseNumber and NumberPrefix parse decimal numbers several times as fast as strconv, with the same
// result: the float32 nearest to the text.
package lines

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/io/rowio"
)

// defaultMaxLen is the default limit on the length of a record: 16 MiB.
const defaultMaxLen = 16 << 20

// maxMaxLen keeps sizes within 32 bits.
const maxMaxLen = 1 << 30

// Options selects the part of a file that a Reader reads, and what ends a record. The zero value
// reads the lines of the whole input.
type Options struct {
	// Comma, unless 0, separates fields, and a newline inside a quoted field does not end the
	// record. A field is quoted if it starts with ". In it, "" is a quote and a single " closes
	// it. A quote elsewhere, and text after a closing quote, are not CSV: such a record ends at
	// its next newline, whatever quotes follow, and the field parser rejects it. So one stray
	// quote costs one record.
	Comma byte

	// Start is the offset in the file where the shard and the input start (but see
	// Skip). Lines that begin at or after End are not read; 0 means the end of the
	// input. The last record is read whole even if it crosses End.
	Start, End int64

	// Skip means that Start may be inside a line: reading then begins after the first
	// newline at or after Start−1. If Start > 0, the input must begin at Start−1, so
	// that a line that begins exactly at Start is read.
	Skip bool

	MaxLen int // longest record in bytes, without its line end; 0 is 16 MiB, at most 1 GiB
}

// Reader reads the records of one shard.
type Reader struct {
	in     io.Reader
	err    error // last error of in, io.EOF included
	opts   Options
	limit  int // maximum bytes of a record and its line end
	fatal  error
	ready  bool
	begin  int64
	next   int64 // where the next line begins; a byte-order mark belongs to the line after it
	line   int64
	lines  int64
	blanks int64
	buffer buffer
}

// New returns a Reader of the records of in. It panics if an option is out of
// range: a negative Start, End or MaxLen, a MaxLen above 1 GiB, or a Comma that is a
// quote or a line end.
func New(in io.Reader, o Options) *Reader {
	if o.Start < 0 || o.End < 0 {
		panic("lines: negative Start or End")
	}
	if o.MaxLen < 0 || o.MaxLen > maxMaxLen {
		panic("lines: MaxLen must be between 0 and 1 GiB")
	}
	if o.Comma == '"' || o.Comma == '\n' || o.Comma == '\r' {
		panic("lines: Comma is a quote or a line end")
	}
	if o.MaxLen == 0 {
		o.MaxLen = defaultMaxLen
	}
	o.Skip = o.Skip && o.Start > 0
	r := &Reader{in: in, opts: o, limit: o.MaxLen + len("\r\r\n"), begin: o.Start, next: o.Start}
	r.buffer.base = o.Start
	if o.Skip {
		r.buffer.base--
	}
	return r
}

// Line returns the 1-based line on which the last record began, counted from
// the beginning of the shard.
func (r *Reader) Line() int64 { return r.line }

// Lines returns the number of lines consumed, including blank ones and those inside
// records. A last line without newline counts. Add it to the next shard's line numbers
// to get line numbers in the file.
func (r *Reader) Lines() int64 { return r.lines }

// Blanks returns how many of the lines were blank and so not records.
func (r *Reader) Blanks() int64 { return r.blanks }

// Begin returns the offset in the file where the first line of the shard began.
// It is valid from the first call of Next; before that it is 0 if Start is.
func (r *Reader) Begin() int64 { return r.begin }

// Offset returns the offset in the file after the last record and its line end, where
// the next line begins. After io.EOF it equals Begin of the next shard, or the size of
// the file. If not, a shard boundary fell inside a quoted field and the shards' records are not the
// file's.
func (r *Reader) Offset() int64 { return r.next }

// Next returns the next record that is not blank, without its line end (\n, \r\n or
// \r\r\n), valid until the next call. Lines of spaces only are blank.
//
// The error is io.EOF after the last record. It is a *rowio.BadRow if the record holds a
// NUL byte, is longer than MaxLen or opens a quote that is not closed within MaxLen
// bytes; reading then continues after it, in the last two cases after its first line.
// Any other error is final.
func (r *Reader) Next() ([]byte, error) {
	if !r.ready {
		r.ready = true
		r.fatal = r.start()
	}
	for r.fatal == nil {
		if r.opts.End > 0 && r.next >= r.opts.End {
			r.fatal = io.EOF
			break
		}
		n, newlines, bad := r.scan()
		if r.fatal != nil {
			break
		}
		r.line = r.lines + 1
		if bad != nil {
			bad.Line = r.line
			r.dropLine(n)
			return nil, bad
		}
		rec := trimEnd(r.buffer.unread()[:n])
		nul := r.buffer.has(&r.buffer.nul, 0, n)
		r.lines += newlines
		r.consume(n)
		if nul {
			return nil, &rowio.BadRow{Line: r.line, Reason: nulReason}
		}
		if !blank(rec) {
			return rec, nil
		}
		r.blanks++
	}
	return nil, r.fatal
}

const nulReason = "contains a NUL byte; is this a binary file?"

// scan measures the record that begins at the first unread byte: n bytes with its line
// end, and the newlines in it. If the record is bad, n is the length of its first line,
// or 0 if that is longer than limit. It sets fatal if the input fails or has ended.
func (r *Reader) scan() (n int, newlines int64, bad *rowio.BadRow) {
	at, whole := 0, true
	for {
		w := r.window()
		if i := bytes.IndexByte(w[at:], '\n'); i >= 0 {
			n = at + i + 1
			break
		}
		n, at = len(w), len(w)
		if !r.more() {
			whole = r.ended()
			break
		}
	}
	if r.fatal != nil {
		return 0, 0, nil
	}
	if n == 0 {
		r.consume(0) // a byte-order mark with nothing after it counts as read
		r.fatal = io.EOF
		return 0, 0, nil
	}
	first := n
	if !whole {
		first = 0
	}
	newlines = 1
	if r.opts.Comma != 0 && r.buffer.has(&r.buffer.quote, '"', n) {
		n, bad = r.scanQuoted()
		if bad != nil || r.fatal != nil {
			return first, 0, bad
		}
		if w := r.buffer.unread()[:n]; n != first {
			newlines = int64(bytes.Count(w, []byte{'\n'}))
			if w[n-1] != '\n' {
				newlines++
			}
		}
	} else if !whole {
		return first, 0, r.tooLong(n)
	}
	if len(trimEnd(r.buffer.unread()[:n])) > r.opts.MaxLen {
		return first, 0, r.tooLong(n)
	}
	return n, newlines, nil
}

// scanQuoted measures a record that has quotes.
func (r *Reader) scanQuoted() (n int, bad *rowio.BadRow) {
	var s splitter
	for {
		w := r.window()
		if n := s.run(w, r.opts.Comma); n > 0 {
			return n, nil
		}
		if r.more() {
			continue
		}
		switch ended := r.ended(); {
		case r.fatal != nil:
			return 0, nil
		case s.state == quoted && ended:
			return 0, &rowio.BadRow{Column: s.field + 1, Reason: "the quote opened in this field is never closed"}
		case s.state == quoted:
			return 0, &rowio.BadRow{Column: s.field + 1,
				Reason: fmt.Sprintf("the quote opened in this field is not closed within %d bytes", r.opts.MaxLen)}
		case ended:
			return len(w), nil
		}
		return 0, r.tooLong(len(w))
	}
}

// tooLong returns the error of the record that begins with the first n unread bytes.
// A binary file has no real lines, so it is reported as binary instead.
func (r *Reader) tooLong(n int) *rowio.BadRow {
	if r.buffer.has(&r.buffer.nul, 0, n) {
		return &rowio.BadRow{Reason: nulReason}
	}
	return &rowio.BadRow{Reason: fmt.Sprintf("is longer than %d bytes", r.opts.MaxLen)}
}

// dropLine consumes a bad record's first line, of n bytes if n > 0.
func (r *Reader) dropLine(n int) {
	if n == 0 {
		r.skipLine()
	}
	r.lines++
	r.consume(n)
}

// start finds the first line of the shard.
func (r *Reader) start() error {
	b := &r.buffer
	if r.opts.Skip {
		r.skipLine()
		r.consume(0)
		r.begin = r.next
		return nil
	}
	if b.base != 0 {
		return nil
	}
	for b.end < 3 && r.err == nil {
		r.err = b.fill(r.in, r.limit)
	}
	switch head := b.unread(); {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		b.pos = 3
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return errors.New("the text is UTF-16; convert it with iconv -f UTF-16 -t UTF-8")
	}
	return nil
}

// consume marks n bytes as read; the next line begins after them.
func (r *Reader) consume(n int) {
	r.buffer.pos += n
	r.next = r.buffer.base + int64(r.buffer.pos)
}

// skipLine drops input through the next newline, or all of it if there is none.
func (r *Reader) skipLine() {
	for {
		if i := bytes.IndexByte(r.buffer.unread(), '\n'); i >= 0 {
			r.buffer.pos += i + 1
			return
		}
		r.buffer.pos = r.buffer.end
		if r.err != nil {
			return
		}
		r.err = r.buffer.fill(r.in, r.limit)
	}
}

// window returns the buffered part of the next record and its line end, at most limit
// bytes however much is buffered, so that the split does not depend on how the input
// arrives.
func (r *Reader) window() []byte {
	w := r.buffer.unread()
	return w[:min(len(w), r.limit)]
}

// more reads more input, unless the window is full or the input has ended.
func (r *Reader) more() bool {
	if len(r.window()) == r.limit || r.err != nil {
		return false
	}
	r.err = r.buffer.fill(r.in, r.limit)
	return true
}

// ended reports, once more has returned false, whether the input has ended. If the
// input failed, that becomes the fatal error.
func (r *Reader) ended() bool {
	if len(r.window()) == r.limit {
		return false
	}
	if r.err != io.EOF {
		r.fatal = fmt.Errorf("at byte %d: %w", r.buffer.base+int64(r.buffer.end), r.err)
	}
	return true
}

// trimEnd cuts off the line end: \n, and up to two \r before it or before the end of the input. Files that
// Windows translated twice end their lines with \r\r\n.
func trimEnd(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
	}
	for range 2 {
		b = bytes.TrimSuffix(b, []byte("\r"))
	}
	return b
}

func blank(b []byte) bool {
	for _, c := range b {
		if c != ' ' && c != '\r' {
			return false
		}
	}
	return true
}

// Trim removes spaces from both ends, and tabs unless tabs separate fields.
func Trim(b []byte, tabs bool) []byte {
	space := func(c byte) bool { return c == ' ' || c == '\t' && !tabs }
	for len(b) > 0 && space(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && space(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}
