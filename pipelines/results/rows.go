package results

import (
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// RowCounts holds the number of rows by what became of them. Read = Used + SetAside always holds.
type RowCounts struct {
	models.RowCounts
	// Unlabeled counts rows set aside because their label is missing, and Weightless those whose weight is 0.
	// MaxBadFraction ignores both.
	Unlabeled  int64 `json:"unlabeled,omitempty"`
	Weightless int64 `json:"weight_zero,omitempty"`
	// Missing and Others count fields of typed tables in the rows used: missing values, and
	// texts of categories that are not levels.
	Missing int64 `json:"missing_values,omitempty"`
	Others  int64 `json:"other_levels,omitempty"`
	Zones   int64 `json:"times_of_other_zone,omitempty"` // see dataset.Report
	Blank   int64 `json:"blank_lines,omitempty"`         // empty lines, which are not rows
	// Headers counts lines that repeat the header, as in concatenated files. They are not rows.
	Headers int64 `json:"repeated_headers,omitempty"`
	// Remarks are about files without rows, and about a quoted field that seems to contain rows. They are not part
	// of manifests, which do not depend on how rows are divided into files.
	Remarks string `json:"-"`
	// Listed holds the first rows set aside, in the order of the files.
	Listed []dataset.SetAside `json:"-"`
}

// String describes how many rows were used and, if any, set aside.
func (c RowCounts) String() string {
	var reasons []string
	if c.Unlabeled > 0 {
		reasons = append(reasons, report.Groups(c.Unlabeled)+" without label")
	}
	if c.Weightless > 0 {
		reasons = append(reasons, report.Groups(c.Weightless)+" of weight 0")
	}
	return report.RowsText(c.Read, c.Used, c.SetAside, reasons...) + c.Without()
}

// Without describes skipped headers and has the Remarks; "" if there are none.
func (c RowCounts) Without() string {
	if c.Headers == 0 {
		return c.Remarks
	}
	return fmt.Sprintf("; %s skipped", report.Counted64(c.Headers, "repeated header")) + c.Remarks
}

// LabelNote returns a note if many rows have no label, and "" otherwise.
func (c RowCounts) LabelNote() string {
	if float64(c.Unlabeled) <= manyUnlabeled*float64(c.Read) {
		return ""
	}
	return fmt.Sprintf("%s of %s rows have no label and are set aside; if an empty label has a meaning, write a "+
		"word for it", report.Groups(c.Unlabeled), report.Groups(c.Read))
}

// Fields describes how many fields were missing or had texts that are not levels; "" if there are none.
func (c RowCounts) Fields() string {
	var parts []string
	if c.Missing > 0 {
		parts = append(parts, report.Groups(c.Missing)+" missing, filled")
	}
	if c.Others > 0 {
		parts = append(parts, report.Groups(c.Others)+
			" of categories with a text that is not one of the levels, read as other")
	}
	if c.Zones > 0 {
		parts = append(parts, report.Groups(c.Zones)+
			" times that name a zone although those of the training data name none, or the reverse; times without a zone are "+
			"read as UTC")
	}
	return strings.Join(parts, "; ")
}

// withList is String with the name of the SetAsideFile, for directories that have one.
func (c RowCounts) withList() string {
	if len(c.Listed) == 0 {
		return c.String()
	}
	return c.String() + ", listed in " + SetAsideFile
}

// writeNotes prints notes, one in a line.
func writeNotes(w io.Writer, notes []string) {
	for _, note := range notes {
		fmt.Fprintf(w, "note      %s\n", note)
	}
}

// SetAsideFile is the name of the file of a model or of predictions that lists the rows set aside, with one
// JSON object per line.
const SetAsideFile = "set_aside.jsonl"

// manyUnlabeled is the share of rows without a label above which LabelNote returns a note.
const manyUnlabeled = 0.1

// OutputFiles is a set of files, one for each of Names, with consecutive rows of one input file.
type OutputFiles struct {
	Names []string `json:"names"` // files of this part
	File  string   `json:"file"`  // input file of the rows
	First int64    `json:"first"` // lines or records of the input file before the shard of these rows
	Rows  int64    `json:"rows"`
	Blank int64    `json:"blank_lines,omitempty"` // number of empty lines and headers in the shard
}
