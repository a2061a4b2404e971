package results

import (
	"bytes"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// TwoSample holds the p-value of the test and the distances by column.
type TwoSample struct {
	A RowCounts `json:"a"`
	B RowCounts `json:"b"`
	// Report has the p-value in Features, and the columns of B with significant drift from A.
	*drift.Report
	Kernel string    `json:"kernel"`    // in words
	Dim    int       `json:"dimension"` // number of features
	Notes  []string  `json:"notes,omitempty"`
	Names  [2]string `json:"-"` // of the tables
}

// WriteTo prints the result for people.
func (r *TwoSample) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	f := r.Features
	fmt.Fprintf(&b, "rows      %s: %s\n          %s: %s\n", r.Names[0], r.A.withList(), r.Names[1], r.B.withList())
	fmt.Fprintf(&b, "features  %d of the %s\n", r.Dim, r.Kernel)
	fmt.Fprintf(&b, "test      %s that both are from the same distribution (MMD² = %.3g)\n", report.PText(f.P), f.Squared)
	fmt.Fprintf(&b, "distance  %.3g, at least %.3g with confidence 95%% (0: alike, 1: nothing in common)\n", f.Distance, f.AtLeast)
	report.Drift(&b, r.Report, "columns   ")
	writeNotes(&b, r.Notes)
	return b.WriteTo(w)
}
