package results

import (
	"bytes"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// InspectData describes data.
type InspectData struct {
	DataFiles
	// Columns describes the columns of a format with columns, the features first.
	Columns []ColumnReport  `json:"columns,omitempty"`
	Targets []string        `json:"targets,omitempty"` // names of several labels, whose ranges are in Profile
	Notes   []string        `json:"notes,omitempty"`   // on labels and columns
	Schema  string          `json:"schema,omitempty"`  // the schema file that was created
	Profile profile.Profile `json:"profile"`           // of the values of rows
	// Classes is true if labels are classes by default, and not targets.
	Classes     bool                `json:"-"`
	Description *schema.Description `json:"-"` // nil for formats without columns
	Table       *schema.Table       `json:"-"` // nil for plain numbers
}

// WriteTo prints the report for people.
func (r *InspectData) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	p := &r.Profile
	fmt.Fprintf(&b, "data      %s of %s, %s\n", report.Counted(r.Files, "file"), r.Format, report.Bytes(r.Bytes))
	if r.Rows.SetAside == 0 {
		fmt.Fprintf(&b, "rows      %s of %s%s\n", report.Groups(r.Rows.Used), r.what(), r.Rows.Without())
	} else {
		fmt.Fprintf(&b, "rows      %s read = %s used + %s set aside\n", report.Groups(r.Rows.Read),
			report.Groups(r.Rows.Used), report.Groups(r.Rows.SetAside)+r.Rows.Without())
	}
	report.WriteSetAside(&b, r.SetAside)
	r.writeLabels(&b)
	writeNotes(&b, r.Notes)
	if r.Schema != "" {
		fmt.Fprintf(&b, "schema    %s\n", r.Schema)
	}
	if d := r.Description; d != nil && (r.Table != nil || len(d.With(schema.Ignore)) > 0) {
		if r.Rows.SetAside > 0 {
			fmt.Fprintf(&b, "columns   the first table is of all %s rows read, the table of numbers of the %s used\n",
				report.Groups(r.Rows.Read), report.Groups(r.Rows.Used))
		}
		report.WriteColumns(&b, d)
	}
	report.WriteNumbers(&b, p, r.Names, r.Table)
	return b.WriteTo(w)
}

// what describes the number and types of the columns.
func (r *InspectData) what() string {
	if r.Table != nil {
		return r.Table.String()
	}
	return fmt.Sprintf("%s, largest norm %.6g", report.Counted(r.Profile.Dim, "number"), r.Profile.MaxNorm)
}

func (r *InspectData) writeLabels(w io.Writer) {
	p, l := &r.Profile, r.Profile.Labels
	switch {
	case len(p.Targets) > 0:
		for c, t := range p.Targets {
			name := "labels"
			if c > 0 {
				name = ""
			}
			fmt.Fprintf(w, "%-9s numbers from %g to %g in %s\n", name, t.Min, t.Max, r.Targets[c])
		}
	case l == nil || l.Rows == 0:
		fmt.Fprintf(w, "labels    none\n")
	case l.Vocabulary != nil && r.Classes:
		fmt.Fprintf(w, "labels    %d classes:", len(l.Vocabulary.Classes))
		for i, c := range l.Vocabulary.Classes[:min(len(l.Vocabulary.Classes), 30)] {
			fmt.Fprintf(w, " %s (%s)", c, report.Groups(l.Counts[i]))
		}
		if len(l.Vocabulary.Classes) > 30 {
			fmt.Fprint(w, " …")
		}
		fmt.Fprintln(w)
	case l.Targets > 0:
		fmt.Fprintf(w, "labels    numbers from %g to %g\n", l.Min, l.Max)
	default:
		fmt.Fprintf(w, "labels    too many distinct texts for classes, such as %q\n", l.Text)
	}
}

// DataFiles describes the files of the data.
type DataFiles struct {
	Format   string             `json:"format"`
	Files    int                `json:"files"`
	Bytes    int64              `json:"bytes"`
	Rows     RowCounts          `json:"rows"`
	Names    []string           `json:"column_names,omitempty"`
	SetAside []dataset.SetAside `json:"set_aside,omitempty"` // the first unusable rows
}

// ColumnReport describes a column.
type ColumnReport struct {
	Name    string          `json:"name"`
	Role    schema.Role     `json:"role"`
	Type    schema.Type     `json:"type,omitempty"`
	Layout  string          `json:"layout,omitempty"`  // layout of times
	Levels  []schema.Level  `json:"levels,omitempty"`  // levels of a category, with counts
	Buckets int             `json:"buckets,omitempty"` // number of hash buckets, for a category with too many texts
	Fields  *schema.Summary `json:"fields,omitempty"`
}
