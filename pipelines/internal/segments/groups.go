package segments

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/parts"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// group has the sums for one value of the column.
type group struct {
	name  string
	value float32 // value in a row, at position slot
	slot  int
	terms []parts.Term

	strength float64 // of the shrinkage; +Inf for the weights of all rows
}

// groupsOf returns the sums for each value of a column, sorted by value, and notes on values that are left out.
func groupsOf(t *parts.Total, column string) (all []group, notes []string, err error) {
	c, err := newCoder(t.Recipe, column)
	if err != nil {
		return nil, nil, err
	}
	var pooled, unknown int64
	for _, d := range t.Terms {
		if d.Sign < 0 {
			return nil, nil, exit.Usagef("--each cannot subtract sums (%s); create the difference with sum --of first", d.Place)
		}
		name, pools := "", false
		for member := range max(1, len(d.Members)) {
			value, ok := d.LabelsOf(member)[column]
			if !ok {
				return nil, nil, exit.Dataf("pipelines: --each %s: %s is not by that column; sum the rows with --by %s", column,
					d.Place, column)
			}
			pools = pools || member > 0 && value != name
			name = value
		}
		if pools {
			pooled += d.Rows.Used
			continue
		}
		value, ok, err := c.code(name)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			unknown += d.Rows.Used
			continue
		}
		i, found := slices.BinarySearchFunc(all, value, func(g group, v float32) int { return cmp.Compare(g.value, v) })
		if !found {
			all = slices.Insert(all, i, group{name: name, value: value, slot: c.slot})
		}
		all[i].terms = append(all[i].terms, d)
	}
	for _, n := range []struct {
		rows int64
		why  string
	}{{pooled, "levels that were pooled (sum --min_rows)"}, {unknown, "missing values, or levels that the recipe does " +
		"not know"}} {
		if n.rows > 0 {
			notes = append(notes, fmt.Sprintf("%s of %s have the weights of all rows", report.Counted64(n.rows, "row"), n.why))
		}
	}
	switch {
	case len(all) == 0:
		return nil, nil, exit.Dataf("pipelines: --each %s: no value can have weights of its own: all are pooled "+
			"(sum --min_rows), missing or unknown to the recipe", column)
	case len(all) > models.MaxSegments:
		return nil, nil, exit.Dataf("pipelines: --each %s: it has %d values; the limit is %d", column, len(all),
			models.MaxSegments)
	}
	return all, notes, nil
}

// coder finds the number in a row for a text in a column.
type coder struct {
	*schema.Decoder
	row    []float32
	column int
	typed  *schema.Column
	slot   int
}

func newCoder(r *sums.Recipe, column string) (*coder, error) {
	t := r.Schema.Table
	if t == nil {
		t = &schema.Table{}
		for _, name := range r.Schema.Columns {
			t.Columns = append(t.Columns, schema.Column{Name: name, Type: schema.Number})
		}
	}
	i := slices.IndexFunc(t.Columns, func(c schema.Column) bool { return c.Name == column })
	if i < 0 {
		return nil, exit.Usagef("--each %s: the model has no input column of that name", column)
	}
	c := &coder{Decoder: schema.NewDecoder(t, r.Schema.Centre), column: i, typed: &t.Columns[i]}
	c.row, c.slot = make([]float32, c.Width()), c.Slot(i)
	if c.typed.Width() > 1 || c.typed.Buckets > 0 {
		return nil, exit.Usagef("--each %s: cannot be a time or a category that is hashed; use a category or a number", column)
	}
	return c, nil
}

// code returns the number in a row for a text. ok is false if the text is a missing value, or stands for
// several texts.
func (c *coder) code(text string) (v float32, ok bool, err error) {
	if reason := c.Text(c.row, c.column, []byte(text)); reason != "" {
		return 0, false, exit.Dataf("pipelines: column %q: %s", c.typed.Name, reason)
	}
	v = c.row[c.slot]
	return v, !math.IsNaN(float64(v)) && (c.typed.Type != schema.Category || int(v) < len(c.typed.Levels)), nil
}
