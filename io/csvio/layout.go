// Package csvio reads rows from CSV and TSV files. It detects the separator (Sniff) and
// whether the first record is a header (type evidence). A reader splits records into fields and
// converts them to rows of float32. The package registers the formats csv and tsv.
package csvio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rowio"
)

// Layout describes the fields of a file's records. It is plain data and part of a
// model; call Validate on a Layout read from a file.
type Layout struct {
	Comma  byte `json:"comma"`  // field separator, as a character code
	Header bool `json:"header"` // the first record names the columns
	// Encoding is the encoding of the text.
	Encoding Encoding `json:"encoding,omitempty"`
	dataset.TableLayout
}

var _ dataset.Tabular = (*Layout)(nil)

// Validate checks that a Layout can be used.
func (l *Layout) Validate() error {
	if err := CheckComma(l.Comma); err != nil {
		return err
	}
	if err := l.Encoding.Validate(); err != nil {
		return err
	}
	return l.TableLayout.Validate()
}

// Named reports whether the file has a header.
func (l *Layout) Named() bool { return l.Header }

// With returns a copy with other columns.
func (l *Layout) With(t dataset.TableLayout) dataset.Layout {
	return &Layout{Comma: l.Comma, Header: l.Header, Encoding: l.Encoding, TableLayout: t}
}

// CheckComma refuses a separator that can be part of a number or of quoting.
func CheckComma(c byte) error {
	word := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	if word || c < ' ' && c != '\t' || c >= 0x7f || strings.IndexByte("\" +-._", c) >= 0 {
		return fmt.Errorf("csvio: %q cannot separate fields; use one ASCII character such as , ; or tab", rune(c))
	}
	return nil
}

// Header says whether the first record of a file names its columns.
type Header uint8

const (
	Auto    Header = iota // decide by the first records
	Present               // the first record is a header
	Absent                // the first record is a row
)

// layoutHints holds what is known about a file in advance.
type layoutHints struct {
	Comma    byte   // field separator; 0 to detect it
	Header   Header // whether there is a header; Auto to detect it
	Encoding Encoding
	dataset.Choice
}

// errEmpty is readLayout's error for a file without any record.
var errEmpty = errors.New("the file is empty")

// open returns a reader of the records of in, and the first 64 KiB. If the layout has no Comma, these determine it.
func (l *Layout) open(in io.Reader) (records *lines.Reader, head []byte, err error) {
	head = make([]byte, sniffLen)
	n, err := io.ReadFull(in, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, nil, err
	}
	head = head[:n]
	var all io.Reader = bytes.NewReader(head)
	if err == nil {
		all = io.MultiReader(all, in)
	}
	if l.Comma == 0 {
		l.Comma = Sniff(head)
	} else if err := CheckComma(l.Comma); err != nil {
		return nil, nil, err
	}
	return lines.New(all, lines.Options{Comma: l.Comma}), head, nil
}

// readLayout finds the layout of a file from its beginning, in. It reads the first 64
// KiB, or more until it has seen the first records. doubt is why the decision of Auto may be
// wrong; "" if it is clear.
//
// A column given by name requires a header; otherwise Auto compares the first record with
// those below it.
func readLayout(in io.Reader, o layoutHints) (l Layout, doubt string, err error) {
	l = Layout{Comma: o.Comma, Encoding: o.Encoding}
	if l.Encoding == UTF8 {
		l.Encoding = "" // models store UTF-8 so
	}
	r, head, err := l.open(in)
	if err != nil {
		return Layout{}, "", err
	}
	rec, err := r.Next()
	if err == io.EOF {
		return Layout{}, "", errEmpty
	}
	if err != nil {
		return Layout{}, "", err
	}
	first := fields{rec: rec, comma: l.Comma}
	n, at, reason := first.count()
	switch {
	case reason != "":
		return Layout{}, "", fmt.Errorf("field %d %s", at+1, reason)
	case n > dataset.MaxColumns:
		return Layout{}, "", fmt.Errorf("%d fields; the limit is %d", n, dataset.MaxColumns)
	}
	l.Columns = headerNames(l.Encoding.decode(new([]byte), rec), l.Comma, n)
	switch {
	case o.Header == Present, o.Header == Auto && o.ByName():
		l.Header = true
	case o.Header == Auto:
		label, err := dataset.ColumnPosition(o.Label, n)
		if err != nil {
			label = -1
		}
		e := gather(r, rec, l.Comma, n)
		if l.Header, doubt, err = e.header(label); err == nil && !l.Header {
			err = e.pandas()
		}
		if err != nil {
			return Layout{}, "", err
		}
	}
	for f, name := range l.Columns {
		switch {
		case !l.Header:
			l.Columns[f] = generatedName(f)
		case !utf8.ValidString(name): // JSON would change the name in the model
			return Layout{}, "", fmt.Errorf("header: column %d: %s", f+1, notUTF8([]byte(name)))
		}
	}
	layoutOf := o.LayoutByPosition
	if l.Header {
		layoutOf = o.Layout
	}
	if l.TableLayout, err = layoutOf(l.Columns); err != nil && n == 1 {
		err = spaced(head, err)
	}
	return l, doubt, err
}

// spaced adds advice to the error of a file with one column, if spaces seem to separate the fields in
// its first two lines.
func spaced(head []byte, err error) error {
	first, rest, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\n"))
	second, _, _ := bytes.Cut(rest, []byte("\n"))
	if len(bytes.Fields(first)) < 2 || len(bytes.Fields(second)) < 2 {
		return err
	}
	call := `read_csv("FILE", sep=r"\s+")`
	if bytes.Contains(bytes.TrimSpace(first), []byte("  ")) {
		call = `read_fwf("FILE")` // columns of equal width, whose fields may have single spaces
	}
	return fmt.Errorf(`%w; its fields seem to be separated by spaces: write it as CSV first, in Python: pandas.%s.to_csv("FILE.csv", index=False)`, err, call)
}

// headerNames returns the n fields of a header. A field without a name gets a generated one.
func headerNames(rec []byte, comma byte, n int) []string {
	s := make([]string, 0, n)
	f := fields{rec: rec, comma: comma}
	for i := 0; f.more(); i++ {
		name, _ := f.next()
		if len(name) == 0 {
			s = append(s, generatedName(i))
		} else {
			s = append(s, string(name))
		}
	}
	return s
}

// generatedName returns the name of a field without one.
func generatedName(f int) string { return "c" + strconv.Itoa(f+1) }

// sniffLen and sniffRecords limit how much of a file is examined for its separator.
const (
	sniffLen     = 64 << 10
	sniffRecords = 50
)

// Sniff returns the field separator of the file that begins with head: comma, tab,
// semicolon or vertical bar, whichever splits most of the first records into the same number of fields,
// at least two, with most numbers among them. It is a comma if none of them splits the
// records.
func Sniff(head []byte) (comma byte) {
	comma = ','
	best, width := 0.0, 0
	for _, c := range []byte{',', '\t', ';', '|'} {
		if score, n := regularity(head, c); score > best || score == best && n > width {
			comma, best, width = c, score, n
		}
	}
	return comma
}

// regularity returns a·(1+b), where a is the share of records with as many
// fields as the first has, n ≥ 2, and b the share of numbers in these records.
func regularity(head []byte, comma byte) (score float64, n int) {
	r := lines.New(bytes.NewReader(head), lines.Options{Comma: comma})
	var records, agree, numbers int
	f := fields{comma: comma}
	for records < sniffRecords {
		rec, err := r.Next()
		if _, bad := errors.AsType[*rowio.BadRow](err); err != nil && !bad {
			break
		}
		if records > 0 && r.Offset() == int64(len(head)) && head[len(head)-1] != '\n' {
			break // may be incomplete
		}
		records++
		if err != nil {
			continue
		}
		fields, here := 0, 0
		f.rec, f.at = rec, 0
		for f.more() {
			text, reason := f.next()
			if reason != "" {
				fields = 0
				break
			}
			fields++
			if kindOf(text) == kindNumber {
				here++
			}
		}
		if n == 0 {
			n = fields
		}
		if fields == n && n >= 2 {
			agree++
			numbers += here
		}
	}
	if agree == 0 {
		return 0, 0
	}
	a := float64(agree) / float64(records)
	return a * (1 + float64(numbers)/float64(agree*n)), n
}
