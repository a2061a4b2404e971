package csvio

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/schema"
)

// The names of the formats: comma, semicolon or tab between fields, and tab.
const (
	CSV = "csv"
	TSV = "tsv"
)

func init() {
	dataset.Register(format(CSV, func(head []byte, _ int64) dataset.Likeness { return dataset.Fallback }))
	dataset.Register(format(TSV, func(head []byte, _ int64) dataset.Likeness {
		return dataset.Possible.If(Sniff(head) == '\t')
	}))
}

func format(name string, sniff func([]byte, int64) dataset.Likeness) dataset.Format {
	return dataset.Format{
		Name: name, Package: "csvio",
		Traits:  dataset.Traits{Text: true, Columns: true, Exact: true},
		Options: func() dataset.FormatOptions { return new(Options) },
		Layout:  func() dataset.Layout { return new(Layout) }, LayoutKey: "csv",
		Sniff: sniff, Begin: begin, Join: join, Agree: agree, Read: readShard,
	}
}

// Options are the options of CSV and TSV files.
type Options struct {
	Header Header `flag:"header" help:"Whether CSV and TSV files start with column names: auto, yes, no." values:"auto,yes,no"`
}

// Validate returns an error for an unknown Header.
func (o Options) Validate() error {
	if o.Header > Absent {
		return fmt.Errorf("csvio: header must be auto, yes or no (have %d)", o.Header)
	}
	return nil
}

var headers = []string{"auto", "yes", "no"}

// MarshalText returns auto, yes or no.
func (h Header) MarshalText() ([]byte, error) { return []byte(headers[h]), nil }

// UnmarshalText accepts what MarshalText returns, and the empty text for auto.
func (h *Header) UnmarshalText(text []byte) error {
	i := slices.Index(headers, string(text))
	if i < 0 && len(text) > 0 {
		return fmt.Errorf("must be auto, yes or no (have %q)", text)
	}
	*h = Header(max(0, i))
	return nil
}

// begin finds the layout from the first file with content, unless a model's layout is given.
func begin(_ context.Context, o *dataset.Opening, head []byte) error {
	if err := checkFirstLine(head); err != nil {
		return o.Error(o.First, err)
	}
	layout, err := firstLayout(o, head)
	if err != nil {
		return o.Error(o.First, err)
	}
	d := o.Data
	d.Schema.Layout, d.Schema.Dim = &layout, len(layout.Features)
	d.Fields, d.Labeled = layout.Columns, layout.Label >= 0
	if d.Labeled {
		d.Label = layout.Columns[layout.Label]
	}
	if layout.Header {
		for _, f := range layout.Features {
			d.Schema.Columns = append(d.Schema.Columns, layout.Columns[f])
		}
	}
	return nil
}

func firstLayout(o *dataset.Opening, head []byte) (Layout, error) {
	hints := Hints{Label: o.Options.Label, Header: dataset.OptionsOf[Options](o.Options).Header}
	if o.Data.Schema.Format == TSV {
		hints.Comma = '\t'
	}
	like := likeOf(o)
	switch {
	case like == nil || hints.Header != Auto:
	case !like.Header:
		hints.Header = Absent // a malformed first row must not count as a header
	default:
		// The model's column names are a header, whatever they look like.
		if named, err := ReadLayout(bytes.NewReader(head), Hints{Comma: hints.Comma, Header: Present}); err == nil && like.NamedIn(named) {
			hints.Header = Present
		}
	}
	layout, err := ReadLayout(bytes.NewReader(head), hints)
	if err == nil && like != nil {
		layout, err = like.Match(layout)
	}
	return layout, err
}

// likeOf returns the layout of the model that the data is for, or nil.
func likeOf(o *dataset.Opening) *Layout {
	if o.Options.Like == nil {
		return nil
	}
	l, _ := o.Options.Like.Layout.(*Layout)
	return l
}

// join reads the header of another file and returns its layout if it differs from the
// first one's. Without a header only the length of each row is checked.
func join(_ context.Context, o *dataset.Opening, i int, head []byte) (any, error) {
	layout := o.Data.Schema.Layout.(*Layout)
	content := bytes.TrimLeft(head, "\ufeff \r\n")
	if layout.Header {
		o.Data.Files[i].Lead = int64(len(head) - len(content))
	}
	if i == o.First || len(bytes.TrimSpace(head)) == 0 {
		return nil, nil
	}
	if err := checkFirstLine(head); err != nil {
		return nil, differs(o, i, err)
	}
	if !layout.Header {
		return nil, nil
	}
	other, err := ReadLayout(bytes.NewReader(head), Hints{Comma: layout.Comma, Header: Present})
	if err != nil {
		return nil, differs(o, i, err)
	}
	if slices.Equal(other.Columns, layout.Columns) {
		return nil, nil
	}
	label := o.Options.Label
	if _, err := strconv.Atoi(label); err == nil && layout.Label >= 0 && !slices.Contains(layout.Columns, label) {
		// A position must mean the same column in all files, or the result depends on their order.
		here, err := ReadLayout(bytes.NewReader(head), Hints{Comma: layout.Comma, Header: Present, Label: label})
		if name := layout.Columns[layout.Label]; err == nil && here.Columns[here.Label] != name {
			err = fmt.Errorf("label %s is column %q here and %q there; give its name", label, here.Columns[here.Label], name)
		}
		if err != nil {
			return nil, differs(o, i, err)
		}
	}
	return &other, nil
}

// differs returns the error of a header that does not match the first file's.
func differs(o *dataset.Opening, i int, err error) error {
	return o.Error(i, fmt.Errorf("its header differs from that of %s: %s", o.Data.Files[o.First].Name, dataset.Cause(err)))
}

// checkFirstLine returns an error if the head has no end of line.
func checkFirstLine(head []byte) error {
	if len(head) == dataset.HeadBytes && bytes.IndexByte(head, '\n') < 0 {
		return fmt.Errorf("its first line is longer than %d bytes; is this a table?", dataset.HeadBytes)
	}
	return nil
}

func readShard(ctx context.Context, in *dataset.Input) (rows.Reader, error) {
	layout := *in.Layout().(*Layout)
	text, err := in.Lines(ctx, true, layout.Comma)
	if err != nil {
		return nil, err
	}
	if !in.Labels {
		layout.Label = -1 // the label is not read, so it may be anything
	}
	r := NewReader(text, layout)
	switch sink, describes := in.Sink(); {
	case describes:
		r.Describe(sink)
	case sink != nil:
		r.Types(sink.(*schema.Decoder))
	default:
		r.Centre(in.Data.Schema.Centre)
	}
	return r, nil
}
