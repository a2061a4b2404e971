package apply

import (
	"context"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/transforms"
)

// driftCheck compares the rows of a job with the rows that its model was trained on.
type driftCheck struct {
	statistics *profile.Statistics // nil if the model has none
	schema     *drift.SchemaChanges
	names      drift.Names
	bound      float64 // on the distance of a column; 0 means no limit
	cluster    float64 // number of rows that count as one independent row
}

// newDriftCheck begins a comparison of rows with the training rows of the model. A model
// without statistics is an error only if there is a bound.
func newDriftCheck(ctx context.Context, model string, m *models.Manifest, d *dataset.Dataset,
	bound float64) (*driftCheck, error) {
	if err := prepare.CheckDrift(bound); err != nil {
		return nil, err
	}
	c := &driftCheck{bound: bound, cluster: m.Learner.Split.GroupSize()}
	if _, ok := m.File(sums.ProfileFile); !ok && bound == 0 {
		return c, nil
	}
	p, err := sums.ReadProfile(ctx, model, m)
	if err != nil {
		return nil, err
	}
	if len(p.Rows.Columns) != m.Input.Dim {
		if bound > 0 {
			return nil, exit.Usagef("--max_drift: %s has no statistics of its columns, because there are too many", model)
		}
		return c, nil
	}
	c.statistics, c.schema, c.names = p.Rows, drift.SchemaChangesOf(m.Input, d), drift.NamesOf(d)
	return c, nil
}

// countedBytes is the size of data up to which all rows are counted. Of larger data one row in two, four and so
// on is counted, so that counting takes at most about 3% of the CPU time (10 columns, 1,024 features). At least
// half of countedBytes is counted. This is 9,000 rows of 10 columns, which determine a share to about 2%.
const countedBytes = 2 << 20

// skip returns a mask for content hashes: rows with a bit in it are not counted.
func (c *driftCheck) skip(d *dataset.Dataset) uint64 {
	stride := uint64(1)
	for size := d.Size(); size > countedBytes; size /= 2 {
		stride *= 2
	}
	return stride - 1
}

// counted returns the report on the rows of all shards, nil if they were not counted.
func (c *driftCheck) counted(written []transforms.Written) (*drift.Report, error) {
	if c.statistics == nil {
		return nil, nil
	}
	all := drift.NewCounts(c.statistics)
	for _, w := range written {
		if w.Drift == nil {
			continue
		}
		part := drift.NewCounts(c.statistics)
		if err := wire.Unmarshal(part, w.Drift); err != nil {
			return nil, err
		}
		all.Merge(part)
	}
	r := drift.CompareCounts(c.statistics, all, c.cluster, c.names)
	r.Schema = c.schema
	return r, nil
}

// check returns an *exit.GateError if the lower bound on the drift of a column exceeds the bound.
func (c *driftCheck) check(r *drift.Report) error {
	if c.bound == 0 {
		return nil
	}
	return exit.NotPassed(r.Exceeds(c.bound, 0))
}
