package pipelines

import (
	"context"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/folds"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/survey"
)

// countCopies counts the rows that repeat so often that folds take them one by one,
// in one or two passes over the data, and has the passes to come deal them. Where no
// row is frequent there is nothing to count and no pass.
//
// Passes with folds read the rows by the cut of the job's options; learners in rounds
// by one of their own, which inRounds says is to be counted, too.
func (j *job) countCopies(ctx context.Context, l *looked, seed uint64, maxBad float64, inRounds bool) error {
	n := l.counts.Used
	candidates := l.often.Candidates(folds.Frequent(n))
	if len(candidates) == 0 {
		return nil
	}
	j.progress.phase("counting repeated rows", n)
	defer j.progress.done()
	pass := transforms.Pass{Data: *l.data, Shards: l.shards, Mode: mode(maxBad), Seed: seed, Target: l.target}
	var census folds.Census
	if _, _, err := j.scanSum(ctx, &survey.Census{Pass: pass, Candidates: candidates}, "census", &census); err != nil {
		return err
	}
	frequent, rows, contents := census.Frequent(n)
	if len(frequent) == 0 {
		return nil
	}
	cuts := [][]dataset.Shard{j.opts.shards(l.data)}
	if own := l.data.Shards(shardBytes); inRounds && !slices.Equal(own, cuts[0]) {
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
		_, r, err := j.scanSum(ctx, &survey.Tally{Pass: pass, Frequent: frequent, Contents: contents}, "tally", tally)
		if err != nil {
			return err
		}
		tallies, reports = append(tallies, tally), append(reports, r...)
	}
	l.copies = folds.NewCopies(n, frequent, contents, tallies...)
	for _, r := range reports {
		l.copies.Alias(folds.Place{File: r.Shard.File, Start: r.Shard.Start}, folds.Place{File: r.Shard.File, Start: r.Begin})
	}
	l.repeated, l.copies.Mean = rows, float64(rows)/float64(n)/float64(len(frequent))
	return nil
}

// countCopies counts the copies before the first pass of the training that has folds,
// and notes where so many rows repeat that it matters what they are.
func (t *training) countCopies(ctx context.Context) error {
	if t.counted {
		return nil
	}
	if err := t.job.countCopies(ctx, t.looked, t.opts.Seed, t.opts.MaxBadFraction, t.opts.Learner.Name != "ridge" || t.opts.learns()); err != nil {
		return err
	}
	t.counted = true
	if 10*t.repeated >= t.counts.Used {
		t.notes = append(t.notes, fmt.Sprintf("%s of %s rows repeat the numbers of others; folds take them for rows that were drawn anew: if they were copied on purpose, leave the copies out, or held-out figures are too good",
			groups(t.repeated), groups(t.counts.Used)))
	}
	return nil
}

// dealt returns the copies for a pass with that many folds. They must be counted, so
// that no two passes of a training have different folds.
func (t *training) dealt(parts int) *folds.Copies {
	if parts < 2 {
		return nil
	}
	if !t.counted {
		panic("pipelines: folds before the copies of rows are counted")
	}
	return t.copies
}
