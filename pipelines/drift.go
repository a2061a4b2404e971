package pipelines

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/table"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/report"
	"github.com/bochner-ml/bochner/transforms/outputs"
)

// drifting compares the rows of a job with those that its model was made from.
type drifting struct {
	statistics *profile.Statistics // nil if the model has none
	schema     *drift.Schema
	names      drift.Names
	bound      float64 // on the distance of a column; 0 for none
}

// driftOf begins a comparison of rows with those of the model. A model of an older version has no
// statistics, which is an error only with a bound.
func driftOf(ctx context.Context, model string, m *models.Manifest, d *dataset.Dataset, bound float64) (*drifting, error) {
	if !(bound >= 0 && bound <= 1) {
		return nil, exit.Usage("--max_drift must be between 0 and 1 (have %g)", bound)
	}
	k := &drifting{bound: bound}
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
	k.statistics, k.schema, k.names = p.Rows, schemaDrift(m, d), driftNames(d)
	return k, nil
}

// schemaDrift compares the columns of files with those of the model's training; nil where they
// have no names, or the same.
func schemaDrift(m *models.Manifest, d *dataset.Dataset) *drift.Schema {
	like := new(dataset.Schema)
	if err := json.Unmarshal(m.Input.Options, like); err != nil {
		return nil // opening the data has checked it
	}
	was, ok := like.Layout.(table.Of)
	if !ok || !was.Named() || len(d.Fields) == 0 {
		return nil
	}
	// The label is not needed for predictions.
	label := func(name string) bool { return name == m.Input.Label }
	return drift.Columns(without(was.Table().Columns, label), without(d.Fields, label))
}

// without returns the names that are not those.
func without(names []string, those func(string) bool) (others []string) {
	for _, name := range names {
		if !those(name) {
			others = append(others, name)
		}
	}
	return others
}

// driftNames returns the names of the values of rows.
func driftNames(d *dataset.Dataset) drift.Names {
	n := drift.Names{Columns: d.Schema.Columns}
	if t := d.Schema.Table; t != nil {
		n.Columns = t.Names()
		for i := range t.Columns {
			for range t.Columns[i].Width() {
				n.Levels = append(n.Levels, t.Columns[i].Levels)
			}
		}
	}
	return n
}

// countedBytes is the size of data of which all rows are counted; of more, one row in two, four or
// more is, so that counting takes little of the time.
const countedBytes = 4 << 20

// skip returns the bits of content hashes of rows that are not counted.
func (k *drifting) skip(d *dataset.Dataset) uint64 {
	some := uint64(1)
	for size := d.Size(); size > countedBytes; size /= 2 {
		some *= 2
	}
	return some - 1
}

// counted returns the report on the rows of all shards; nil if they were not counted.
func (k *drifting) counted(written []outputs.Written) (*drift.Report, error) {
	if k.statistics == nil {
		return nil, nil
	}
	all := drift.NewCounts(k.statistics)
	for _, w := range written {
		if w.Drift == nil {
			continue
		}
		if err := all.AddBinary(w.Drift); err != nil {
			return nil, err
		}
	}
	r := drift.OfCounts(k.statistics, all, k.names)
	r.Schema = k.schema
	return r, nil
}

// check returns a *GateError if a column has certainly moved by more than the bound.
func (k *drifting) check(r *drift.Report) error {
	if k.bound == 0 {
		return nil
	}
	return notPassed(r.Exceeds(k.bound, 0))
}

// shownDrift is the number of columns that are printed.
const shownDrift = 5

// writeDrift prints the columns that have moved, the farthest first. Each line begins with the
// text.
func writeDrift(w io.Writer, r *drift.Report, begin string) {
	if r == nil {
		return
	}
	if r.Schema != nil {
		fmt.Fprintf(w, "%s%s\n", begin, r.Schema)
		begin = strings.Repeat(" ", len(begin))
	}
	for i, c := range r.Columns {
		if i == shownDrift {
			fmt.Fprintf(w, "%s%s more\n", begin, report.Counted(len(r.Columns)-i, "column"))
			break
		}
		fmt.Fprintf(w, "%s%s: %s (at least %.2g)\n", begin, c.Name, c.Detail, c.AtLeast)
		begin = strings.Repeat(" ", len(begin))
	}
}
