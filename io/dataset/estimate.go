package dataset

import (
	"bytes"
	"context"
	"math"
)

// EstimateRows returns the number of rows of the files: exact where headers or sizes
// give it, estimated from the length of the first lines for plain text, and 0 if
// unknown without reading. It reads the beginning of the largest file.
func (d *Dataset) EstimateRows(ctx context.Context) (rows int64, exact bool, err error) {
	exact = true
	largest := 0
	for i := range d.Files {
		rows += d.Files[i].Records
		exact = exact && (d.Files[i].Records > 0 || d.Files[i].Size == 0)
		if d.Files[i].Size > d.Files[largest].Size {
			largest = i
		}
	}
	if exact {
		return rows, true, nil
	}
	if !d.Schema.Traits().Text {
		return 0, false, nil
	}
	f := &d.Files[largest]
	head, _, err := Peek(ctx, f.Object)
	if err != nil {
		return 0, false, err
	}
	lines := bytes.Count(head, []byte{'\n'})
	if lines == 0 || f.Compressed() {
		return 0, false, nil
	}
	perLine := float64(bytes.LastIndexByte(head, '\n')+1) / float64(lines)
	return int64(math.Round(float64(d.Size()) / perLine)), false, nil
}
