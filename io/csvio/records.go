package csvio

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rows"
)

// Records reads the fields of records that are not rows, such as the labels in a separate file.
type Records struct {
	Fields int // of each record; 0 for any number

	lines *lines.Reader
	comma byte
	text  []string
}

// NewRecords returns a reader of text in UTF-8 whose fields comma separates.
func NewRecords(in io.Reader, comma byte, fields int) *Records {
	return &Records{Fields: fields, comma: comma, lines: lines.New(in, lines.Options{End: -1, Quote: true, Comma: comma})}
}

// Record returns the fields of the next record that is not blank, in a slice that the next call overwrites. The error
// is io.EOF after the last.
func (r *Records) Record() ([]string, error) {
	rec, err := r.lines.Next()
	if err == io.EOF {
		return nil, err
	}
	line := r.lines.Line()
	if bad, ok := errors.AsType[*rows.BadRow](err); ok {
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
