package apply

import (
	"cmp"
	"context"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms"
)

// InspectData reads all rows once and describes them. It writes nothing except WriteSchema.
func InspectData(ctx context.Context, o options.InspectData) (report *results.InspectData, err error) {
	if err := cmp.Or(prepare.CheckFraction(o.MaxBadFraction), job.Validate(o.Job, o.Data, "")); err != nil {
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
		return nil, exit.Usagef("--write_schema: %s is %s, which has no columns with types", d.Files[0].Name, d.Schema.Format)
	}
	j, err := job.NewScratch(ctx, o.Job)
	if err != nil {
		return nil, err
	}
	defer func() { err = j.Close(ctx, err) }()
	report = &results.InspectData{Targets: d.Targets, DataFiles: results.DataFiles{Format: d.Schema.Format, Files: len(d.Files),
		Bytes: d.Size()}}
	var doubts []schema.Note
	if d.Schema.Traits().Columns {
		j.Progress.Phase("reading columns", 0)
		if doubts, err = describeColumns(ctx, report, j, d, o); err != nil {
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
		p.Profile
	if l := report.Profile.Labels; l != nil {
		report.Classes = prepare.AreClasses(l)
	}
	if note := prepare.TaskNote("", d, report.Profile.Labels); note != "" {
		note = strings.ReplaceAll(note, "; --task", "; train --task") // inspect has no tasks
		report.Notes = append([]string{note}, report.Notes...)
	}
	if note := p.Counts.LabelNote(); note != "" {
		report.Notes = append(report.Notes, note)
	}
	return report, nil
}

// describeColumns finds the types of the columns, writes the schema file, and has rows of the data use these types.
func describeColumns(ctx context.Context, r *results.InspectData, j *job.Job, d *dataset.Dataset,
	o options.InspectData) (doubts []schema.Note, err error) {
	description, doubts, err := prepare.Describe(ctx, o.Types, j, d, o.MaxBadFraction)
	if err != nil {
		return nil, err
	}
	r.Description, r.Notes = description, schema.Sentences(doubts)
	for i := range description.Fields {
		f := &description.Fields[i]
		r.Columns = append(r.Columns, results.ColumnReport{Name: f.Name, Role: f.Role, Type: f.Type, Layout: f.Layout,
			Levels: schema.SortedLevels(f), Buckets: f.Buckets, Fields: f.Summary})
	}
	if o.WriteSchema != "" {
		r.Schema = o.WriteSchema
		if err := prepare.WriteSchema(ctx, o.WriteSchema, d, description); err != nil {
			return nil, err
		}
	}
	prepare.SetTypes(d, description)
	r.Table = d.Schema.Table
	return doubts, nil
}
