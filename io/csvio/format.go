package csvio

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"golang.org/x/text/encoding/charmap"
)

// The names of the formats: csv has any delimiter, tsv has tabs.
const (
	csvName = "csv"
	tsvName = "tsv"
)

func init() {
	dataset.Register(format(csvName, func(head []byte, _ int64) dataset.Likeness { return dataset.Fallback }))
	dataset.Register(format(tsvName, func(head []byte, _ int64) dataset.Likeness {
		return dataset.Possible.If(Sniff(head) == '\t')
	}))
}

func format(name string, sniff func([]byte, int64) dataset.Likeness) dataset.Format {
	return dataset.Format{
		Name: name, Package: "csvio",
		Traits:  dataset.Traits{Text: true, Written: true, Columns: true, Exact: true},
		Options: func() dataset.FormatOptions { return new(Options) },
		Layout:  func() dataset.Layout { return new(Layout) }, LayoutKey: "csv",
		Sniff: sniff, Begin: begin, Join: join, Agree: dataset.AgreeColumns, Read: readShard,
	}
}

// Options are the options of CSV and TSV files.
type Options struct {
	// Whether CSV and TSV files start with column names: auto, yes, no.
	Header Header `flag:"header" values:"auto,yes,no"`

	// How the text of CSV and TSV files is stored: utf-8, or latin1 (Windows-1252). A model remembers
	// it.
	Encoding Encoding `flag:"encoding" values:"utf-8,latin1"`

	// Character between the fields of CSV files, or tab. Comma, semicolon, tab and | are detected.
	Delimiter string `flag:"delimiter"`
}

// comma returns the delimiter, or 0 if it is to be detected.
func (o Options) comma() (byte, error) {
	switch d := o.Delimiter; {
	case d == "":
		return 0, nil
	case d == "tab" || d == `\t`:
		return '\t', nil
	case len(d) == 1:
		return d[0], CheckComma(d[0])
	default:
		return 0, fmt.Errorf("csvio: delimiter must be one ASCII character such as , ; | or the word tab (have %.20q)", d)
	}
}

// Validate returns an error for an unknown Header or an impossible Delimiter.
func (o Options) Validate() error {
	if _, err := o.comma(); err != nil {
		return err
	}
	if err := o.Encoding.Validate(); err != nil {
		return err
	}
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
		return o.FileError(o.First, err)
	}
	layout, err := firstLayout(o, head)
	if err != nil {
		return o.FileError(o.First, err)
	}
	dataset.BeginTable(o, &layout)
	return nil
}

// firstLayout returns the layout of the first file, from the options, a model whose layout it must match
// (dataset.SameLayout), and the first bytes. It adds notes about doubts.
func firstLayout(o *dataset.Opening, head []byte) (Layout, error) {
	options := dataset.OptionsOf[Options](o.Options)
	dataset.SetPath(o)
	hints := layoutHints{Choice: dataset.ChoiceOf(o.Options), Header: options.Header, Encoding: options.Encoding}
	hints.Comma, _ = options.comma() // valid
	hints.Path = o.Path
	if o.Data.Schema.Format == tsvName && hints.Comma == 0 {
		hints.Comma = '\t'
	}
	like := dataset.SameLayout(o)
	if like != nil {
		hints.Choice = hints.Choice.WithoutFeatures() // the model decides which features there are
	}
	if m, ok := like.(*Layout); ok && hints.Encoding == "" {
		hints.Encoding = m.Encoding
	}
	if hints.Encoding == Latin1 && inUTF8(head) {
		o.Data.Notes = append(o.Data.Notes, o.Data.Files[o.First].Name+
			": is read as Latin-1, though all its text is UTF-8; use --encoding utf-8 to read it as such")
	}
	switch {
	case like == nil || hints.Header != Auto: // nothing to learn from a model
	case !like.Named():
		hints.Header = Absent // a malformed first row must not count as a header
	default:
		// The model's column names are a header, whatever they look like.
		if named, _, err := readLayout(bytes.NewReader(head),
			layoutHints{Comma: hints.Comma, Header: Present, Encoding: hints.Encoding,
				Choice: dataset.Choice{Path: o.Path}}); err == nil && like.Table().NamedIn(named.Columns) {
			hints.Header = Present
		}
	}
	layout, doubt, err := readLayout(bytes.NewReader(head), hints)
	if err != nil {
		return layout, err
	}
	if like != nil {
		if layout.TableLayout, err = dataset.Match(like, &layout); err != nil {
			if layout.Header && hints.Header == Auto {
				err = fmt.Errorf("%w; if the first line is a row, not a header, set header to no", err)
			}
			return layout, err
		}
	}
	if len(o.Path) > 0 && !layout.Header {
		o.Data.Notes = append(o.Data.Notes, "the paths have values of "+strings.Join(o.Path, ", ")+
			", which are not read because the files have no header")
	}
	if doubt != "" {
		o.Data.Notes = append(o.Data.Notes, o.Data.Files[o.First].Name+": "+doubt)
	}
	return layout, nil
}

// join reads the header of another file and returns its layout if it differs from the layout of
// the first file. Without a header, only the length of rows is checked, when they are read.
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
		return nil, dataset.DiffersError(o, i, err)
	}
	if !layout.Header {
		return nil, nil
	}
	other, _, err := readLayout(bytes.NewReader(head),
		layoutHints{Comma: layout.Comma, Header: Present, Encoding: layout.Encoding, Choice: dataset.Choice{Path: o.Path}})
	if err != nil {
		return nil, dataset.DiffersError(o, i, err)
	}
	differ, err := dataset.JoinColumns(o, other.Stored())
	switch {
	case err != nil:
		return nil, dataset.DiffersError(o, i, err)
	case !differ:
		return nil, nil
	}
	return &other, nil
}

// checkFirstLine returns an error if the head has no end of line.
func checkFirstLine(head []byte) error {
	if len(head) == dataset.HeadBytes && bytes.IndexByte(head, '\n') < 0 {
		return fmt.Errorf("its first line is longer than %d bytes; is this a table?", dataset.HeadBytes)
	}
	return nil
}

func readShard(ctx context.Context, in *dataset.Input) (rowio.Reader, error) {
	layout := in.Layout().(*Layout)
	text, err := in.QuotedLines(ctx, layout.Comma)
	if err != nil {
		return nil, err
	}
	return newReader(text, in, layout)
}

// Encoding is how the text of a file is stored. The zero value means the encoding of the model, or UTF8.
type Encoding string

// The encodings. Latin1 is Windows-1252, which has ISO 8859-1 and more letters in place of control
// characters.
const (
	UTF8   Encoding = "utf-8"
	Latin1 Encoding = "latin1"
)

var latin1Names = []string{string(Latin1), "latin-1", "iso-8859-1", "windows-1252", "cp1252"}

// MarshalText returns the encoding's name.
func (e Encoding) MarshalText() ([]byte, error) { return []byte(e), nil }

// UnmarshalText accepts the names of the encodings, other common names for them, and the empty text.
func (e *Encoding) UnmarshalText(text []byte) error {
	switch name := strings.ToLower(string(text)); {
	case name == "":
		*e = ""
	case name == string(UTF8) || name == "utf8":
		*e = UTF8
	case slices.Contains(latin1Names, name):
		*e = Latin1
	default:
		return fmt.Errorf("must be utf-8 or latin1 (have %.20q); convert other files with iconv -t UTF-8", text)
	}
	return nil
}

// Validate returns an error for an unknown encoding.
func (e Encoding) Validate() error {
	if e != "" && e != UTF8 && e != Latin1 {
		return fmt.Errorf("csvio: encoding must be utf-8 or latin1 (have %.20q)", string(e))
	}
	return nil
}

// decode returns the text in UTF-8, in scratch memory if it changes. It may be applied to a whole record,
// because delimiters and quotes are ASCII.
func (e Encoding) decode(scratch *[]byte, text []byte) []byte {
	if e != Latin1 || !bytes.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return text
	}
	b := (*scratch)[:0]
	for _, c := range text {
		b = utf8.AppendRune(b, charmap.Windows1252.DecodeByte(c))
	}
	*scratch = b
	return b
}

// inUTF8 reports whether a text has letters beyond ASCII, all of them in UTF-8.
func inUTF8(text []byte) bool {
	text = text[:bytes.LastIndexByte(text, '\n')+1] // the last line may be cut
	return bytes.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) && utf8.Valid(text)
}

// notUTF8 returns the reason why a text cannot be used if it is not UTF-8.
func notUTF8(b []byte) string {
	if reason := dataset.NotUTF8(b); reason != "" {
		return reason + "; read Latin-1 and Windows-1252 with --encoding latin1, or convert the file to UTF-8"
	}
	return ""
}
