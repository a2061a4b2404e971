package prepare

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/survey"
)

// CountCopies counts the copies of each row, in one pass over the data, if the data has few distinct rows.
// Then each copy of a row is assigned to a fold by its own hash, instead of all copies to one fold. With many
// distinct rows CountCopies does nothing.
//
// Copies are counted by shard. Iterative learners use other shards than other passes; inRounds counts in them,
// too.
func (l *Prepared) CountCopies(ctx context.Context, j *job.Job, seed uint64, maxBad float64, inRounds bool) error {
	few := l.Distinct.Few(l.Counts.Used)
	if l.counted || len(few) == 0 || l.Rule != nil {
		l.counted = true
		return nil
	}
	j.Progress.Phase("counting repeated rows", l.Counts.Used)
	defer j.Progress.Done()
	pass := transforms.Pass{Data: *l.Data, Mode: Mode(maxBad), Seed: seed, Target: l.Target,
		EqualWeights: l.EqualWeights()}
	cuts := [][]dataset.Shard{j.Opts.Shards(l.Data)}
	if own := l.Data.Shards(job.ShardBytes); inRounds && !slices.Equal(own, cuts[0]) {
		cuts = append(cuts, own)
	}
	var tallies []*profile.FoldTally
	var reports []dataset.Report
	for _, cut := range cuts {
		tally := new(profile.FoldTally)
		pass.Shards = cut
		r, err := j.ScanSum(ctx, &survey.Tally{Pass: pass}, "tally", tally)
		if err != nil {
			return err
		}
		tallies, reports = append(tallies, tally), append(reports, r...)
	}
	l.Copies = profile.NewCopies(few, tallies...)
	for _, r := range reports {
		l.Copies.Alias(profile.FoldPlace{File: r.Shard.File, Start: r.Shard.Start},
			profile.FoldPlace{File: r.Shard.File, Start: r.Begin})
	}
	l.counted = true
	return nil
}

// manyRepeat is the share of repeated rows from which on a note mentions them.
const manyRepeat = 0.01

// repeated returns a note if so many rows repeat others that held-out figures depend on it, and "" otherwise.
func (l *Prepared) repeated() string {
	n := l.Counts.Used
	if few := l.Distinct.Few(n); len(few) > 0 && l.Rule == nil {
		return fmt.Sprintf("there are only %s among %s rows; copies are held out one by one, so held-out figures are those "+
			"of rows of which training has seen copies",
			report.Counted(len(few), "different row"), report.Groups(n))
	}
	if l.repeats < manyRepeat {
		return ""
	}
	note := fmt.Sprintf("about %s of %s rows have the numbers of an earlier row",
		report.Groups(int64(math.Round(l.repeats*float64(n)))), report.Groups(n))
	if l.Rule != nil {
		return note
	}
	return note + "; equal rows are held out together, so held-out figures are those of rows that training has not seen"
}

// Dependent reports whether held-out rows depend on each other, because groups or many equal rows are held out
// together.
func (l *Prepared) Dependent() bool {
	switch {
	case l.Rule != nil:
		return l.Rule.By == profile.ByGroup
	case l.Copies != nil:
		return false
	}
	return l.repeats >= manyRepeat
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

// assigned returns the copies for a pass that assigns rows to that many parts, or that recodes rows. It panics
// unless they have been counted, because all passes must assign rows in the same way.
func (l *Prepared) assigned(parts int) *profile.Copies {
	if parts < 2 && !l.Recipe.Recodes {
		return nil
	}
	if !l.counted {
		panic("pipelines: folds before the copies of rows are counted")
	}
	return l.Copies
}
