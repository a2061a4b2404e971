package results

import (
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/models/onnx"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// Export describes the written file or directory.
type Export struct {
	Out     string       `json:"out"`
	Format  string       `json:"format"`
	Bytes   int64        `json:"bytes"` // size of the ONNX graph
	Inputs  []onnx.Value `json:"inputs"`
	Outputs []onnx.Value `json:"outputs"`
}

// WriteTo prints the result for people.
func (e *Export) WriteTo(w io.Writer) (int64, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "wrote    %s (%s, %s)\n", e.Out, e.Format, report.Bytes(e.Bytes))
	e.list(&text, "inputs", e.Inputs)
	e.list(&text, "outputs", e.Outputs)
	n, err := io.WriteString(w, text.String())
	return int64(n), err
}

// maxListed is the largest number of inputs or outputs that are printed.
const maxListed = 20

func (e *Export) list(w io.Writer, title string, values []onnx.Value) {
	for i, v := range values {
		if i == maxListed {
			fmt.Fprintf(w, "%-8s and %d more\n", "", len(values)-i)
			break
		}
		fmt.Fprintf(w, "%-8s %s\n", title, v)
		title = ""
	}
}
