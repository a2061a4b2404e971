package about

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/report/page"
)

// Limits of what is shown of columns.
const (
	mostListed = 100 // in the table
	mostDrawn  = 12  // columns with charts
	mostBars   = 8   // levels in a chart, besides the others
	mostClass  = 20  // classes in a chart
	mostAside  = 20  // rows that were set aside
	mostLevels = 50  // levels in the table of a chart
)

// columnFacts is what a report says of a column.
type columnFacts struct {
	name, kind string
	levels     []string
	counts     []int64 // of levels, and last of other texts
	centre     float64 // that was subtracted from the values
	stats      *profile.Column
	deciles    []float32
	layout     string // of times
}

// columns describes the columns of the rows.
func (a *Model) columns() (all []columnFacts) {
	rows := a.profile.Rows
	if rows == nil {
		rows = &profile.Statistics{}
	}
	at := func(c *columnFacts, slot int) {
		if slot < len(rows.Columns) {
			c.stats = &rows.Columns[slot]
		}
		if slot < len(rows.Deciles) {
			c.deciles = rows.Deciles[slot]
		}
		if slot < len(rows.Levels) {
			c.counts = rows.Levels[slot]
		}
		if slot < len(a.schema.Centre) {
			c.centre = a.schema.Centre[slot]
		}
	}
	if t := a.schema.Table; t != nil {
		slot := 0
		for i := range t.Columns {
			col := &t.Columns[i]
			c := columnFacts{name: col.Name, kind: string(col.Type), levels: col.Levels, layout: col.Layout}
			if at(&c, slot); col.Type == schema.Category && col.Buckets > 0 {
				c.kind += fmt.Sprintf(" (%d buckets)", col.Buckets)
			}
			all, slot = append(all, c), slot+col.Width()
		}
		return all
	}
	for j := range a.Input.Dim {
		c := columnFacts{name: fmt.Sprint("column ", j+1), kind: "number"}
		if j < len(a.Input.Columns) {
			c.name = a.Input.Columns[j]
		}
		at(&c, j)
		all = append(all, c)
	}
	return all
}

// addColumns describes the columns, the classes, and the rows that were not used.
func (a *Model) addColumns(p *page.Page) {
	s := p.Section("Columns and rows")
	all := a.columns()
	t := report.Table{Caption: "Columns of the training rows",
		Head: []string{"column", "type", "missing, %", "values", "notes"}}
	for _, c := range all[:min(len(all), mostListed)] {
		values, notes := c.words(a.Rows.Used)
		t.Add(report.Word(c.name, 60), c.kind, c.missing(a.Rows.Used), values, notes)
	}
	if more := len(all) - mostListed; more > 0 {
		t.More = report.Groups(int64(more)) + " more columns"
	}
	s.List(t)
	if a.Vocabulary != nil && len(a.Profile.ClassCounts) == len(a.Vocabulary.Classes) {
		c := columnFacts{name: "Classes", levels: a.Vocabulary.Classes, counts: a.Profile.ClassCounts}
		b, t := c.bars(a.Rows.Used, mostClass)
		s.Draw(b, t)
	}
	if named := a.schema.Table != nil || len(a.Input.Columns) > 0; named || len(all) <= mostDrawn {
		a.drawColumns(s, all)
	}
	a.addSetAside(s)
}

// missing is the share of rows without a value.
func (c *columnFacts) missing(rows int64) string {
	if c.stats == nil || c.stats.Missing == 0 || rows == 0 {
		return "0"
	}
	return twoDigits(100 * float64(c.stats.Missing) / float64(rows))
}

// words describes values, and what to look at.
func (c *columnFacts) words(rows int64) (values, notes string) {
	var odd []string
	if c.stats != nil && 2*c.stats.Missing > rows {
		odd = append(odd, "mostly missing")
	}
	switch {
	case len(c.levels) > 0:
		values = report.Counted(len(c.levels), "level")
		var some []string
		for _, i := range c.byCount() {
			if len(some) == 3 {
				some = append(some, "…")
				break
			}
			some = append(some, report.Word(c.levels[i], 30))
		}
		if values += ": " + strings.Join(some, ", "); len(c.levels) == 1 {
			odd = append(odd, "one level")
		}
		if n := len(c.levels); len(c.counts) > n && c.counts[n] > 0 {
			odd = append(odd, fmt.Sprintf("%s with other texts", report.Counted64(c.counts[n], "row")))
		}
	case c.layout != "":
		values = c.layout
	case c.stats != nil && strings.HasPrefix(c.kind, "number"):
		low, high := float64(c.stats.Min)+c.centre, float64(c.stats.Max)+c.centre
		values = picture.Range(low, high, 6)
		if len(c.deciles) == 9 {
			values += ", median " + picture.Number(float64(c.deciles[4])+c.centre, 6)
		}
		if low == high {
			odd = append(odd, "constant")
		}
	}
	if v, share := c.pile(); share > 0 && !slices.Contains(odd, "constant") {
		odd = append(odd, fmt.Sprintf("about %d%% of the rows have %s", share, picture.Number(v, 6)))
	}
	return values, strings.Join(odd, "; ")
}

// pile returns a value that so many percent of the rows have, if they are at least 30%; 0 if there is none.
func (c *columnFacts) pile() (value float64, percent int) {
	for i := 0; i < len(c.deciles); {
		n := i
		for n < len(c.deciles) && c.deciles[n] == c.deciles[i] {
			n++
		}
		if p := 10 * (n - i); p >= 30 && p > percent && strings.HasPrefix(c.kind, "number") {
			value, percent = float64(c.deciles[i])+c.centre, p
		}
		i = n
	}
	return value, percent
}

// byCount returns the levels, the most frequent first.
func (c *columnFacts) byCount() []int {
	at := make([]int, len(c.levels))
	for i := range at {
		at[i] = i
	}
	if len(c.counts) >= len(c.levels) {
		slices.SortStableFunc(at, func(i, j int) int { return int(min(1, max(-1, c.counts[j]-c.counts[i]))) })
	}
	return at
}

// drawColumns draws the first columns, those first along which a metric stretches distances most.
func (a *Model) drawColumns(s *page.Section, all []columnFacts) {
	if a.Stretch != nil {
		rank := map[string]int{}
		for i, share := range a.Stretch.Columns {
			rank[share.Name] = i - len(a.Stretch.Columns)
		}
		all = slices.Clone(all)
		slices.SortStableFunc(all, func(x, y columnFacts) int { return rank[x.name] - rank[y.name] })
	}
	drawn := 0
	for i := range all {
		c := &all[i]
		h, t := c.histogram()
		switch {
		case drawn == mostDrawn:
			return
		case len(c.levels) > 1 && len(c.counts) >= len(c.levels) && a.Rows.Used > 0:
			b, t := c.bars(a.Rows.Used, mostBars)
			s.DrawExtra(b, t)
		case len(h.Heights) > 2:
			s.DrawExtra(h, t)
		default:
			continue
		}
		drawn++
	}
}

// bars draws the shares of the most frequent levels.
func (c *columnFacts) bars(rows int64, most int) (picture.Bars, report.Table) {
	b := picture.Bars{Title: report.Word(c.name, 40), X: "share of rows, %", Y: "value"}
	t := report.Table{Head: []string{"value", "rows", "share, %"}}
	var others, more int64
	for k, i := range c.byCount() {
		share := 100 * float64(c.counts[i]) / float64(max(1, rows))
		if k < mostLevels {
			t.Add(report.Word(c.levels[i], 60), report.Groups(c.counts[i]), twoDigits(share))
		}
		if k < most {
			b.Add(report.Word(c.levels[i], 20), share)
		} else {
			others, more = others+c.counts[i], more+1
		}
	}
	if more > 0 {
		b.Add(report.Groups(more)+" others", 100*float64(others)/float64(max(1, rows)))
	}
	if n := len(c.levels) - mostLevels; n > 0 {
		t.More = report.Groups(int64(n)) + " more values"
	}
	return b, t
}

// histogram draws the density between deciles. Values that many rows have are no part of it: the table of columns
// notes them.
func (c *columnFacts) histogram() (h picture.Histogram, t report.Table) {
	if len(c.deciles) != 9 || c.stats == nil || c.layout != "" {
		return h, t
	}
	name := report.Word(c.name, 40)
	h = picture.Histogram{Title: name, X: "value of " + name, Y: "share of rows per unit, %"}
	t = report.Table{Caption: "Deciles in a sample of the rows", Head: []string{"share of rows up to, %", "value"}}
	edges := append(append([]float32{c.stats.Min}, c.deciles...), c.stats.Max)
	h.Edges = []float64{float64(edges[0]) + c.centre}
	for i, e := range edges {
		v := float64(e) + c.centre
		t.Add(fmt.Sprint(10*i), picture.Number(v, 6))
		if last := h.Edges[len(h.Edges)-1]; v > last {
			h.Edges, h.Heights = append(h.Edges, v), append(h.Heights, 10/(v-last))
		}
	}
	return h, t
}

// addSetAside lists the first rows that were not used.
func (a *Model) addSetAside(s *page.Section) {
	t := report.Table{Caption: "Rows that were set aside", Head: []string{"file", "line", "why"}}
	for line := range bytes.Lines(a.files[job.SetAsideFile]) {
		var row dataset.SetAside
		if len(t.Rows) == mostAside || json.Unmarshal(line, &row) != nil {
			break
		}
		t.Add(path.Base(row.File), fmt.Sprint(row.Line), row.Reason)
	}
	if more := a.Rows.SetAside - int64(len(t.Rows)); more > 0 && len(t.Rows) > 0 {
		t.More = report.Groups(more) + " more rows"
	}
	s.List(t)
}
