// Package avroio reads rows from Avro object container files. Nested fields are not supported;
// they may be in a file if they are not used.
package avroio

import (
	"bytes"
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/table"
)

func init() {
	dataset.Register(dataset.Format{
		Name:   "avro",
		Traits: dataset.Traits{Columns: true, Exact: true},
		Layout: func() dataset.Layout { return new(table.Layout) }, LayoutKey: "avro",
		Sniff: func(head []byte, _ int64) dataset.Likeness {
			return dataset.Certain.If(bytes.HasPrefix(head, []byte(magic)))
		},
		Begin: begin, Join: join, Agree: table.Agree, Read: read,
		Range: start, Seeks: true,
	})
}

const isNested = "is a record, an array or a map, and nested values are not supported"

// columnsOf returns the fields of the records of file i.
func columnsOf(o *dataset.Opening, i int, head []byte) (names []string, h header, err error) {
	h, err = parseHeader(head)
	if err != nil {
		return nil, h, o.Error(i, err)
	}
	for _, f := range h.schema.fields {
		names = append(names, f.name)
	}
	if len(names) > table.MaxColumns {
		return nil, h, o.Error(i, fmt.Errorf("has %d columns; the limit is %d", len(names), table.MaxColumns))
	}
	return names, h, nil
}

// begin makes the layout from the fields of the first file.
func begin(_ context.Context, o *dataset.Opening, head []byte) error {
	names, _, err := columnsOf(o, o.First, head)
	if err != nil {
		return err
	}
	return table.BeginNamed(o, names)
}

// join returns the columns of a file if they differ from those of the first one.
func join(_ context.Context, o *dataset.Opening, i int, head []byte) (any, error) {
	if len(head) == 0 {
		return nil, nil
	}
	names, h, err := columnsOf(o, i, head)
	if err != nil {
		return nil, err
	}
	used := o.Data.Schema.Layout.(*table.Layout).Used()
	for _, f := range h.schema.fields {
		if f.node.nested() && used[f.name] {
			return nil, o.Error(i, fmt.Errorf("column %s: %s; flatten it, or drop the column", table.Quote(f.name), isNested))
		}
	}
	differ, err := table.Join(o, names)
	switch {
	case err != nil:
		return nil, table.Differs(o, i, err)
	case !differ:
		return nil, nil
	}
	return &table.Layout{Columns: names, Label: -1}, nil
}
