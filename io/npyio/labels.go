package npyio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/bochner-ml/bochner/io/compress"
	"github.com/bochner-ml/bochner/io/csvio"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/lines"
)

// textLabels locates the labels in a text file with a line for each row. It is the dataset.Layout of such a file.
type textLabels struct {
	Comma  byte `json:"comma"`
	Header bool `json:"header"` // the first line has names of columns
	Field  int  `json:"field"`
	Fields int  `json:"fields"`
}

// Validate returns an error for values that only damaged files have.
func (l *textLabels) Validate() error {
	if l.Field < 0 || l.Field >= l.Fields || csvio.CheckComma(l.Comma) != nil {
		return fmt.Errorf("npyio: labels are field %d of %d, separated by %q", l.Field, l.Fields, l.Comma)
	}
	return nil
}

// RowLen returns the number of fields.
func (l *textLabels) RowLen() int { return l.Fields }

// findLabels finds the labels of the rows of f in a text that begins with head: in the named or only column.
func findLabels(ctx context.Context, f *dataset.File, head []byte, column string) (*textLabels, error) {
	stored, err := f.Labels.Open(ctx, 0, -1)
	if err != nil {
		return nil, err
	}
	defer stored.Close()
	content, _, err := compress.NewReader(stored)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	l := &textLabels{Comma: csvio.Sniff(head[:min(len(head), 1<<16)])}
	text := csvio.NewRecords(content, l.Comma, 0)
	first, err := text.Record()
	first = slices.Clone(first)
	l.Fields, text.Fields = len(first), len(first)
	again, n := make([]bool, len(first)), int64(0)
	for fields := first; err == nil; n++ {
		for i, field := range fields {
			again[i] = again[i] || n > 0 && field == first[i]
		}
		fields, err = text.Record()
	}
	if err != io.EOF {
		return nil, err
	}
	l.Header = n == f.Records+1
	if n != f.Records && !l.Header {
		return nil, fmt.Errorf("has %d lines that are not blank for %d rows; want %[2]d, or %d with a header", n, f.Records,
			f.Records+1)
	}
	if err := l.choose(column, first); err != nil || !l.Header {
		return l, err
	}
	if _, number := lines.ParseNumber([]byte(first[l.Field])); number || again[l.Field] {
		return nil, fmt.Errorf("has a line more than the data has rows, and the first, %s, seems to be a label, not a "+
			"header; give one label for each row", dataset.Quote(first[l.Field]))
	}
	return l, nil
}

// choose sets the Field to a column, or to the only one.
func (l *textLabels) choose(column string, first []string) (err error) {
	switch l.Field = slices.Index(first, column); {
	case column == "" && l.Fields > 1:
		return fmt.Errorf("has %d columns; set label to the name or the position of the one with the labels", l.Fields)
	case column == "":
		l.Field = 0
		return nil
	case l.Header && l.Field >= 0:
		return nil
	}
	if l.Field, err = dataset.ColumnPosition(column, l.Fields); err != nil && !l.Header {
		return fmt.Errorf("has as many lines as the data has rows, so no header with %s; give the position of the labels, "+
			"1 to %d", dataset.Quote(column), l.Fields)
	} else if err != nil {
		return fmt.Errorf("has no column %s; have %s", dataset.Quote(column), dataset.NameList(first))
	}
	return nil
}

// texts are labels in a text.
type texts struct {
	*textLabels
	records *csvio.Records
	begun   bool
}

func (t *texts) next() ([]byte, error) {
	if !t.begun && t.Header {
		if _, err := t.records.Record(); err != nil {
			return nil, err
		}
	}
	t.begun = true
	fields, err := t.records.Record()
	if err == io.EOF {
		err = errors.New("ends before the rows do; start again when no process writes to it")
	}
	if err != nil {
		return nil, err
	}
	return []byte(fields[t.Field]), nil
}
