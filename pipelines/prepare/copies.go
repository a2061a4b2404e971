package prepare

import (
	"context"
	"slices"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/folds"
	"github.com/bochner-ml/bochner/pipelines/job"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/survey"
)

// CountCopies counts the rows that repeat so often that folds assign them one by one, in one or
// two passes over the data, and tells later passes. If no row is frequent, there is nothing to
// count and no pass.
//
// Passes with folds read the rows in the shards of the job's options; iterative learners use
// shards of their own, which are counted too if inRounds is set.
func (l *Prepared) CountCopies(ctx context.Context, j *job.Job, seed uint64, maxBad float64, inRounds bool) error {
	if l.counted {
		return nil
	}
	n := l.Counts.Used
	candidates := l.Often.Candidates(folds.Frequent(n))
	if len(candidates) == 0 {
		l.counted = true
		return nil
	}
	j.Progress.Phase("counting repeated rows", n)
	defer j.Progress.Done()
	pass := transforms.Pass{Data: *l.Data, Shards: l.Shards, Mode: Mode(maxBad), Seed: seed, Target: l.Target, EqualWeights: l.EqualWeights()}
	var census folds.Census
	if _, err := j.ScanSum(ctx, &survey.Census{Pass: pass, Candidates: candidates}, "census", &census); err != nil {
		return err
	}
	frequent, rows, contents := census.Frequent(n)
	if len(frequent) == 0 {
		l.counted = true
		return nil
	}
	cuts := [][]dataset.Shard{j.Opts.Shards(l.Data)}
	if own := l.Data.Shards(job.ShardBytes); inRounds && !slices.Equal(own, cuts[0]) {
		cuts = append(cuts, own)
	}
	if len(contents) == 0 {
		cuts = nil
	}
	var tallies []*folds.Counts
	var reports []dataset.Report
	for _, cut := range cuts {
		tally := new(folds.Counts)
		pass.Shards = cut
		r, err := j.ScanSum(ctx, &survey.Tally{Pass: pass, Frequent: frequent, Contents: contents}, "tally", tally)
		if err != nil {
			return err
		}
		tallies, reports = append(tallies, tally), append(reports, r...)
	}
	l.Copies = folds.NewCopies(n, frequent, contents, tallies...)
	for _, r := range reports {
		l.Copies.Alias(folds.Place{File: r.Shard.File, Start: r.Shard.Start}, folds.Place{File: r.Shard.File, Start: r.Begin})
	}
	l.counted = true
	l.repeated, l.Copies.Mean = rows, float64(rows)/float64(n)/float64(len(frequent))
	return nil
}

// ManyCopies tells whether a tenth of the rows or more repeat so often that folds assign them one by one.
func (l *Prepared) ManyCopies() bool { return l.Copies != nil && 10*l.repeated >= l.Counts.Used }

// assigned returns the copies for a pass with that many folds, or one that recodes rows. They must have been counted, so
// that all passes of a training have the same folds.
func (l *Prepared) assigned(parts int) *folds.Copies {
	if parts < 2 && !l.Recipe.Recodes {
		return nil
	}
	if !l.counted {
		panic("pipelines: folds before the copies of rows are counted")
	}
	return l.Copies
}
