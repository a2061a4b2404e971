package results

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// AuditSums reports whether the sums belong to the rows, and the model to the sums.
type AuditSums struct {
	Rows     int64           `json:"rows"` // of the sums
	Folds    int             `json:"folds"`
	Segments int             `json:"segments,omitempty"` // number of segments that were compared separately
	Data     *RowCounts      `json:"data,omitempty"`     // rows that the sums were compared with; nil for none
	Weights  *ridge.Residual `json:"weights,omitempty"`  // nil without a model, or if the sums determine none
	Holds    bool            `json:"holds"`
	Why      []string        `json:"why,omitempty"` // what does not hold
}

// WriteTo prints the result for people.
func (r *AuditSums) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	segments := ""
	if r.Segments > 0 {
		segments = " of " + report.Counted(r.Segments, "segment")
	}
	fmt.Fprintf(&b, "sums      %s in %s%s\n", report.Counted64(r.Rows, "row"), report.Counted(r.Folds, "fold"), segments)
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

// Sum describes a directory of sums.
type Sum struct {
	Out   string `json:"out"`
	Found bool   `json:"found"` // the directory existed, with the sums of these files
	*sums.Manifest
	// NewClasses are classes of the rows that the recipe does not have.
	NewClasses []string           `json:"new_classes,omitempty"`
	Bytes      int64              `json:"bytes"` // of the sums
	Notes      []string           `json:"notes,omitempty"`
	Seconds    map[string]float64 `json:"seconds,omitempty"`
	Kernel     string             `json:"-"` // in words
}

// WriteTo prints the result for people.
func (r *Sum) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	suffix := ""
	if r.Found {
		suffix = " (it existed already)"
	}
	fmt.Fprintf(&b, "sums      %s%s, %s\n", r.Out, suffix, report.Bytes(r.Bytes))
	fmt.Fprintf(&b, "recipe    %.16s, %s\n", r.Manifest.Recipe, r.Kernel)
	fmt.Fprintf(&b, "rows      %s\n", RowCounts{RowCounts: r.Rows})
	if len(r.Leaves) > 1 {
		fmt.Fprintf(&b, "parts     %s\n", report.Counted(len(r.Leaves), "part"))
	}
	if len(r.NewClasses) > 0 {
		fmt.Fprintf(&b, "new       classes that the recipe does not have: %s\n", report.SomeOf(r.NewClasses))
	}
	if n := len(r.Segments); n > 0 {
		fmt.Fprintf(&b, "segments  %s of %s\n", report.Counted(n, "segment"), strings.Join(r.SegmentColumns, ", "))
		if last := r.Segments[n-1]; len(last.Members) > 1 {
			fmt.Fprintf(&b, "pooled    %s with fewer than %s, as one: %s\n",
				report.Counted(len(last.Members), "segment"), report.Counted64(r.MinRows, "row"),
				report.SomeOf(sums.NamesOf(last.Members)))
		}
	}
	report.Drift(&b, r.Manifest.Drift, "drift     ")
	writeNotes(&b, r.Notes)
	if len(r.Seconds) > 0 && !r.Found {
		fmt.Fprintf(&b, "seconds   %.1f to profile the data, %.1f to sum\n", r.Seconds["profile"], r.Seconds["sum"])
	}
	return b.WriteTo(w)
}

// PruneSums lists the removed directories.
type PruneSums struct {
	Plan    bool     `json:"plan"` // nothing was removed
	Removed []Pruned `json:"removed"`
	// Kept are old directories that are kept because a model needs them.
	Kept  []Pruned `json:"kept"`
	Left  int      `json:"left"` // directories of sums that match and stay
	Bytes int64    `json:"bytes"`
}

// WriteTo prints the result for people.
func (r *PruneSums) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	did := "removed"
	if r.Plan {
		did = "would be removed:"
	}
	fmt.Fprintf(&b, "%s %s of sums, %s; %d stay\n", did, report.Counted(len(r.Removed), "directory"),
		report.Bytes(r.Bytes), r.Left)
	for _, x := range r.Removed {
		fmt.Fprintf(&b, "  %s  %s\n", x.Place, report.Bytes(x.Bytes))
	}
	kept := map[string][]string{}
	for _, x := range r.Kept {
		kept[x.Why] = append(kept[x.Why], x.Place)
	}
	for _, x := range r.Kept {
		if places := kept[x.Why]; places[0] == x.Place {
			more := ""
			if len(places) > 1 {
				more = fmt.Sprintf(" and %d more", len(places)-1)
			}
			fmt.Fprintf(&b, "kept %s%s: %s\n", x.Place, more, x.Why)
		}
	}
	return b.WriteTo(w)
}

// Pruned is a directory of sums that is removed, or kept for a reason.
type Pruned struct {
	Place string `json:"place"`
	Bytes int64  `json:"bytes"`
	Why   string `json:"why,omitempty"` // reason to keep it
}
