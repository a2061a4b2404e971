package results

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// Predict describes the predictions.
type Predict struct {
	Out  string    `json:"out,omitempty"`
	Rows RowCounts `json:"rows"`
	// NotFinite counts the used rows that have no prediction: it, or the interval or novelty that was asked for, would
	// not be finite.
	NotFinite int64         `json:"not_finite,omitempty"`
	Parts     []OutputFiles `json:"parts,omitempty"`
	// SetAside holds the first unusable rows, unless they are listed in the output.
	SetAside []dataset.SetAside `json:"set_aside,omitempty"`

	Threshold *Threshold `json:"threshold,omitempty"` // set if predictions are decided by one
	// Drift is the drift from the training rows; nil if the model has no statistics of them.
	Drift *drift.Report `json:"drift,omitempty"`
}

// WriteTo prints the result for people.
func (r *Predict) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	if r.Out != "" {
		fmt.Fprintf(&b, "predictions  %s", r.Out)
		if len(r.Parts) > 0 {
			fmt.Fprintf(&b, ", %s", report.Counted(len(r.Parts), "file"))
		}
		b.WriteByte('\n')
	}
	if len(r.Parts) > 0 {
		fmt.Fprintf(&b, "rows         %s\n", r.Rows.withList())
	} else {
		fmt.Fprintf(&b, "rows         %s\n", r.Rows)
		report.WriteSetAside(&b, r.SetAside)
	}
	if r.NotFinite > 0 {
		fmt.Fprintf(&b, "unpredicted  %s: %s\n", report.Counted64(r.NotFinite, "row"), models.TooLarge)
	}
	if fields := r.Rows.Fields(); fields != "" {
		fmt.Fprintf(&b, "fields       %s\n", fields)
	}
	if r.Threshold != nil {
		fmt.Fprintf(&b, "decided by   %s\n", r.Threshold)
	}
	report.Drift(&b, r.Drift, "drift        ")
	return b.WriteTo(w)
}

// Threshold decides between two classes, instead of the larger score or probability.
type Threshold struct {
	models.Threshold
	Class string `json:"class"` // positive class; rows below the threshold belong to the other
}

// String describes how rows are decided.
func (t *Threshold) String() string { return report.DecidedBy(&t.Threshold, t.Class) }

// Explain explains the prediction for a row.
type Explain struct {
	Row int64 `json:"row"`
	*models.Explanation
	Titles []string `json:"-"` // of Outputs, in words
}

// WriteTo prints the explanation for people, the columns with the largest effects first.
func (r *Explain) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	for i, c := range r.Outputs {
		fmt.Fprintf(&b, "%s\n", r.Titles[i])
		width := len("column")
		for _, name := range r.Columns {
			width = max(width, len([]rune(report.Word(name, 40))))
		}
		fmt.Fprintf(&b, "  %12.5g  base: the mean with values of training rows, drawn for each column\n", c.Base)
		order := make([]int, len(r.Columns))
		for g := range order {
			order[g] = g
		}
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(math.Abs(c.Effects[j]), math.Abs(c.Effects[i])) })
		for _, g := range order {
			value := report.Word(r.Values[g], 40)
			if r.Values[g] == "" {
				value = "(missing)"
			}
			fmt.Fprintf(&b, "  %+12.5g  %-*s  %s\n", c.Effects[g], width, report.Word(r.Columns[g], 40), value)
		}
		fmt.Fprintf(&b, "  %12.5g  in all\n", c.Score)
		if c.StdErr > 0 {
			fmt.Fprintf(&b, "  effects are sampled, with standard errors of up to %.2g\n", c.StdErr)
		}
	}
	return b.WriteTo(w)
}

// Featurize describes the written features.
type Featurize struct {
	Out      string          `json:"out"`
	Rows     RowCounts       `json:"rows"`
	Features int             `json:"features"`
	Recipe   features.Sealed `json:"recipe"`
	Classes  []string        `json:"classes,omitempty"` // labels are indices into Classes
	Parts    []OutputFiles   `json:"parts"`
	Kernel   string          `json:"kernel"` // in words
	Input    *dataset.Schema `json:"input"`
	Labeled  bool            `json:"labeled"`
	Format   string          `json:"format"`
}

// WriteTo prints the result for people.
func (r *Featurize) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "features  %d of %s, in %s of %s below %s\n", r.Features, r.Kernel,
		report.Counted(len(r.Parts), "file"), r.Format, r.Out)
	fmt.Fprintf(&b, "rows      %s\n", r.Rows.withList())
	return b.WriteTo(w)
}
