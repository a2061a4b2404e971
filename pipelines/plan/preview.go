package plan

import (
	"cmp"
	"context"
	"slices"

	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
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
	p := &preview{whole: true}
	if prepare.TypesGiven(o.Types) && d.Schema.Table == nil {
		var err error
		if p.SurveyBytes, err = describe(ctx, o, d); err != nil {
			return nil, err
		}
	}
	numbers := d.Schema.Table != nil || !d.Schema.Traits().Columns
	p.Components = components
	p.Dim, p.Grows = d.Schema.Dim, d.Schema.Dim == 0
	p.Weighted, p.Unnamed = d.Weighted, !d.Schema.Traits().Columns
	p.Patches = prepare.PatchNumbers(o.Scale, d.Schema)
	r := &previewReader{preview: p, options: o, data: d, sample: profile.New(profile.Options{})}
	var stored int64 // bytes of the shards
	for _, shard := range job.Shards(o.Job, d) {
		if stored >= previewBytes {
			p.whole = false
			break
		}
		stored += d.Bytes(shard)
		report := r.readShard(ctx, shard)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.values >= previewValues {
			p.whole = false
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
					typed.SurveyBytes = max(typed.SurveyBytes, surveyed)
				}
				return typed, err
			}
			p.SurveyBytes = surveyed
		}
		if report.Fault != "" {
			p.whole = false // training will report the error in the file
		}
	}
	if p.Dim == 0 && p.read > 0 {
		return nil, prepare.NoNumbers(d)
	}
	if err := p.target(o, d, r.labels.Summary()); err != nil {
		return nil, err
	}
	if p.whole { // later rows may repeat values
		p.Measured = tuning.Measured(r.sample, d.Schema.Table)
	}
	return p, p.estimate(ctx, o, d, r.nonzero)
}

// previewReader reads the rows of a preview.
type previewReader struct {
	*preview
	options spec.Options
	data    *dataset.Dataset
	labels  schema.LabelCounts
	sample  *profile.Sum // of the rows, if features are searched
	values  int64        // numbers in the rows
	nonzero int64        // numbers that are not 0, counted if rows grow
	block   rowio.Block
	hashes  []uint64
}

// readShard reads a shard up to the limit of values.
func (r *previewReader) readShard(ctx context.Context, shard dataset.Shard) dataset.Report {
	in := r.data.Read(ctx, shard, r.countLabel, dataset.SkipRow)
	defer in.Close()
	for b := &r.block; r.values < previewValues && in.Next(b); {
		r.read += int64(b.N)
		r.Dim = max(r.Dim, b.D)
		r.values += int64(b.N) * int64(b.D)
		if r.options.Searching() && !r.Unnamed && tuning.PilotRows(1, b.D) > 0 {
			r.hashes = rowio.HashBlock(r.hashes, r.options.Seed, b)
			r.sample.AddBlock(b, r.hashes)
		}
		if r.Grows {
			r.nonzero += countNonzero(b.X[:b.N*b.D])
		}
	}
	return in.Report()
}

func (r *previewReader) countLabel(token []byte) (float64, string) {
	r.labels.Add(token)
	return 0, ""
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
func (p *preview) estimate(ctx context.Context, o spec.Options, d *dataset.Dataset, nonzero int64) (err error) {
	p.Values = float64(p.Dim)
	if p.Grows && p.read > 0 {
		p.Values = float64(nonzero) / float64(p.read)
	}
	p.Rows, p.exact = p.read, p.whole
	if !p.whole {
		if p.Rows, p.exact, err = d.EstimateRows(ctx); err != nil {
			return err
		}
	}
	p.Scaled = p.Dim
	p.ReaderBytes = d.Memory()
	if t := d.Schema.Table; t != nil {
		p.encoded(o, t)
	}
	p.Features = o.Kernel.Size(p.Scaled).Features
	scale := d.Schema.Traits().Scale
	if !prepare.AutoScale(o.Scale) {
		scale = o.Scale[0]
	}
	p.Prepared = scale != "none"
	return nil
}

// searched returns upper bounds on the number and the length of rows in a search for features.
func (p *preview) searched() (rows int64, length int) {
	return cmp.Or(p.Rows, search.MaxRows), max(p.Dim, p.Scaled)
}

// decideSearch adapts the options to the search for features. If the options ask for a search but there will be
// none, it returns the reason, otherwise "".
func (p *preview) decideSearch(o *spec.Options, d *dataset.Dataset) (unsearched string) {
	if !o.Searching() {
		return ""
	}
	rows, length := p.searched()
	shortened, undo := tuning.Shorten(d.Schema.Table, o.Encode, rows, length)
	if shortened != nil {
		p.encoded(*o, d.Schema.Table)
		_, length = p.searched()
	}
	unsearched = tuning.Unsearchable(rows, length, len(d.Targets), 0,
		preprocess.NeedsLabelSums(d.Schema.Table, o.Encode))
	switch {
	case unsearched != "":
		o.Search = options.SearchNone
		if undo != nil {
			undo()
			p.encoded(*o, d.Schema.Table)
		}
	case p.exact:
		p.Features = tuning.Features(o.Kernels, p.Rows, p.Features)
	}
	return unsearched
}

// encoded sets the facts that follow from the encodings of a table.
func (p *preview) encoded(o spec.Options, t *schema.Table) {
	p.Scaled, p.Short, p.LevelCount = preprocess.ColumnBounds(t, o.Encode, p.Outputs)
	p.SummedLevels = preprocess.SummedLevels(t, o.Encode)
	if slices.Contains(o.Scale, "unit") {
		p.Short = 0
	}
}

// describe finds the types of columns from some of the rows. It returns the memory in bytes of a survey of all
// rows.
func describe(ctx context.Context, o spec.Options, d *dataset.Dataset) (surveyed int64, err error) {
	description, _, err := prepare.DescribeBy(o.Types, d, func(rules schema.Rules) (*schema.Survey, error) {
		s := schema.NewSurvey(len(dataset.DescribedBy(d)), rules)
		var stored, all int64
		var b rowio.Block
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
func (p *preview) target(o spec.Options, d *dataset.Dataset, seen schema.LabelSummary) error {
	p.Outputs = 1
	if p.Components > 0 {
		return nil
	}
	if n := len(d.Targets); n > 0 {
		p.Outputs, p.Regression = n, true
		return nil
	}
	t, err := prepare.DecideTask(o.Task, d, &seen)
	if err == nil && p.whole {
		err = prepare.CheckIDs(o.Task, d, t, &seen)
	}
	switch {
	case err != nil && p.whole:
		return err
	case err != nil:
		p.Outputs = 2 // later rows may have other labels
	case t.Classes != nil:
		p.Outputs = len(t.Classes.Classes)
	}
	p.Regression = t.Grid != nil
	return nil
}
