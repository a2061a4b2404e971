package formats_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rowio"
)

// A file of marks has a line for each row: @LABEL and numbers, separated by spaces.
func init() {
	dataset.Register(dataset.Format{
		Name:   "marks",
		Traits: dataset.Traits{Text: true},
		Sniff: func(head []byte, _ int64) dataset.Likeness {
			return dataset.Certain.If(bytes.HasPrefix(head, []byte("@")))
		},
		Begin: func(_ context.Context, o *dataset.Opening, head []byte) error {
			line, _, _ := bytes.Cut(head, []byte("\n"))
			o.Data.Labeled, o.Data.Schema.Dim = true, len(bytes.Fields(line))-1
			return nil
		},
		Read: func(ctx context.Context, in *dataset.Input) (rowio.Reader, error) {
			text, err := in.Lines(ctx)
			return marks{text, in.Data.Schema.Dim}, err
		},
	})
}

// marks is the rowio.Reader of a shard.
type marks struct {
	*lines.Reader
	dim int
}

func (m marks) Append(x []float32) (row []float32, label []byte, err error) {
	line, err := m.Next()
	if err != nil {
		return x, nil, err
	}
	words := bytes.Fields(line)
	if len(words) != m.dim+1 || words[0][0] != '@' {
		return x, nil, &rowio.BadRow{Line: m.Line(), Reason: fmt.Sprintf("is not @LABEL and %d numbers", m.dim)}
	}
	for i, word := range words[1:] {
		v, ok := lines.ParseNumber(word)
		if !ok || rowio.CheckFinite(v) != "" {
			return x, nil, &rowio.BadRow{Line: m.Line(), Column: i + 2, Reason: fmt.Sprintf("%q is not a number", word)}
		}
		x = append(x, v)
	}
	return x, words[0][1:], nil
}
