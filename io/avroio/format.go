// Package avroio reads rows from Avro object container files. Nested fields are not supported;
// they may be in a file if they are not used.
package avroio

import (
	"bytes"
	"context"
	"fmt"

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

const isNested = "is a record, an array or a map, and nested values are not supported"

// columns returns the names of the fields of the records.
func (h *header) columns() (names []string) {
	for _, f := range h.schema.fields {
		names = append(names, f.name)
	}
	return names
}

// begin makes the layout from the fields of the first file.
func begin(_ context.Context, o *dataset.Opening, head []byte) error {
	h, err := parseHeader(head)
	if err != nil {
		return o.Error(o.First, err)
	}
	return dataset.BeginStored(o, h.columns())
}

// join returns the columns of a file if they differ from the first file's.
func join(_ context.Context, o *dataset.Opening, i int, head []byte) (any, error) {
	if len(head) == 0 {
		return nil, nil
	}
	h, err := parseHeader(head)
	if err != nil {
		return nil, o.Error(i, err)
	}
	return dataset.JoinStored(o, i, h.columns(), func(c int) error {
		if f := &h.schema.fields[c]; f.node.nested() {
			return fmt.Errorf("column %s: %s; flatten it, or drop the column", dataset.Quote(f.name), isNested)
		}
		return nil
	})
}
