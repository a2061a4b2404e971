package table

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Table is a table for people, printed or in a page. Cells are untrusted texts, which pages escape.
type Table struct {
	Caption string
	Head    []string
	Rows    [][]string
	Marked  int         // number of the chosen row, from 1; 0 for none
	Shades  [][]float64 // background of each cell, from 0 to 1; nil for none
	More    string      // note on rows that are not listed
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Mark marks the last row if chosen is true.
func (t *Table) Mark(chosen bool) {
	if chosen {
		t.Marked = len(t.Rows)
	}
}

// Filled returns the table without columns that are empty in all rows.
func (t Table) Filled() Table {
	pick := func(line []string) (cells []string) {
		for c := range t.Head {
			if slices.ContainsFunc(t.Rows, func(l []string) bool { return c < len(l) && l[c] != "" }) && c < len(line) {
				cells = append(cells, line[c])
			}
		}
		return cells
	}
	u := t
	u.Head, u.Rows = pick(t.Head), nil
	for _, row := range t.Rows {
		u.Rows = append(u.Rows, pick(row))
	}
	return u
}

// Write prints the rows, with columns aligned on the right.
func (t Table) Write(w io.Writer) { t.write(w, tabwriter.AlignRight) }

// WriteLeft prints the rows, with columns aligned on the left.
func (t Table) WriteLeft(w io.Writer) { t.write(w, 0) }

func (t Table) write(w io.Writer, align uint) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', align)
	for i, row := range append([][]string{t.Head}, t.Rows...) {
		line := strings.Join(row, "\t")
		switch {
		case align == 0: // the last column needs no end
		case t.Marked == 0:
			line += "\t"
		case t.Marked == i:
			line = "\t" + line + "\t<- chosen\t"
		default:
			line = "\t" + line + strings.Repeat("\t", len(t.Head)-len(row)) + "\t\t"
		}
		fmt.Fprintln(tw, line)
	}
	tw.Flush()
}

// Facts is a table of items and their values.
type Facts struct{ Table }

// Addf adds an item, unless its value is "".
func (f *Facts) Addf(name, format string, args ...any) {
	if value := fmt.Sprintf(format, args...); value != "" {
		f.Head = []string{"item", "value"}
		f.Rows = append(f.Rows, []string{name, value})
	}
}

// Write prints the items in a column of the given width, followed by their values.
func (f *Facts) Write(w io.Writer, width int) {
	for _, row := range f.Rows {
		value := strings.ReplaceAll(row[1], "\n", "\n"+strings.Repeat(" ", width))
		fmt.Fprintf(w, "%-*s%s\n", width, row[0], value)
	}
}
