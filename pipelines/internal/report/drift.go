package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/models/sums"
)

// shownDrift is the number of columns that are printed.
const shownDrift = 5

// Drift prints the columns that have drifted, the largest drift first, and nothing if r is nil. The
// first line begins with begin, and the others are indented by its length.
func Drift(w io.Writer, r *sums.DriftReport, begin string) {
	if r == nil {
		return
	}
	if r.Schema != nil {
		fmt.Fprintf(w, "%s%s\n", begin, r.Schema)
		begin = strings.Repeat(" ", len(begin))
	}
	for i, c := range r.Columns {
		if i == shownDrift {
			fmt.Fprintf(w, "%s%s more\n", begin, Counted(len(r.Columns)-i, "column"))
			break
		}
		fmt.Fprintf(w, "%s%s: %s (at least %.2g)\n", begin, c.Name, c.Detail, c.AtLeast)
		begin = strings.Repeat(" ", len(begin))
	}
}

// AddDrift adds a row for each drifted column. day is "" for all rows.
func (t *Table) AddDrift(day string, columns []sums.ColumnDrift) {
	t.Head = []string{"day", "column", "distance", "at least", "what"}
	for _, c := range columns {
		t.Add(day, Word(c.Name, 60), fmt.Sprintf("%.3f", c.Distance), fmt.Sprintf("%.3f", c.AtLeast), c.Detail)
	}
}
