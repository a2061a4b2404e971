// Package avroio reads rows from Avro object container files. Nested fields, except lists of numbers, are not
// supported; they may be in a file if they are not used.
package avroio

import (
	"bytes"
	"context"

	"github.com/bochner-ml/bochner/io/dataset"
)

func init() {
	dataset.Register(dataset.Format{
		Name:   "avro",
		Traits: dataset.Traits{Columns: true, Exact: true},
		Layout: func() dataset.Layout { return new(dataset.TableLayout) }, LayoutKey: "avro",
		Sniff: func(head []byte, _ int64) dataset.Likeness {
			return dataset.Certain.If(bytes.HasPrefix(head, []byte(magic)))
		},
		Begin: begin, Join: join, Agree: dataset.AgreeColumns, Read: read,
		Range: start, Seeks: true,
	})
}

// columnsOf returns the columns of file i, which begins with head, and, by name, whether they have parts.
func columnsOf(ctx context.Context, o *dataset.Opening, i int, head []byte) (names []string, nested map[string]bool,
	err error) {
	h, err := parseHeader(head)
	lengths := make([]int, 0)
	if err == nil {
		like, _ := o.Data.Schema.Layout.(*dataset.TableLayout)
		lengths, err = h.lengths(ctx, &o.Data.Files[i], like)
	}
	if err == nil {
		names, err = h.columns(lengths)
	}
	if err != nil {
		return nil, nil, o.FileError(i, err)
	}
	nested = map[string]bool{}
	for _, f := range h.schema.fields {
		nested[f.name] = f.node.nested() // elements of lists have other names
	}
	return names, nested, nil
}

// columns returns the names of the columns of the records, whose fields are lists of those lengths.
func (h *header) columns(lengths []int) ([]string, error) {
	var names []string
	for _, f := range h.schema.fields {
		names = append(names, f.name)
	}
	return dataset.WithLists(names, lengths)
}

// begin makes the layout from the fields of the first file.
func begin(ctx context.Context, o *dataset.Opening, head []byte) error {
	names, _, err := columnsOf(ctx, o, o.First, head)
	if err != nil {
		return err
	}
	return dataset.BeginStored(o, names)
}

// join returns the columns of a file if they differ from the first file's.
func join(ctx context.Context, o *dataset.Opening, i int, head []byte) (any, error) {
	if len(head) == 0 {
		return nil, nil
	}
	names, nested, err := columnsOf(ctx, o, i, head)
	if err != nil {
		return nil, err
	}
	return dataset.JoinStored(o, i, names, func(c int) error {
		if nested[names[c]] {
			return dataset.NestedColumnError(names[c])
		}
		return nil
	})
}
