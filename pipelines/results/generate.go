package results

import (
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// Generate describes the file.
type Generate struct {
	Out  string `json:"out"`
	Rows int64  `json:"rows"`
}

// WriteTo prints the result for people.
func (g *Generate) WriteTo(w io.Writer) (int64, error) {
	n, err := fmt.Fprintf(w, "wrote %s rows to %s\n", report.Groups(g.Rows), g.Out)
	return int64(n), err
}
