// Package jsonlio reads rows from JSON lines: a text file with an object on each line, whose
// keys are the columns. Objects may lack keys, whose values are then missing. Nested values,
// except lists of numbers, can only be in columns that are not used.
package jsonlio

import (
	"bytes"
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
)

func init() {
	dataset.Register(dataset.Format{
		Name: "jsonl", Aliases: []string{"ndjson"}, Package: "jsonlio",
		Traits: dataset.Traits{Text: true, Columns: true, Exact: true},
		Layout: func() dataset.Layout { return new(layout) }, LayoutKey: "jsonl",
		Sniff: func(head []byte, _ int64) dataset.Likeness { return dataset.Certain.If(sniff(head)) },
		Begin: begin, Join: join, Agree: agree, Read: read,
	})
}

// layout describes the objects of the files.
type layout struct {
	dataset.TableLayout
	// Others means that keys which are not columns are ignored, because the features are
	// chosen by name. Otherwise such an object is not a row.
	Others bool `json:"others,omitempty"`

	first *keys // of the first file, while a Dataset is opened
}

var _ dataset.Tabular = (*layout)(nil)

// With returns a copy with other columns.
func (l *layout) With(t dataset.TableLayout) dataset.Layout {
	return &layout{TableLayout: t, Others: l.Others}
}

// sniff reports whether the text that begins with head is JSON lines: its first line is an
// object, or what begins like one.
func sniff(head []byte) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	var s scanner
	if s.open(line) != "" {
		return false
	}
	c := s.skip()
	return c == '"' || c == '}'
}

// begin notes the keys of the first file. The layout is made when all files have been seen,
// because an object may lack keys.
func begin(_ context.Context, o *dataset.Opening, head []byte) error {
	k, err := keysOf(head)
	if err != nil {
		return o.FileError(o.First, err)
	}
	o.Data.Schema.Layout = &layout{first: k}
	return nil
}

// join returns the keys of another file, unless they are the same as in the first one.
func join(_ context.Context, o *dataset.Opening, i int, head []byte) (any, error) {
	if i == o.First || len(bytes.TrimSpace(head)) == 0 {
		return nil, nil
	}
	k, err := keysOf(head)
	if err != nil {
		return nil, o.FileError(i, err)
	}
	if o.Data.Schema.Layout.(*layout).first.same(k) {
		return nil, nil
	}
	return k, nil
}

// agree makes the layout from the keys of all files.
func agree(o *dataset.Opening, files []dataset.Seen) error {
	first := o.Data.Schema.Layout.(*layout).first
	all := newKeys()
	all.merge(first)
	for _, f := range files {
		if k, ok := f.What.(*keys); ok {
			all.merge(k)
		}
	}
	if len(all.names) > dataset.MaxColumns {
		return o.FileError(o.First, fmt.Errorf("the files have more than %d keys", dataset.MaxColumns))
	}
	layout := layout{Others: dataset.SameLayout(o) != nil || len(o.Options.Columns) > 0}
	columns, err := all.columns(dataset.SameLayout(o))
	if err == nil {
		layout.TableLayout, err = dataset.FirstLayout(o, columns)
	}
	if err != nil {
		return o.FileError(o.First, err)
	}
	dataset.BeginTable(o, &layout)
	for i, f := range files {
		k, ok := f.What.(*keys)
		if !ok && i == o.First {
			k, ok = first, true
		}
		if ok {
			if err := flat(&layout.TableLayout, k); err != nil {
				return &dataset.Error{Format: o.Data.Schema.Format, Name: o.Data.Files[i].Name, Err: err}
			}
		}
	}
	return nil
}

// flat returns an error if a used column has nested values.
func flat(l *dataset.TableLayout, k *keys) error {
	for f, uses := range l.UsedFields() {
		name := l.Columns[f]
		if i, ok := k.index[name]; ok && uses && k.values[i].nested > 0 {
			return fmt.Errorf("line %d: %w", k.values[i].nested, dataset.NestedColumnError(name))
		}
	}
	return nil
}

func read(ctx context.Context, in *dataset.Input) (rowio.Reader, error) {
	text, err := in.Lines(ctx)
	if err != nil {
		return nil, err
	}
	return newReader(text, in, in.Layout().(*layout))
}
