package lines

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/io/rowio"
)

// record is what a Reader returns for one record.
type record struct {
	Text   string // of a good record
	Bad    string // of a bad one
	Line   int64
	Offset int64 // after it
}

// result is what a Reader returns for one shard.
type result struct {
	Records       []record
	Begin, Offset int64
	Lines         int64
	Err           string
}

// read reads a shard to its end.
func read(in io.Reader, o Options) result {
	r := New(in, o)
	var s result
	for {
		rec, err := r.Next()
		var bad *rowio.BadRow
		switch {
		case err == nil:
			s.Records = append(s.Records, record{Text: string(rec), Line: r.Line(), Offset: r.Offset()})
			continue
		case errors.As(err, &bad):
			if bad.Line != r.Line() {
				panic("line of the bad row differs from the reader's")
			}
			s.Records = append(s.Records, record{Bad: bad.Error(), Line: r.Line(), Offset: r.Offset()})
			continue
		case err != io.EOF:
			s.Err = err.Error()
		}
		s.Begin, s.Offset, s.Lines = r.Begin(), r.Offset(), r.Lines()
		return s
	}
}

// shard reads text from start to end as the driver would.
func shard(text []byte, start, end int64, o Options) result {
	o.Start, o.End, o.Skip = start, end, true
	return read(bytes.NewReader(text[max(start-1, 0):]), o)
}

// twin splits a text in the simplest way: all in memory, byte by byte.
func twin(text []byte, o Options) (s result) {
	if o.MaxLen == 0 {
		o.MaxLen = defaultMaxLen
	}
	pos := 0
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		pos = 3
	}
	for pos < len(text) {
		rest := text[pos:]
		line := len(rest)
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			line = i + 1
		}
		n, bad := twinLength(rest, o)
		rec := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(string(rest[:n]), "\n"), "\r"), "\r")
		if len(rec) > o.MaxLen && bad == "" {
			bad = fmt.Sprintf("is longer than %d bytes", o.MaxLen)
		}
		at := s.Lines + 1
		window := len(rest)
		if rest[n-1] == '\n' {
			window = n
		}
		if bad != "" {
			n = line
			if strings.HasPrefix(bad, "is longer") && bytes.IndexByte(rest[:min(window, o.MaxLen+3)], 0) >= 0 {
				bad = nulReason
			}
		} else if strings.Contains(rec, "\x00") {
			bad = nulReason
		}
		if bad != "" && bad[0] != ':' {
			bad = ": " + bad
		}
		s.Lines += int64(bytes.Count(rest[:n], []byte("\n")))
		if rest[n-1] != '\n' {
			s.Lines++
		}
		pos += n
		if bad != "" {
			s.Records = append(s.Records, record{Bad: fmt.Sprint(at, bad), Line: at, Offset: int64(pos)})
		} else if strings.Trim(rec, " \r") != "" {
			s.Records = append(s.Records, record{Text: rec, Line: at, Offset: int64(pos)})
		}
	}
	s.Offset = int64(len(text))
	return s
}

// twinLength returns the length of the first record of b with its line end.
func twinLength(b []byte, o Options) (n int, bad string) {
	const (
		outside = iota
		inside
		anyhow // not CSV
	)
	state, field := outside, 0
	for i := 0; i < len(b); i++ {
		if i == o.MaxLen+3 {
			if state == inside {
				return i, fmt.Sprintf(":%d: the quote opened in this field is not closed within %d bytes", field+1, o.MaxLen)
			}
			return i, fmt.Sprintf("is longer than %d bytes", o.MaxLen)
		}
		c := b[i]
		switch {
		case c == '\n' && state != inside:
			return i + 1, ""
		case o.Comma == 0 || state == anyhow:
		case state == outside && c == o.Comma:
			field++
		case state == outside && c == '"' && (i == 0 || b[i-1] == o.Comma):
			state = inside
		case state == outside && c == '"':
			state = anyhow
		case state == inside && c == '"':
			rest := b[i+1 : min(len(b), o.MaxLen+3)]
			switch {
			case len(rest) == 0:
				state = outside
			case rest[0] == '"':
				i++
			case rest[0] == o.Comma, len(bytes.TrimLeft(rest, "\r")) == 0, bytes.TrimLeft(rest, "\r")[0] == '\n':
				state = outside
			default:
				state = anyhow
			}
		}
	}
	if state == inside {
		if len(b) == o.MaxLen+3 {
			return len(b), fmt.Sprintf(":%d: the quote opened in this field is not closed within %d bytes", field+1, o.MaxLen)
		}
		return len(b), fmt.Sprintf(":%d: the quote opened in this field is never closed", field+1)
	}
	return len(b), ""
}

// checkTiles reads the text in shards cut at the given offsets and compares with
// the whole. Cuts inside a record are allowed to fail only if the offsets show it.
func checkTiles(t *testing.T, text []byte, o Options, cuts []int64) (tiled bool) {
	t.Helper()
	whole := read(bytes.NewReader(text), o)
	var sum result
	tiled = true
	start := int64(0)
	for i := 0; i <= len(cuts); i++ {
		end := int64(0)
		if i < len(cuts) {
			end = cuts[i]
		}
		s := shard(text, start, end, o)
		if s.Begin != sum.Offset {
			tiled = false
		}
		for _, rec := range s.Records {
			rec.Line += sum.Lines
			if rec.Bad != "" {
				_, reason, _ := strings.Cut(rec.Bad, ":")
				rec.Bad = fmt.Sprintf("%d:%s", rec.Line, reason)
			}
			sum.Records = append(sum.Records, rec)
		}
		sum.Lines += s.Lines
		sum.Offset = s.Offset
		start = end
	}
	if !tiled {
		if o.Comma == 0 {
			t.Fatalf("shards of %q cut at %v do not tile", text, cuts)
		}
		return false
	}
	if !reflect.DeepEqual(whole, sum) {
		t.Fatalf("%q cut at %v (-whole +shards):\n%s", text, cuts, cmp.Diff(whole, sum))
	}
	return true
}
