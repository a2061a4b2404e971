package apply

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms"
)

// DataReport describes data.
type DataReport struct {
	DataFiles
	// Columns describes the columns of a format with columns, the features first.
	Columns     []ColumnReport      `json:"columns,omitempty"`
	Targets     []string            `json:"targets,omitempty"` // names of several labels, whose ranges are in Profile
	Notes       []string            `json:"notes,omitempty"`   // on labels and columns
	Schema      string              `json:"schema,omitempty"`  // the schema file that was created
	Profile     profile.Profile     `json:"profile"`           // of the values of rows
	description *schema.Description // nil for formats without columns
	table       *schema.Table       // nil for plain numbers
}

// DataFiles describes the files of the data.
type DataFiles struct {
	Format   string             `json:"format"`
	Files    int                `json:"files"`
	Bytes    int64              `json:"bytes"`
	Rows     job.Counts         `json:"rows"`
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

// InspectData reads all rows once and describes them. It writes nothing except WriteSchema.
func InspectData(ctx context.Context, o options.Inspect) (report *DataReport, err error) {
	if err := prepare.CheckFraction(o.MaxBadFraction); err != nil {
		return nil, err
	}
	if err := job.Validate(o.Job, o.Data, ""); err != nil {
		return nil, err
	}
	if err := prepare.ValidateTypes(o.Types); err != nil {
		return nil, err
	}
	if o.WriteSchema != "" {
		if err := storage.CheckAbsent(ctx, o.WriteSchema); err != nil {
			return nil, err
		}
	}
	d, err := prepare.OpenData(ctx, &o.Types, o.Data, o.Job.Log)
	if err != nil {
		return nil, err
	}
	if err := prepare.CheckTypes(o.Types, d); err != nil {
		return nil, err
	}
	if o.WriteSchema != "" && !d.Schema.Traits().Columns {
		return nil, exit.Usage("--write_schema: %s is %s, which has no columns with types", d.Files[0].Name, d.Schema.Format)
	}
	j, err := job.NewScratch(ctx, o.Job)
	if err != nil {
		return nil, err
	}
	defer func() { err = j.Close(ctx, err) }()
	report = &DataReport{Targets: d.Targets, DataFiles: DataFiles{Format: d.Schema.Format, Files: len(d.Files),
		Bytes: d.Size()}}
	var doubts []schema.Note
	if d.Schema.Traits().Columns {
		j.Progress.Phase("reading columns", 0)
		if doubts, err = report.describe(ctx, j, d, o); err != nil {
			return nil, err
		}
	}
	j.Progress.Phase("reading", 0)
	p, _, err := prepare.ProfileRows(ctx, j, d, o.MaxBadFraction, 0, &transforms.Labeling{Open: true})
	if err != nil {
		return nil, prepare.Explained(err, doubts)
	}
	j.Progress.Done()
	report.Rows, report.Names, report.SetAside, report.Profile = p.Counts, d.Schema.Columns, p.Counts.Listed,
		p.Sum.Result()
	if note := prepare.TaskNote("", d, report.Profile.Labels); note != "" {
		note = strings.ReplaceAll(note, "; --task", "; train --task") // inspect has no tasks
		report.Notes = append([]string{note}, report.Notes...)
	}
	if note := p.Counts.LabelNote(); note != "" {
		report.Notes = append(report.Notes, note)
	}
	return report, nil
}

// describe finds the types of the columns, writes the schema file, and has rows of the data use these types.
func (r *DataReport) describe(ctx context.Context, j *job.Job, d *dataset.Dataset,
	o options.Inspect) (doubts []schema.Note, err error) {
	found, doubts, err := prepare.Describe(ctx, o.Types, j, d, o.MaxBadFraction)
	if err != nil {
		return nil, err
	}
	r.description, r.Notes = found, schema.Sentences(doubts)
	for i := range found.Fields {
		f := &found.Fields[i]
		r.Columns = append(r.Columns, ColumnReport{f.Name, f.Role, f.Type, f.Layout, schema.SortedLevels(f), f.Buckets,
			f.Summary})
	}
	if o.WriteSchema != "" {
		r.Schema = o.WriteSchema
		if err := prepare.WriteSchema(ctx, o.WriteSchema, d, found); err != nil {
			return nil, err
		}
	}
	prepare.SetTypes(d, found)
	r.table = d.Schema.Table
	return doubts, nil
}

// WriteTo prints the report for people.
func (r *DataReport) WriteTo(w io.Writer) (int64, error) {
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
	writeLabels(&b, p, r.Targets)
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note      %s\n", note)
	}
	if r.Schema != "" {
		fmt.Fprintf(&b, "schema    %s\n", r.Schema)
	}
	if d := r.description; d != nil && (r.table != nil || len(d.With(schema.Ignore)) > 0) {
		if r.Rows.SetAside > 0 {
			fmt.Fprintf(&b, "columns   the first table is of all %s rows read, the table of numbers of the %s used\n",
				report.Groups(r.Rows.Read), report.Groups(r.Rows.Used))
		}
		report.WriteColumns(&b, d)
	}
	writeColumns(&b, p, r.Names, r.table)
	return b.WriteTo(w)
}

// what describes the number and types of the columns.
func (r *DataReport) what() string {
	if r.table != nil {
		return r.table.String()
	}
	return fmt.Sprintf("%s, largest norm %.6g", report.Counted(r.Profile.Dim, "number"), r.Profile.MaxNorm)
}

func writeLabels(w io.Writer, p *profile.Profile, targets []string) {
	l := p.Labels
	switch {
	case len(p.Targets) > 0:
		for c, t := range p.Targets {
			name := "labels"
			if c > 0 {
				name = ""
			}
			fmt.Fprintf(w, "%-9s numbers from %g to %g in %s\n", name, t.Min, t.Max, targets[c])
		}
	case l == nil || l.Rows == 0:
		fmt.Fprintf(w, "labels    none\n")
	case l.Vocabulary != nil && prepare.AreClasses(l):
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

// maxColumnLines is the largest number of columns that are printed.
const maxColumnLines = 40

// writeColumns prints the mean, standard deviation and range of columns of numbers.
func writeColumns(w io.Writer, p *profile.Profile, names []string, t *schema.Table) {
	numbers := make([]int, 0, len(p.Columns))
	if t == nil {
		for j := range p.Columns {
			numbers = append(numbers, j)
		}
	} else {
		numbers = t.Slots(schema.Number)
	}
	if len(numbers) == 0 {
		return
	}
	table := report.Table{Head: []string{"column", "min", "max", "mean", "deviation", "non-zero"}}
	for _, j := range numbers[:min(len(numbers), maxColumnLines)] {
		name, c := fmt.Sprint(j+1), p.Columns[j]
		if names != nil {
			name = report.Word(names[j], 40)
		}
		table.Add(name, fmt.Sprintf("%.6g", c.Min), fmt.Sprintf("%.6g", c.Max), fmt.Sprintf("%.6g", c.Mean),
			fmt.Sprintf("%.6g", c.Dev), report.Groups(c.Nonzero))
	}
	table.Write(w)
	if more := len(numbers) - maxColumnLines; more > 0 {
		fmt.Fprintf(w, "… and %d more columns (--json has them all)\n", more)
	}
}
