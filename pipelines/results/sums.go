package results

import (
	"bytes"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// Audit says whether the sums belong to the rows, and the model to the sums.
type Audit struct {
	Rows    int64           `json:"rows"` // of the sums
	Folds   int             `json:"folds"`
	Levels  int             `json:"levels,omitempty"`  // number of levels that were compared separately
	Data    *RowCounts      `json:"data,omitempty"`    // rows that the sums were compared with; nil for none
	Weights *ridge.Residual `json:"weights,omitempty"` // nil without a model, or if the sums determine none
	Holds   bool            `json:"holds"`
	Why     []string        `json:"why,omitempty"` // what does not hold
}

// WriteTo prints the result for people.
func (r *Audit) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	levels := ""
	if r.Levels > 0 {
		levels = " of " + report.Counted(r.Levels, "level")
	}
	fmt.Fprintf(&b, "sums      %s in %s%s\n", report.Counted64(r.Rows, "row"), report.Counted(r.Folds, "fold"), levels)
	if r.Data != nil {
		fmt.Fprintf(&b, "rows      %s; wrong sums pass with a probability below 2⁻⁶⁰\n", r.Data)
	}
	if s := r.Weights; s != nil {
		fmt.Fprintf(&b, "weights   %d differ; relative residual %.2g, rounding explains %.2g\n", s.Different, s.Relative,
			s.Bound)
	}
	verdict := "confirmed"
	if !r.Holds {
		verdict = "not confirmed"
	}
	fmt.Fprintf(&b, "audit     %s\n", verdict)
	return b.WriteTo(w)
}
