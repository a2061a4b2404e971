package rows

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/transforms/gram"
)

func init() {
	beam.RegisterType(reflect.TypeFor[count]())
	beam.RegisterCoder(reflect.TypeFor[count](), encodeCount, decodeCount)
}

// count holds the numbers of rows of a window that were read and rejected, and the files with the
// sums of these rows.
type count struct {
	Read     int64   `json:"read"`
	Rejected int64   `json:"rejected"`
	Classes  []int64 `json:"classes,omitempty"` // rows of each class
	// Copies holds the rows that are frequent according to the recipe, which are counted instead of
	// summed. profile.AppendFrequentRows encodes them.
	Copies []byte `json:"copies,omitempty"`
	Files  []file `json:"files,omitempty"` // with sums that add up to the sums of the rows
	// RowHashes holds the hashes of the rows, from gram.Accumulator.TakeRowHashes, unless there are too many.
	RowHashes []byte `json:"contents,omitempty"`
}

// file is a file with sums of some rows: part after part, by their keys.
type file struct {
	Name  string       `json:"name"`
	Parts []sums.Frame `json:"parts"`
}

func encodeCount(c count) ([]byte, error) { return json.Marshal(c) }

func decodeCount(data []byte) (c count, err error) { return c, json.Unmarshal(data, &c) }

// add returns the sum of counts.
func (a count) add(b count) (count, error) {
	sum := count{
		Read: a.Read + b.Read, Rejected: a.Rejected + b.Rejected,
		Classes: make([]int64, max(len(a.Classes), len(b.Classes))), Files: slices.Concat(a.Files, b.Files),
	}
	var copies []profile.FrequentRow
	for _, c := range []count{a, b} {
		for class, n := range c.Classes {
			sum.Classes[class] += n
		}
		var err error
		if copies, err = gram.AddFrequentRows(copies, c.Copies); err != nil {
			return a, err
		}
	}
	if len(copies) > 0 {
		sum.Copies = profile.AppendFrequentRows(nil, copies)
	}
	if len(a.RowHashes)+len(b.RowHashes) <= 8*sums.MaxRowHashes {
		sum.RowHashes = append(a.RowHashes, b.RowHashes...)
	}
	return sum, nil
}
