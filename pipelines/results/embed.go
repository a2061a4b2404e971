package results

import (
	"bytes"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// Embed describes the embedding.
type Embed struct {
	Model      string             `json:"model"` // directory
	Rows       RowCounts          `json:"rows"`
	Columns    int                `json:"columns"` // numbers per row
	Kernel     string             `json:"kernel"`  // in words
	Recipe     features.Sealed    `json:"recipe"`
	Components []models.Component `json:"components"`
	Seconds    map[string]float64 `json:"seconds"` // wall time by part of the job

	Steps int `json:"steps"` // of the features' grid, from 0 to the bound: 127 for 8 bits
	Dim   int `json:"-"`     // number of features
}

// WriteTo prints the result for people.
func (r *Embed) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "model     %s\n", r.Model)
	fmt.Fprintf(&b, "rows      %s\n", r.Rows.withList())
	fmt.Fprintf(&b, "features  %d of the %s, on a grid of %s\n", r.Dim, r.Kernel, report.GridText(r.Steps))
	report.ComponentTable(r.Components).Write(&b)
	fmt.Fprintf(&b, "seconds   %.1f to profile the data, %.1f to train\n", r.Seconds["profile"], r.Seconds["train"])
	return b.WriteTo(w)
}
