package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/models/stretch"
)

// Largest numbers of columns.
const (
	maxPrinted = 10 // that are printed
	MaxBars    = 30 // that are drawn
)

// WriteStretch prints how much a learned metric stretches distances along the first columns and
// directions. It prints nothing for nil.
func WriteStretch(w io.Writer, s *stretch.Distances) {
	if s == nil {
		return
	}
	fmt.Fprintf(w, "metric    stretches squared distances along %s\n", ListFirst(len(s.Columns), func(k int) string {
		return Word(s.Columns[k].Name, 40) + " " + Percent(s.Columns[k].Share)
	}))
	for _, d := range s.Directions {
		var terms []string
		for _, p := range d.Loadings {
			sign := " + "
			if p.Weight < 0 {
				sign = " − "
			}
			if len(terms) == 0 {
				sign = strings.TrimPrefix(strings.TrimSpace(sign), "+")
			}
			terms = append(terms, fmt.Sprintf("%s%.2f %s", sign, math.Abs(p.Weight), Word(p.Name, 40)))
		}
		fmt.Fprintf(w, "          and along %s of its trace: %s\n", Percent(d.Share), strings.Join(terms, ""))
	}
	fmt.Fprintln(w, "          (importance is another matter: bochner inspect --model DIR --data FILES measures "+
		"effects on predictions)")
}

// ListFirst lists the texts of the first of n columns.
func ListFirst(n int, text func(k int) string) string {
	var list []string
	for k := range min(n, maxPrinted) {
		list = append(list, text(k))
	}
	if n > maxPrinted {
		list = append(list, fmt.Sprintf("and %d more", n-maxPrinted))
	}
	return strings.Join(list, ", ")
}

// Percent formats a share in percent.
func Percent(share float64) string {
	if share < 0.001 {
		return "< 0.1%"
	}
	return fmt.Sprintf("%.1f%%", 100*share)
}

// StretchPicture returns a chart of the columns along which a metric stretches distances most.
func StretchPicture(d *stretch.Distances) picture.Bars {
	b := picture.Bars{Title: "How far the metric stretches distances", X: "share of squared distances, %", Y: "column"}
	for _, s := range d.Columns[:min(len(d.Columns), MaxBars)] {
		b.Add(Word(s.Name, 40), 100*s.Share)
	}
	return b
}

// shownDrift is the number of columns that are printed.
const shownDrift = 5

// Drift prints the columns that have drifted, the largest drift first, and nothing if r is nil. The
// first line begins with begin, and the others are indented by its length.
func Drift(w io.Writer, r *drift.Report, begin string) {
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

// AddDrift adds a row to t for each drifted column. day is "" for all rows.
func AddDrift(t *Table, day string, columns []drift.Column) {
	t.Head = []string{"day", "column", "distance", "at least", "what"}
	for _, c := range columns {
		t.Add(day, Word(c.Name, 60), fmt.Sprintf("%.3f", c.Distance), fmt.Sprintf("%.3f", c.AtLeast), c.Detail)
	}
}

// ColumnsText describes the drift of columns.
func ColumnsText(columns []drift.Column) string {
	var words []string
	for _, c := range columns {
		words = append(words, fmt.Sprintf("%s: %s (at least %.2g)", c.Name, c.Detail, c.AtLeast))
	}
	return strings.Join(words, "; ")
}
