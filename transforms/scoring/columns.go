package scoring

import (
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/export"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models"
)

// column is a column of predictions with the function that returns its values for a block of rows. The values are
// valid until the next block.
type column struct {
	export.Column
	values func(*output) any
}

// output is the output of a model for a block of rows.
type output struct {
	models.Applied
	block     *rowio.Block
	level     models.Level // of intervals and sets
	ends      []float64    // low and high of each target, row by row; empty without intervals
	explained [][]float64  // values of the columns of explainColumns
}

// numbers returns the targets, and for classes the scores.
func (o *output) numbers() any {
	if o.Targets != nil {
		return o.Targets
	}
	return o.Scores
}

// bad appends the rows that could not be read, and those whose scores or novelty (if asked for) are not finite.
func (o *output) bad(dst []int) []int {
	n := o.block.N
	k := len(o.Scores) / max(1, n)
	for i := range n {
		if unread(o.block, i) || !exact.AllFinite(o.Scores[i*k:(i+1)*k]) || o.Novelty != nil && !exact.Finite(o.Novelty[i]) {
			dst = append(dst, i)
		}
	}
	return dst
}

// unread reports whether row i could not be read.
func unread(b *rowio.Block, i int) bool {
	_, bad := slices.BinarySearch(b.Bad, i)
	return bad
}

// Columns returns the columns of the predictions of a model. It needs only the manifest.
func (p *Predict) Columns(m *models.Model) []export.Column { return exported(p.columns(m)) }

func exported(columns []column) (out []export.Column) {
	for _, c := range columns {
		out = append(out, c.Column)
	}
	return out
}

// columns returns the columns with the functions for their values. It needs only the manifest.
func (p *Predict) columns(m *models.Model) (columns []column) {
	for _, g := range p.Constants {
		columns = append(columns, constant(g.Name, g.Value))
	}
	if p.ID != "" {
		columns = append(columns, always(p.ID, func(o *output) any { return o.block.IDs }))
	}
	if p.Lines {
		columns = append(columns, always("line", func(o *output) any { return o.block.Lines }))
	}
	predicted := p.predicted(m)
	columns = append(columns, predicted...)
	names := m.Outputs()
	if p.Scores && !m.Embeds() {
		unit := math.Inf(1) // the smallest of all targets
		for _, c := range predicted {
			unit = min(unit, c.Unit)
		}
		columns = append(columns, column{
			export.Column{Name: "scores", Header: prefixed("score_", names), Keys: names, Unit: unit}, (*output).numbers})
	}
	if p.Probabilities {
		columns = append(columns, column{
			export.Column{Name: "probabilities", Header: prefixed("probability_", names), Keys: names},
			func(o *output) any { return o.Probabilities }})
	}
	if p.Novelty {
		columns = append(columns, column{single("novelty"), func(o *output) any { return o.Novelty }})
	}
	if p.Explain {
		for i, c := range explainColumns(m) {
			columns = append(columns, column{c, func(o *output) any { return o.explained[i] }})
		}
	}
	if p.Digest {
		columns = append(columns, constant("model", m.Manifest.SHA256))
	}
	return columns
}

// predicted returns the columns of the prediction: a class and a set of classes, or all targets and then the
// ends of their intervals, or the components of an embedding.
func (p *Predict) predicted(m *models.Model) []column {
	names := m.Outputs()
	switch {
	case m.Embeds():
		c := export.Column{Name: "components", Header: names, List: true, Unit: m.Resolution(0)}
		return []column{{c, (*output).numbers}}
	case m.Classifies():
		class := single("prediction")
		class.Levels, class.Numeric = names, m.NumericClasses()
		columns := []column{{class, func(o *output) any { return o.Classes }}}
		if p.Interval > 0 {
			set := single("set")
			set.Levels, set.Numeric = class.Levels, class.Numeric
			columns = append(columns, column{set, setsOf()})
		}
		return columns
	}
	var targets, ends []column
	for i, name := range names {
		c := single("prediction")
		if len(names) > 1 {
			c = single("prediction_" + name)
		}
		c.Unit = m.Resolution(i)
		targets = append(targets, column{c, every(len(names), i, func(o *output) []float64 { return o.Targets })})
		for e, end := range []string{"_low", "_high"} {
			c := single(c.Name + end)
			c.Unit = m.Resolution(i)
			ends = append(ends, column{c, every(2*len(names), 2*i+e, func(o *output) []float64 { return o.ends })})
		}
	}
	if p.Interval > 0 {
		targets = append(targets, ends...)
	}
	return targets
}

// single returns a column with one value per row.
func single(name string) export.Column { return export.Column{Name: name, Header: []string{name}} }

// always returns a column of which rows without predictions have values, too.
func always(name string, values func(*output) any) column {
	c := single(name)
	c.Always = true
	return column{c, values}
}

// constant returns a column with the same value in all rows.
func constant(name, value string) column {
	var indices []int32 // of the only level
	c := always(name, func(o *output) any {
		if len(indices) < o.block.N {
			indices = make([]int32, o.block.N)
		}
		return indices[:o.block.N]
	})
	c.Levels = []string{value}
	return c
}

// every returns a function that returns every n-th of some numbers, beginning with the i-th.
func every(n, i int, field func(*output) []float64) func(*output) any {
	var values []float64
	return func(o *output) any {
		values = values[:0]
		for all := field(o); len(all) > i; all = all[n:] {
			values = append(values, all[i])
		}
		return values
	}
}

// setsOf returns a function that returns the sets of classes.
func setsOf() func(*output) any {
	var sets export.Sets
	return func(o *output) any {
		sets.Ends, sets.Items = sets.Ends[:0], sets.Items[:0]
		k := len(o.Probabilities) / max(1, len(o.Classes))
		for i := range o.Probabilities {
			if o.level.Has(o.Applied, i) {
				sets.Items = append(sets.Items, int32(i%k))
			}
			if (i+1)%k == 0 {
				sets.Ends = append(sets.Ends, len(sets.Items))
			}
		}
		return &sets
	}
}

// Distinct returns an error if two columns have the same name, because most readers of tables would
// lose one of them. This can happen because the identifiers and the Constants have names that the
// user chooses, and other names contain names of columns and targets.
func (p *Predict) Distinct(columns []export.Column) error {
	copied := len(p.Constants)
	if p.ID != "" {
		copied++
	}
	for i, column := range columns[:copied] {
		for _, c := range columns[i+1:] {
			if c.Name == column.Name || slices.Contains(c.Header, column.Name) {
				return fmt.Errorf("scoring: the copied column %q has the name of another column of the predictions; "+
					"rename it in the data, or name another with --id_column", column.Name)
			}
		}
	}
	seen := map[string]bool{}
	for _, c := range columns {
		for _, name := range c.Header {
			if seen[name] && p.Format != "jsonl" { // objects may nest such columns
				return fmt.Errorf("scoring: two columns of the predictions would have the name %q, because of the names of the "+
					"columns or targets of the model; write jsonl, which keeps them apart, or train with other names", name)
			}
			seen[name] = true
		}
	}
	return nil
}

func prefixed(prefix string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = prefix + name
	}
	return out
}
