package apply

import (
	"context"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/transforms"
)

// drifting compares the rows of a job with those that its model was made from.
type drifting struct {
	statistics *profile.Statistics // nil if the model has none
	schema     *sums.SchemaChanges
	names      sums.DriftNames
	bound      float64 // on the distance of a column; 0 for none
	cluster    float64 // rows that are as good as one
}

// driftOf begins a comparison of rows with the model's training rows. A model of an older version
// has no statistics, which is an error only with a bound.
func driftOf(ctx context.Context, model string, m *models.Manifest, d *dataset.Dataset,
	bound float64) (*drifting, error) {
	if err := prepare.ValidDrift(bound); err != nil {
		return nil, err
	}
	k := &drifting{bound: bound, cluster: m.Learner.Split.GroupSize()}
	if _, ok := m.File(sums.ProfileFile); !ok && bound == 0 {
		return k, nil
	}
	p, err := sums.ReadProfile(ctx, model, m)
	if err != nil {
		return nil, err
	}
	if len(p.Rows.Columns) != m.Input.Dim {
		if bound > 0 {
			return nil, exit.Usage("--max_drift: %s has no statistics of its columns, because there are too many", model)
		}
		return k, nil
	}
	k.statistics, k.schema, k.names = p.Rows, sums.SchemaChangesOf(m.Input, d), sums.DriftNamesOf(d)
	return k, nil
}

// countedBytes is the size of data of which all rows are counted; of more, one row in two, four or
// more is, so that counting takes about 3% of the CPU time at most (10 columns, 1,024 features) and
// less of more data. At least half as many bytes are counted, 9,000 rows of 10 columns, with which a
// share is certain to about 2 %.
const countedBytes = 2 << 20

// skip returns the bits of content hashes of rows that are not counted.
func (k *drifting) skip(d *dataset.Dataset) uint64 {
	some := uint64(1)
	for size := d.Size(); size > countedBytes; size /= 2 {
		some *= 2
	}
	return some - 1
}

// counted returns the report on the rows of all shards; nil if they were not counted.
func (k *drifting) counted(written []transforms.Written) (*sums.DriftReport, error) {
	if k.statistics == nil {
		return nil, nil
	}
	all := sums.NewDriftCounts(k.statistics)
	for _, w := range written {
		if w.Drift == nil {
			continue
		}
		if err := all.AddBinary(w.Drift); err != nil {
			return nil, err
		}
	}
	r := sums.DriftOfCounts(k.statistics, all, k.cluster, k.names)
	r.Schema = k.schema
	return r, nil
}

// check returns a *GateError if a column has certainly moved by more than the bound.
func (k *drifting) check(r *sums.DriftReport) error {
	if k.bound == 0 {
		return nil
	}
	return exit.NotPassed(r.Exceeds(k.bound, 0))
}
