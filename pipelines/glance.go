package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
)

// Bounds of a look at the data for a plan: bytes as they are stored, by whole shards,
// and numbers of rows, zeros among them.
const (
	glanceBytes  = 64 << 20
	glanceValues = 1 << 29
)

// glanced is what a bounded look at the data found.
type glanced struct {
	facts
	read  int64 // rows
	whole bool  // which are all of them
	exact bool  // rows is not an estimate
}

// glance reads some of the rows, all of them where they are few.
func glance(ctx context.Context, o TrainOptions, d *dataset.Dataset) (*glanced, error) {
	g := &glanced{whole: true}
	g.dim, g.grows = d.Schema.Dim, d.Schema.Dim == 0
	var labels rows.LabelCounts
	count := func(token []byte) (float64, string) {
		labels.Add(token)
		return 0, ""
	}
	var stored, values, nonzero int64
	var b rows.Block
	for _, shard := range o.Job.shards(d) {
		if stored >= glanceBytes || values >= glanceValues {
			g.whole = false
			break
		}
		stored += d.Bytes(shard)
		r := d.Read(ctx, shard, count, dataset.Aside)
		for values < glanceValues && r.Next(&b) {
			g.read += int64(b.N)
			g.dim = max(g.dim, b.D)
			values += int64(b.N) * int64(b.D)
			if g.grows {
				for _, x := range b.X[:b.N*b.D] {
					if x != 0 {
						nonzero++
					}
				}
			}
		}
		report := r.Report()
		r.Close()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if values >= glanceValues {
			g.whole = false
			break
		}
		if report.Fault != "" {
			g.whole = false // what is wrong with a file, a training says
		}
	}
	summary := labels.Summary()
	t, err := target(o.Task, d, &summary)
	switch {
	case err == nil:
	case g.whole:
		return nil, err
	default:
		g.outputs = 2 // what is missing may come later
	}
	if t.Classes != nil {
		g.outputs = len(t.Classes.Classes)
	}
	if g.regression = t.Grid != nil; g.regression {
		g.outputs = 1
	}
	g.values = float64(g.dim)
	if g.grows && g.read > 0 {
		g.values = float64(nonzero) / float64(g.read)
	}
	g.rows, g.exact = g.read, g.whole
	if !g.whole {
		if g.rows, g.exact, err = d.EstimateRows(ctx); err != nil {
			return nil, err
		}
	}
	g.scaled, g.features = g.dim, o.Kernel.Features
	switch {
	case len(o.Scale) == 0 || o.Scale[0] == "auto":
		g.prepared = d.Schema.Traits().Scale != "none"
	default:
		g.prepared = o.Scale[0] != "none"
	}
	if families[o.Kernel.Name].fixed && !o.Kernel.found() {
		g.features = g.scaled
	}
	return g, nil
}
