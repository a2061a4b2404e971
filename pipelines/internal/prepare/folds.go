package prepare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/survey"
)

// validateSplit returns a usage error if the options are invalid for any data. schema is the name of a
// schema file, "" if there is none.
func validateSplit(s options.Split, o dataset.Options, schema string) error {
	var given []string
	for _, f := range []struct {
		flag string
		is   bool
	}{{"--group_column", len(s.Group) > 0}, {"--fold_column", s.Fold != ""}, {"--time_split", s.Time}} {
		if f.is {
			given = append(given, f.flag)
		}
	}
	switch {
	case len(given) > 1:
		return exit.Usagef("%s cannot be used together: each assigns all rows to folds; choose one",
			strings.Join(given, " and "))
	case s.Time && schema != "":
		return exit.Usagef("--time_split cannot be used with --schema: give --time_column and the other flags of columns")
	case s.Time && o.Time == "":
		return exit.Usagef("--time_split needs --time_column, the column with the time of each row")
	case s.Gap != "" && !s.Time:
		return exit.Usagef("--time_gap needs --time_split")
	}
	if s.Gap != "" {
		if _, _, err := gapOf(s); err != nil {
			return err
		}
	}
	return nil
}

// splitOf returns the split of a rule, and the column of times.
func splitOf(r *profile.FoldRule) (s options.Split, timeColumn string) {
	switch {
	case r == nil:
	case r.By == profile.ByGroup:
		s.Group = r.Columns
	case r.By == profile.ByFold:
		s.Fold = r.Columns[0]
	case r.By == profile.ByTime:
		s.Time, timeColumn = true, r.Columns[0]
	}
	return s, timeColumn
}

// keyColumns returns the columns of the keys, as the user named them.
func keyColumns(s options.Split, o dataset.Options) []string {
	switch s.By() {
	case profile.ByGroup:
		return s.Group
	case profile.ByFold:
		return []string{s.Fold}
	}
	return []string{o.Time}
}

var gapUnits = map[string]time.Duration{"w": 7 * 24 * time.Hour, "d": 24 * time.Hour, "h": time.Hour,
	"m": time.Minute, "s": time.Second}

// gapOf parses Gap. The length is in seconds if the gap has a unit, and otherwise in the units of the column.
func gapOf(s options.Split) (length float64, seconds bool, err error) {
	text := s.Gap
	unit := strings.TrimLeft(text, "0123456789.")
	if length, err = strconv.ParseFloat(strings.TrimSuffix(text, unit), 64); err != nil || length < 0 ||
		unit != "" && gapUnits[unit] == 0 {
		return 0, false, exit.Usagef("--time_gap must be a number with a unit, such as 7d, 12h, 30m or 10s, or without one "+
			"for a column of numbers (have %q)", s.Gap)
	}
	if unit != "" {
		length *= gapUnits[unit].Seconds()
	}
	return length, unit != "", nil
}

// columnGap returns the gap in the units of the column of times, 0 if there is none.
func columnGap(o Options, times *schema.Key) (float64, error) {
	if o.Split.Gap == "" {
		return 0, nil
	}
	length, seconds, err := gapOf(o.Split)
	if dates := times.Layout != ""; err == nil && length > 0 && seconds != dates {
		advice := "numbers: give a number without a unit"
		if dates {
			advice = "dates: give a unit, such as 7d"
		}
		err = exit.Usagef("--time_gap %s: the times in column %q are %s", o.Split.Gap, o.Data.Time, advice)
	}
	return length, err
}

// foldRule returns the rule that splits profiled rows into folds, nil if their content does.
func foldRule(o Options, d *dataset.Dataset, keys *profile.FoldKeys, rows int64) (*profile.FoldRule, error) {
	if d.Key == nil || o.JobFolds < 2 {
		return nil, nil
	}
	gap, err := columnGap(o, d.Key)
	if err != nil {
		return nil, err
	}
	r, err := keys.Rule(o.Split.By(), slices.Clone(keyColumns(o.Split, o.Data)), o.JobFolds, gap, o.Seed)
	if err != nil {
		return nil, exit.Dataf("%s: %w", o.Split.Flag(), err)
	}
	if r.By == profile.ByGroup {
		r.Cluster = keys.Cluster(rows)
	}
	return r, nil
}

// HeldOutText describes which rows are held out together, "" if their content decides.
func (p *Prepared) HeldOutText() string {
	if p.Rule == nil {
		return ""
	}
	columns := strings.Join(p.Rule.Columns, ", ")
	switch p.Rule.By {
	case profile.ByGroup:
		return fmt.Sprintf("whole groups of rows, by %s: held-out figures are those of new groups", columns)
	case profile.ByFold:
		return fmt.Sprintf("the %d folds that column %s gives", p.Rule.Folds, columns)
	}
	from := fmt.Sprintf("%g", p.Rule.Latest())
	if key := p.Data.Key; key != nil && key.Layout != "" {
		from = schema.TimeText(p.Rule.Latest())
	}
	return fmt.Sprintf("the latest rows, by %s, from %s on; earlier parts are judged by rows before them", columns, from)
}

// TimeOrderNote returns a note if rows have times but held-out rows are not chosen by them, and "" otherwise.
func TimeOrderNote(o Options, d *dataset.Dataset) string {
	column, and := o.Data.Time, ""
	if t := d.Schema.Table; t != nil && column == "" {
		if i := slices.IndexFunc(t.Columns, func(c schema.Column) bool { return c.Type == schema.Time }); i >= 0 {
			column, and = t.Columns[i].Name, fmt.Sprintf("--time_column %s ", t.Columns[i].Name)
		}
	}
	if !o.Trains || o.JobFolds < 2 || column == "" {
		return ""
	}
	return fmt.Sprintf("held-out rows come from all times in column %s; if new rows are later ones, held-out figures "+
		"are too good: %s--time_split holds out the latest", column, and)
}

// cluster returns how many rows count as one independent row, under the rule of a recipe.
func (p *Prepared) cluster() float64 {
	if p.Rule == nil || p.Rule.By != profile.ByGroup {
		return 1
	}
	return max(p.Rule.GroupSize(), p.Keys.Cluster(p.Counts.Used))
}

// CountCopies counts the copies of each row, in one pass over the data, if the data has few distinct rows.
// Then each copy of a row is assigned to a fold by its own hash, instead of all copies to one fold. It adds a note
// if many rows repeat. Call it before the first pass with folds; later calls do nothing.
//
// Copies are counted by shard. If iterative learners read the rows, it also counts in their shards.
func (s *Session) CountCopies(ctx context.Context) error {
	p := s.Prepared
	if p.copiesCounted {
		return nil
	}
	if few := p.Distinct.Few(p.Counts.Used); len(few) > 0 && p.Rule == nil {
		if err := s.countCopies(ctx, few); err != nil {
			return err
		}
	}
	p.copiesCounted = true
	s.AddNotef("%s", p.repeatNote())
	return nil
}

// countCopies sets the copies of the few distinct rows.
func (s *Session) countCopies(ctx context.Context, few profile.HashSet) error {
	p := s.Prepared
	s.Job.Progress.Phase("counting repeated rows", p.Counts.Used)
	defer s.Job.Progress.Done()
	pass := transforms.Pass{Data: *p.Data, Mode: Mode(s.Options.MaxBadFraction), Seed: s.Options.Seed, Target: p.Target,
		EqualWeights: p.EqualWeights()}
	cuts := [][]dataset.Shard{job.Shards(s.Job.Options, p.Data)}
	if shards := p.Data.Shards(job.ShardBytes); s.Iterative && !slices.Equal(shards, cuts[0]) {
		cuts = append(cuts, shards)
	}
	var tallies []*profile.ContentCounts
	var reports []dataset.Report
	for _, cut := range cuts {
		tally := new(profile.ContentCounts)
		pass.Shards = cut
		r, err := s.Job.ScanSum(ctx, &survey.Contents{Pass: pass}, "tally", tally)
		if err != nil {
			return err
		}
		tallies, reports = append(tallies, tally), append(reports, r...)
	}
	p.Copies = profile.NewCopies(few, tallies...)
	for _, r := range reports {
		p.Copies.Alias(profile.ShardStart{File: r.Shard.File, Start: r.Shard.Start},
			profile.ShardStart{File: r.Shard.File, Start: r.Begin})
	}
	return nil
}

// manyRepeat is the least share of repeated rows that a note mentions.
const manyRepeat = 0.01

// repeatNote returns a note if so many rows repeat others that held-out figures depend on it, and "" otherwise.
func (p *Prepared) repeatNote() string {
	n := p.Counts.Used
	if few := p.Distinct.Few(n); len(few) > 0 && p.Rule == nil {
		return fmt.Sprintf("there are only %s among %s rows; copies are held out one by one, so held-out figures are those "+
			"of rows of which training has seen copies",
			report.Counted(len(few), "different row"), report.Groups(n))
	}
	if p.repeatShare < manyRepeat {
		return ""
	}
	note := fmt.Sprintf("about %s of %s rows have the numbers of an earlier row",
		report.Groups(int64(math.Round(p.repeatShare*float64(n)))), report.Groups(n))
	if p.Rule != nil {
		return note
	}
	return note + "; equal rows are held out together, so held-out figures are those of rows that training has not seen"
}

// Dependent reports whether held-out rows depend on each other, because groups or many equal rows are held out
// together.
func (p *Prepared) Dependent() bool {
	switch {
	case p.Rule != nil:
		return p.Rule.By == profile.ByGroup
	case p.Copies != nil:
		return false
	}
	return p.repeatShare >= manyRepeat
}

// repeatShare returns the share of rows that repeat an earlier row, among rows that are equal to one in the
// sample.
func repeatShare(sum *profile.Sum) float64 {
	copies := sum.Copies()
	if copies == nil {
		return 0
	}
	var all int64
	for _, n := range copies {
		all += n
	}
	return 1 - float64(len(copies))/float64(all)
}

// copiesFor returns the copies for a pass that assigns rows to parts, or that recodes rows. It panics
// unless they have been counted, because all passes must assign rows in the same way.
func (p *Prepared) copiesFor(parts int) *profile.Copies {
	if parts < 2 && !p.Recipe.Recodes {
		return nil
	}
	if !p.copiesCounted {
		panic("prepare: folds before the copies of rows are counted")
	}
	return p.Copies
}

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
// and a text that describes the held-out rows. Equal rows stay together. Groups are held out as a
// whole, and with times the latest rows. HoldOutTest reads the data to find columns, groups and times; the
// training run does not use these results.
func HoldOutTest(ctx context.Context, o Options, share float64) (part *dataset.TestSplit, text string, err error) {
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
func holdOutByKey(ctx context.Context, o Options, j *job.Job, d *dataset.Dataset,
	part *dataset.TestSplit) (_ *dataset.TestSplit, text string, err error) {
	p, _, err := profileWithLabels(ctx, o, j, d)
	if err != nil {
		return nil, "", err
	}
	part.Columns, part.Key = d.Key.Columns, d.Key
	columns := strings.Join(d.Key.Columns, ", ")
	if o.Split.By() == profile.ByTime {
		var gap float64
		if gap, err = columnGap(o, d.Key); err != nil {
			return nil, "", err
		}
		part.From, part.Gap, err = p.Keys.Since(part.Share, gap)
		from := fmt.Sprintf("%g", rowio.KeyNumber(part.From))
		if d.Key.Layout != "" {
			from = schema.TimeText(rowio.KeyNumber(part.From))
		}
		text = fmt.Sprintf("the latest, by %s, from %s on", columns, from)
		if part.Gap > 0 {
			text += fmt.Sprintf("; the rows of the %s before are not used", o.Split.Gap)
		}
	} else {
		part.Keys, err = p.Keys.Groups(part.Share, part.Seed)
		text = "whole groups, by " + columns
	}
	if err != nil {
		return nil, "", exit.Dataf("--test %g with %s: %w", part.Share, o.Split.Flag(), err)
	}
	return part, text, nil
}
