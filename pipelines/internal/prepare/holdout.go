package prepare

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// partSalt makes the hashes that choose test rows independent of the hashes for folds and samples.
const partSalt = 0x74657374

// WorkDirOfTest returns the work directory of jobs for a test, next to the directory that its training run uses; "" for
// none.
func WorkDirOfTest(training string) string {
	if training == "" {
		return ""
	}
	return strings.TrimRight(training, "/") + "-test"
}

// HoldOutTest returns the part of the data that remains for training if a share of the rows is held out,
// and a text that says which rows are held out. Equal rows stay together. Groups are held out as a
// whole, and with times the latest rows. HoldOutTest reads the data to find columns, groups and times; the
// training run does not use these results.
func HoldOutTest(ctx context.Context, o options.Prepare, share float64) (part *dataset.TestSplit, text string, err error) {
	if o.Split.Fold != "" {
		return nil, "", exit.Usagef("--test %g cannot be used with --fold_column, which chooses the held-out rows; name "+
			"files for --test", share)
	}
	if f, ok := o.Kernel.(kernel.Learned); ok && f.Directory() != "" {
		return nil, "", exit.Usagef("--test %g cannot be used with --frequencies: the learned features may have seen "+
			"the rows; give --test files that they have not seen", share)
	}
	o.Job.Work, o.Job.Resume = WorkDirOfTest(o.Job.Work), false
	o.Split.Into(&o.Data)
	d, err := OpenData(ctx, &o.Types, o.Data, o.Job.Log)
	if err != nil {
		return nil, "", err
	}
	if err := CheckLabeled(d); err != nil {
		return nil, "", err
	}
	part = &dataset.TestSplit{Share: share, Seed: o.Seed ^ partSalt}
	by := o.Split.By()
	if by == "" && !d.Schema.Traits().Columns {
		return part, "by content", nil
	}
	j, err := job.NewScratch(ctx, o.Job)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = j.Close(ctx, err) }()
	j.Progress.Phase("choosing rows for the test", 0)
	defer j.Progress.Done()
	if d.Schema.Table == nil {
		_, err := findTypes(ctx, o, j, d)
		if _, ok := errors.AsType[*exit.DataError](err); err != nil && (!ok || by != "") {
			return nil, "", err
		} // otherwise all columns count, and training reports the error
	}
	if by != "" {
		return holdOutByKey(ctx, o, j, d, part)
	}
	part.Columns = d.Schema.Layout.(dataset.Tabular).Table().Names()
	return part, "by content, equal rows together", nil
}

// holdOutByKey holds out whole groups, or the latest times.
func holdOutByKey(ctx context.Context, o options.Prepare, j *job.Job, d *dataset.Dataset,
	part *dataset.TestSplit) (_ *dataset.TestSplit, text string, err error) {
	p, _, err := profileWithLabels(ctx, o, j, d)
	if err != nil {
		return nil, "", err
	}
	part.Columns, part.Key = d.Key.Columns, d.Key
	columns := strings.Join(d.Key.Columns, ", ")
	if o.Split.By() == profile.ByTime {
		part.From, err = p.Keys.Since(part.Share)
		from := fmt.Sprintf("%g", rowio.KeyNumber(part.From))
		if d.Key.Layout != "" {
			from = schema.TimeText(rowio.KeyNumber(part.From))
		}
		text = fmt.Sprintf("the latest, by %s, from %s on", columns, from)
	} else {
		part.Keys, err = p.Keys.Groups(part.Share, part.Seed)
		text = "whole groups, by " + columns
	}
	if err != nil {
		return nil, "", exit.Dataf("--test %g with %s: %w", part.Share, o.Split.Flag(), err)
	}
	return part, text, nil
}
