package dataset

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/io/foreign"
)

// recognise returns the format of a file from its beginning.
func recognise(head []byte, f *File) (*Format, error) {
	size := f.Size
	if f.Compressed() {
		size = -1
	}
	nul := bytes.IndexByte(head[:min(len(head), 4096)], 0)
	var found *Format
	best := Unlike
	for _, format := range allFormats() {
		if nul >= 0 && format.Text {
			continue
		}
		if l := format.Sniff(head, size); l > best {
			found, best = format, l
		}
		if best == Certain {
			return found, nil
		}
	}
	if err := checkContent(nil, head); err != nil {
		return nil, err
	}
	if found != nil && !found.Text {
		return found, nil
	}
	if nul >= 0 {
		return nil, fmt.Errorf("is binary (NUL at byte %d) of an unknown format (have %s; state the format)", nul+1,
			strings.Join(Names(), ", "))
	}
	if err := foreign.Text(head); err != nil {
		return nil, err
	}
	if found == nil {
		return nil, fmt.Errorf("has an unknown format (have %s; state the format)", strings.Join(Names(), ", "))
	}
	return found, nil
}

// checkContent returns an error if a file of a text format is not text. If format is nil,
// it checks whether any format can read the file.
func checkContent(format *Format, head []byte) error {
	if format != nil && !format.Text {
		return nil // binary numbers may look like anything
	}
	if err := foreign.Binary(head); err != nil {
		return err
	}
	if format != nil {
		for _, other := range allFormats() {
			if !other.Text && other.Sniff(head, -1) == Certain {
				return fmt.Errorf("is %s, not %s; do not state the format", other.Name, format.Name)
			}
		}
	}
	if format == nil && !foreign.IsText(head) {
		return nil
	}
	return foreign.LoneReturns(head)
}

// blank reports whether a file with this beginning has no content.
func blank(head []byte) bool { return len(bytes.TrimSpace(head)) == 0 }
