// Package libsvmio reads rows from LIBSVM (SVMlight) text, which lists the nonzero values of a row:
//
//	label index:value index:value … # comment
package libsvmio

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
)

// reader reads the rows of one shard of a LIBSVM file.
type reader struct {
	lines  *lines.Reader
	dim    int       // 0 to rowio.MaxDim; with 0, each row is as long as its largest index
	centre []float64 // subtracted from the numbers of a row in float64, before they are rounded; nil for none
}

var _ rowio.Reader = (*reader)(nil)

// Line returns the line of the last row that Append read.
func (r *reader) Line() int64 { return r.lines.Line() }

// Append implements rowio.Reader. Indices count from 1 and ascend. A row whose first
// word has a colon has no label; one with nothing after the label is all zeros. Lines
// with only a comment are not rows. The column of a *rowio.BadRow counts the pairs of a
// row from 1; it is 0 for the label.
func (r *reader) Append(x []float32) ([]float32, []byte, error) {
	for {
		rec, err := r.lines.Next()
		if err != nil {
			return x, nil, err
		}
		if i := bytes.IndexByte(rec, '#'); i >= 0 {
			rec = rec[:i]
		}
		rec = skipSpace(rec)
		if len(rec) > 0 {
			return r.parse(x, rec)
		}
	}
}

// parse appends the row of a record that begins with a word.
func (r *reader) parse(x []float32, rec []byte) (row []float32, label []byte, err error) {
	base := len(x)
	if first := word(rec); bytes.IndexByte(first, ':') < 0 {
		label = first
		rec = skipSpace(rec[len(first):])
	}
	if r.dim > 0 {
		x = slices.Grow(x, r.dim)[:base+r.dim]
		clear(x[base:])
	}
	for j, c := range r.centre { // values that a row does not list are zero
		x[base+j] = float32(0 - c)
	}
	last := 0
	for pair := 1; len(rec) > 0; pair++ {
		index, n := number(rec)
		if n == 0 || n == len(rec) || rec[n] != ':' {
			return x[:base], nil, r.bad(pair, notPair(word(rec)))
		}
		if index <= last || index > rowio.MaxDim || r.dim > 0 && index > r.dim {
			return x[:base], nil, r.bad(pair, r.outOfPlace(rec[:n], index, last))
		}
		value := rec[n+1:]
		v, n := lines.NumberPrefix(value)
		if n == 0 || n < len(value) && !isSpace(value[n]) {
			return x[:base], nil, r.bad(pair, fmt.Sprintf("value %s is not a number", schema.Quote(word(value))))
		}
		if !exact.Finite(v) {
			return x[:base], nil, r.bad(pair, fmt.Sprintf("value %s is %s", schema.Quote(value[:n]), rowio.CheckFinite(v)))
		}
		if at := base + index; at > len(x) {
			old := len(x)
			x = slices.Grow(x, at-old)[:at]
			clear(x[old:])
		}
		if index <= len(r.centre) && r.centre[index-1] != 0 {
			v = lines.NumberMinus(value[:n], r.centre[index-1])
		}
		x[base+index-1] = v
		last = index
		rec = skipSpace(value[n:])
	}
	return x, label, nil
}

func (r *reader) bad(pair int, reason string) error {
	return &rowio.BadRow{Line: r.lines.Line(), Column: pair, Reason: reason}
}

// notPair returns the reason why a word is not index:value.
func notPair(w []byte) string {
	switch {
	case bytes.HasPrefix(w, []byte("qid:")):
		return fmt.Sprintf("%s: ranking by query is not supported; remove the qid", schema.Quote(w))
	case bytes.IndexByte(w, ':') < 0:
		return fmt.Sprintf("%s has no colon; want index:value", schema.Quote(w))
	}
	return fmt.Sprintf("%s: the index must be a whole number from 1", schema.Quote(w))
}

// outOfPlace returns the reason why an index cannot follow the last one.
func (r *reader) outOfPlace(text []byte, index, last int) string {
	switch {
	case index == 0:
		return "index 0: indices count from 1"
	case index > rowio.MaxDim:
		return fmt.Sprintf("index %s is above the limit %d", schema.Clip(string(text)), rowio.MaxDim)
	case r.dim > 0 && index > r.dim:
		return fmt.Sprintf("index %d is beyond the row length %d; set dim to a longer row length", index, r.dim)
	case index == last:
		return fmt.Sprintf("index %d occurs twice", index)
	}
	return fmt.Sprintf("index %d follows %d; indices must ascend", index, last)
}

// number reads the n leading digits of b. Above rowio.MaxDim the exact value does not matter.
func number(b []byte) (v, n int) {
	for n < len(b) && b[n]-'0' < 10 {
		v = min(v*10+int(b[n]-'0'), rowio.MaxDim+1)
		n++
	}
	return v, n
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' }

func skipSpace(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	return b
}

// word returns b up to the next space.
func word(b []byte) []byte {
	for i, c := range b {
		if isSpace(c) {
			return b[:i]
		}
	}
	return b
}

func init() {
	dataset.Register(dataset.Format{
		Name: "libsvm", Aliases: []string{"svmlight"},
		Traits:  dataset.Traits{Text: true, Exact: true, Scale: "none"},
		Options: func() dataset.FormatOptions { return new(Options) },
		Sniff: func(head []byte, _ int64) dataset.Likeness {
			return dataset.Likely.If(sniff(head))
		},
		Begin: func(_ context.Context, o *dataset.Opening, _ []byte) error {
			o.Data.Labeled = true
			o.Data.Schema.Dim = dataset.OptionsOf[Options](o.Options).Dim
			if o.Options.Like != nil {
				o.Data.Schema.Dim = o.Options.Like.Dim
			}
			return nil
		},
		Read: func(ctx context.Context, in *dataset.Input) (rowio.Reader, error) {
			text, err := in.Lines(ctx)
			return &reader{text, in.Data.Schema.Dim, in.Data.Schema.Centre}, err
		},
	})
}

// Options are the options of LIBSVM files.
type Options struct {
	// Row length of LIBSVM files; 0 finds it in the data.
	Dim int `flag:"dim"`
}

// Validate returns an error for an invalid row length.
func (o Options) Validate() error {
	if o.Dim < 0 || o.Dim > rowio.MaxDim {
		return fmt.Errorf("libsvmio: dim must be 0 to %d (have %d)", rowio.MaxDim, o.Dim)
	}
	return nil
}

// sniff reports whether the text that begins with head is LIBSVM: in more than half of
// the first lines, only the first word may lack a colon, the others are pairs of
// numbers, and there is at least one pair. So one bad row does not hide the format.
func sniff(head []byte) bool {
	const most = 20
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	pairs, good, bad := 0, 0, 0
	for seen := 0; seen < most && len(head) > 0; {
		line, rest, whole := bytes.Cut(head, []byte{'\n'})
		head = rest
		if i := bytes.IndexByte(line, '#'); i >= 0 {
			line = line[:i]
		}
		line = skipSpace(line)
		if len(line) == 0 {
			seen++
			continue
		}
		fits := true
		for i := 0; len(line) > 0; i++ {
			w := word(line)
			line = skipSpace(line[len(w):])
			switch cutOff := !whole && len(line) == 0; {
			case isPair(w):
				pairs++
			case cutOff && pairs > 0: // may be the beginning of a pair
			case i > 0 || bytes.IndexByte(w, ':') >= 0:
				fits = false
			}
		}
		if fits {
			good++
		} else {
			bad++
		}
		seen++
	}
	return pairs > 0 && good > bad
}

// isPair reports whether w is index:value. qid:number counts, so that ranking data gets
// its own error.
func isPair(w []byte) bool {
	index, value, ok := bytes.Cut(w, []byte{':'})
	if !ok {
		return false
	}
	_, n := number(index)
	_, ok = lines.ParseNumber(value)
	return ok && (n > 0 && n == len(index) || string(index) == "qid")
}
