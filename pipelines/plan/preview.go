package plan

import (
	"cmp"
	"context"
	"slices"

	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/search"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// Limits of the preview: bytes of the stored files, in whole shards, and values in rows, including zeros.
const (
	previewBytes  = 64 << 20
	previewValues = 1 << 29
)

// preview is the result of reading a bounded part of the data.
type preview struct {
	spec.Facts
	read  int64 // number of rows read
	whole bool  // all rows were read
	exact bool  // Rows is not an estimate
}

// readPreview reads some of the rows, or all if there are few. It ignores labels for an embedding.
func readPreview(ctx context.Context, o spec.Options, d *dataset.Dataset, components int) (*preview, error) {
	g := &preview{whole: true}
	if prepare.TypesGiven(o.Types) && d.Schema.Table == nil {
		var err error
		if g.Surveyed, err = describe(ctx, o, d); err != nil {
			return nil, err
		}
	}
	numbers := d.Schema.Table != nil || !d.Schema.Traits().Columns
	g.Components = components
	g.Dim, g.Grows = d.Schema.Dim, d.Schema.Dim == 0
	g.Weighted, g.Unnamed = d.Weighted, !d.Schema.Traits().Columns
	g.Patches = prepare.PatchNumbers(o.Scale, d.Schema)
	var labels schema.LabelCounts
	count := func(token []byte) (float64, string) {
		labels.Add(token)
		return 0, ""
	}
	var stored, values, nonzero int64
	var b rows.Block
	var hashes []uint64
	seen := profile.New(profile.Options{})
	for _, shard := range job.Shards(o.Job, d) {
		if stored >= previewBytes || values >= previewValues {
			g.whole = false
			break
		}
		stored += d.Bytes(shard)
		r := d.Read(ctx, shard, count, dataset.SkipRow)
		for values < previewValues && r.Next(&b) {
			g.read += int64(b.N)
			g.Dim = max(g.Dim, b.D)
			values += int64(b.N) * int64(b.D)
			if o.Searching() && !g.Unnamed && tuning.PilotRows(1, b.D) > 0 {
				hashes = rows.HashBlock(hashes, o.Seed, &b)
				seen.AddBlock(&b, hashes)
			}
			if g.Grows {
				nonzero += countNonzero(b.X[:b.N*b.D])
			}
		}
		report := r.Report()
		r.Close()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if values >= previewValues {
			g.whole = false
			break
		}
		if report.NotNumbers && !numbers {
			read := d.Schema.Dim
			surveyed, err := describe(ctx, o, d)
			if err != nil {
				return nil, err
			}
			numbers = true
			if d.Schema.Table != nil || d.Schema.Dim != read { // columns have types, or some are not used
				typed, err := readPreview(ctx, o, d, components)
				if err == nil {
					typed.Surveyed = max(typed.Surveyed, surveyed)
				}
				return typed, err
			}
			g.Surveyed = surveyed
		}
		if report.Fault != "" {
			g.whole = false // training will report the error in the file
		}
	}
	if g.Dim == 0 && g.read > 0 {
		return nil, prepare.NoNumbers(d)
	}
	if err := g.target(o, d, labels.Summary()); err != nil {
		return nil, err
	}
	if g.whole { // later rows may repeat values
		g.Measured = tuning.Measured(seen, d.Schema.Table)
	}
	return g, g.estimate(ctx, o, d, nonzero)
}

func countNonzero(values []float32) (n int64) {
	for _, x := range values {
		if x != 0 {
			n++
		}
	}
	return n
}

// estimate estimates values of all rows from the rows that were read, which have nonzero numbers that are not 0.
func (g *preview) estimate(ctx context.Context, o spec.Options, d *dataset.Dataset, nonzero int64) (err error) {
	g.Values = float64(g.Dim)
	if g.Grows && g.read > 0 {
		g.Values = float64(nonzero) / float64(g.read)
	}
	g.Rows, g.exact = g.read, g.whole
	if !g.whole {
		if g.Rows, g.exact, err = d.EstimateRows(ctx); err != nil {
			return err
		}
	}
	g.Scaled, g.Reading = g.Dim, d.Memory()
	if t := d.Schema.Table; t != nil {
		g.encoded(o, t)
	}
	g.Features = o.Kernel.Size(g.Scaled).Features
	switch {
	case len(o.Scale) == 0 || o.Scale[0] == "auto":
		g.Prepared = d.Schema.Traits().Scale != "none"
	default:
		g.Prepared = o.Scale[0] != "none"
	}
	return nil
}

// searched returns upper bounds on the number and the length of rows in a search for features.
func (g *preview) searched() (rows int64, length int) {
	return cmp.Or(g.Rows, search.MaxRows), max(g.Dim, g.Scaled)
}

// decideSearch adapts the options to the search for features. If the options ask for a search but there will be
// none, it returns the reason, otherwise "".
func (g *preview) decideSearch(o *spec.Options, d *dataset.Dataset) (unsearched string) {
	if !o.Searching() {
		return ""
	}
	rows, length := g.searched()
	shortened, undo := tuning.Shorten(d.Schema.Table, o.Encode, rows, length)
	if shortened != nil {
		g.encoded(*o, d.Schema.Table)
		_, length = g.searched()
	}
	unsearched = tuning.Unsearchable(rows, length, len(d.Targets), 0,
		preprocess.NeedsTargets(d.Schema.Table, o.Encode))
	switch {
	case unsearched != "":
		o.Search = options.NoSearch
		if undo != nil {
			undo()
			g.encoded(*o, d.Schema.Table)
		}
	case g.exact:
		g.Features = tuning.Features(o.Kernels, g.Rows, g.Features)
	}
	return unsearched
}

// encoded sets the facts that follow from the encodings of a table.
func (g *preview) encoded(o spec.Options, t *schema.Table) {
	g.Scaled, g.Short, g.Levels = preprocess.ColumnBounds(t, o.Encode, g.Outputs)
	g.Summed = preprocess.SummedLevels(t, o.Encode)
	if slices.Contains(o.Scale, "unit") {
		g.Short = 0
	}
}

// describe finds the types of columns from some of the rows. It returns the memory in bytes of a survey of all
// rows.
func describe(ctx context.Context, o spec.Options, d *dataset.Dataset) (surveyed int64, err error) {
	description, _, err := prepare.DescribeBy(o.Types, d, func(rules schema.Rules) (*schema.Survey, error) {
		s := schema.NewSurvey(len(dataset.DescribedBy(d)), rules)
		var stored, all int64
		var b rows.Block
		for _, shard := range job.Shards(o.Job, d) {
			all += d.Bytes(shard)
			if stored >= previewBytes {
				continue
			}
			stored += d.Bytes(shard)
			r := d.ReadFrom(ctx, nil, shard, dataset.Request{Mode: dataset.SkipRow, Describe: s})
			for r.Next(&b) {
			}
			r.Close()
		}
		surveyed = s.Bytes(float64(all) / float64(max(stored, 1)))
		return s, ctx.Err()
	})
	if err == nil {
		prepare.SetTypes(d, description)
	}
	return surveyed, err
}

// target decides on the task from the labels in the preview.
func (g *preview) target(o spec.Options, d *dataset.Dataset, seen schema.LabelSummary) error {
	g.Outputs = 1
	if g.Components > 0 {
		return nil
	}
	if n := len(d.Targets); n > 0 {
		g.Outputs, g.Regression = n, true
		return nil
	}
	t, err := prepare.DecideTask(o.Task, d, &seen)
	if err == nil && g.whole {
		err = prepare.CheckIDs(o.Task, d, t, &seen)
	}
	switch {
	case err != nil && g.whole:
		return err
	case err != nil:
		g.Outputs = 2 // later rows may have other labels
	case t.Classes != nil:
		g.Outputs = len(t.Classes.Classes)
	}
	g.Regression = t.Grid != nil
	return nil
}
