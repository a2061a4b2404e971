package pipelines

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/job"
	"github.com/bochner-ml/bochner/pipelines/prepare"
	"github.com/bochner-ml/bochner/pipelines/report"
	"github.com/bochner-ml/bochner/pipelines/training"
)

// InspectOptions says which data to describe.
type InspectOptions struct {
	Data           dataset.Options
	MaxBadFraction float64 // share of rows that may be set aside, 0 to 1
	Job            job.Options
}

// DataReport describes data.
type DataReport struct {
	Format   string             `json:"format"`
	Files    int                `json:"files"`
	Bytes    int64              `json:"bytes"`
	Rows     job.Counts         `json:"rows"`
	Names    []string           `json:"column_names,omitempty"`
	SetAside []dataset.SetAside `json:"set_aside,omitempty"` // the first unusable rows
	Profile  profile.Profile    `json:"profile"`
}

// InspectData reads all rows once and describes them. It writes nothing.
func InspectData(ctx context.Context, o InspectOptions) (report *DataReport, err error) {
	if err := prepare.ValidFraction(o.MaxBadFraction); err != nil {
		return nil, err
	}
	if err := o.Job.Validate(o.Data, ""); err != nil {
		return nil, err
	}
	d, err := job.OpenData(ctx, o.Data, o.Job.Log)
	if err != nil {
		return nil, err
	}
	j, err := job.NewScratch(ctx, o.Job)
	if err != nil {
		return nil, err
	}
	defer func() { err = j.Close(ctx, err) }()
	j.Progress.Phase("reading", 0)
	p, _, err := prepare.ProfileRows(ctx, j, d, o.MaxBadFraction, 0, true)
	if err != nil {
		return nil, err
	}
	j.Progress.Done()
	return &DataReport{
		Format: d.Schema.Format, Files: len(d.Files), Bytes: d.Size(), Rows: p.Counts, Names: d.Schema.Columns,
		SetAside: p.Counts.Listed, Profile: p.Sum.Result(),
	}, nil
}

// WriteTo prints the report for people.
func (r *DataReport) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	p := &r.Profile
	fmt.Fprintf(&b, "data      %s of %s, %s\n", report.Counted(r.Files, "file"), r.Format, report.Bytes(r.Bytes))
	if r.Rows.SetAside == 0 {
		fmt.Fprintf(&b, "rows      %s of %d numbers, largest norm %.6g\n", report.Groups(r.Rows.Used), p.Dim, p.MaxNorm)
	} else {
		fmt.Fprintf(&b, "rows      %s read = %s used + %s set aside\n", report.Groups(r.Rows.Read), report.Groups(r.Rows.Used), report.Groups(r.Rows.SetAside))
	}
	writeSetAside(&b, r.SetAside)
	writeLabels(&b, p)
	if note := prepare.Doubt("", p.Labels); note != "" {
		fmt.Fprintf(&b, "note      %s\n", note)
	}
	writeColumns(&b, p, r.Names)
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

// writeSetAside prints the first rows that were set aside.
func writeSetAside(w io.Writer, list []dataset.SetAside) {
	const most = 10
	for _, a := range list[:min(len(list), most)] {
		fmt.Fprintf(w, "          %s: %s\n", a.Place(), a.Reason)
	}
	if len(list) > most {
		fmt.Fprintf(w, "          … (--json lists more)\n")
	}
}

func writeLabels(w io.Writer, p *profile.Profile) {
	l := p.Labels
	switch {
	case l == nil || l.Rows == 0:
		fmt.Fprintf(w, "labels    none\n")
	case l.Vocabulary != nil && (!l.Numeric || l.Whole && len(l.Vocabulary.Classes) <= prepare.AutoClasses):
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

func writeColumns(w io.Writer, p *profile.Profile, names []string) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "column\tmin\tmax\tmean\tdeviation\tnon-zero\t\n")
	for j, c := range p.Columns[:min(len(p.Columns), maxColumnLines)] {
		name := fmt.Sprint(j + 1)
		if names != nil {
			name = names[j]
		}
		fmt.Fprintf(tw, "%s\t%.6g\t%.6g\t%.6g\t%.6g\t%s\t\n", name, c.Min, c.Max, c.Mean, c.Dev, report.Groups(c.Nonzero))
	}
	tw.Flush()
	if more := len(p.Columns) - maxColumnLines; more > 0 {
		fmt.Fprintf(w, "… and %d more columns (--json has them all)\n", more)
	}
}

// ModelReport describes a model.
type ModelReport struct {
	Directory string `json:"directory"`
	*models.Manifest
}

// InspectModel loads a model, verifies its checksums, and describes it.
func InspectModel(ctx context.Context, dir string) (*ModelReport, error) {
	m, err := models.LoadURI(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &ModelReport{dir, m.Manifest}, nil
}

// WriteTo prints the report for people.
func (r *ModelReport) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	m := r.Manifest
	fmt.Fprintf(&b, "model     %s, intact; format %d, written by bochner %s\n", r.Directory, m.Format, m.Program)
	fmt.Fprintf(&b, "task      %s, %d outputs\n", m.Task, m.Outputs)
	fmt.Fprintf(&b, "input     %d numbers, trained on %s\n", m.Input.Dim, m.Input.Format)
	if m.Vocabulary != nil {
		fmt.Fprintf(&b, "classes   %s\n", prepare.SomeOf(m.Vocabulary.Classes))
	}
	fmt.Fprintf(&b, "features  %d, recipe %s\n", m.Features, clip(string(m.Recipe.JSON), 400))
	fmt.Fprintf(&b, "learner   %s, lambda %g\n", m.Learner.Kind, m.Learner.Lambda)
	if len(m.Learner.Table) > 0 {
		training.WritePath(&b, m.Task, m.Learner.Table, m.Learner.Lambda)
	}
	if m.Probabilities == nil && m.Task == models.Classification {
		fmt.Fprintf(&b, "output    no probabilities; %s\n", training.HowToGetProbabilities)
	}
	training.WriteProbabilities(&b, m.Probabilities)
	fmt.Fprintf(&b, "rows      %s\n", job.Counts{Read: m.Rows.Read, Used: m.Rows.Used, SetAside: m.Rows.SetAside})
	fmt.Fprintf(&b, "data      fingerprint %s\n", m.Fingerprint)
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

// clip shortens a text that is too long to print.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most] + " …"
}
