// Package csvio reads rows from CSV and TSV files. It detects the separator (Sniff) and
// whether the first record is a header (type evidence). A Reader splits records into fields and
// converts them to rows of float32. The package registers the formats csv and tsv.
package csvio

import (
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
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
