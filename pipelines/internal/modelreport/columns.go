package modelreport

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Limits of the part about columns.
const (
	maxListed   = 100 // in the table
	maxDrawn    = 12  // columns with charts
	maxBars     = 8   // levels in a chart, besides the others
	maxClasses  = 20  // classes in a chart
	maxSetAside = 20  // rows that were set aside
	maxLevels   = 50  // levels in the table of a chart
)

// columnFacts describes a column. Its Summary is nil if the profile does not describe its values.
type columnFacts struct {
	schema.Field
	missing, others int64     // numbers of rows without a value, and with a text that is not a level
	edges           []float64 // minimum, nine deciles and maximum; nil if unknown
}

// columns describes the columns of the rows.
func (m *Model) columns() (all []columnFacts) {
	if t := m.schema.Table; t != nil {
		slot := 0
		for i := range t.Columns {
			all = append(all, m.column(t.Columns[i], slot))
			slot += t.Columns[i].Width()
		}
		return all
	}
	for j := range m.Input.Dim {
		c := schema.Column{Name: fmt.Sprint("column ", j+1), Type: schema.Number}
		if j < len(m.Input.Columns) {
			c.Name = m.Input.Columns[j]
		}
		all = append(all, m.column(c, j))
	}
	return all
}

// column describes a column by the statistics of the value at slot of a row.
func (m *Model) column(described schema.Column, slot int) columnFacts {
	c := columnFacts{Field: schema.Field{Column: described, Role: schema.Feature}}
	rows := m.profile.Rows
	if rows == nil || slot >= len(rows.Columns) {
		return c
	}
	centre := 0.0
	if slot < len(m.schema.Centre) {
		centre = m.schema.Centre[slot]
	}
	stats := &rows.Columns[slot]
	c.missing = stats.Missing
	switch {
	case described.Type == schema.Number:
		c.Summary = &schema.Summary{TextCounts: schema.TextCounts{Texts: 1, Numbers: 1}}
		c.Summary.Min, c.Summary.Max = float64(stats.Min)+centre, float64(stats.Max)+centre
		c.Summary.Median = math.NaN()
		if slot < len(rows.Deciles) && len(rows.Deciles[slot]) == 9 {
			for _, v := range slices.Concat([]float32{stats.Min}, rows.Deciles[slot], []float32{stats.Max}) {
				c.edges = append(c.edges, float64(v)+centre)
			}
			c.Summary.Median = c.edges[5]
		}
	case len(described.Levels) > 0 && slot < len(rows.Levels) && len(rows.Levels[slot]) >= len(described.Levels):
		c.Summary = &schema.Summary{TextCounts: schema.TextCounts{Texts: 1}}
		c.Summary.Levels, c.others = levelsOf(described.Levels, rows.Levels[slot])
	}
	return c
}

// levelsOf returns levels with their counts, the most frequent first, and the number of other values.
func levelsOf(texts []string, counts []int64) (all []schema.Level, others int64) {
	for i, n := range counts {
		if i < len(texts) {
			all = append(all, schema.Level{Text: texts[i], Rows: n})
		} else {
			others += n
		}
	}
	slices.SortStableFunc(all, func(a, b schema.Level) int { return cmp.Compare(b.Rows, a.Rows) })
	return all, others
}

// addColumns describes the columns, the classes, and the rows that were set aside.
func (m *Model) addColumns(p *report.Page) {
	s := p.Section("Columns and rows")
	all := m.columns()
	t := report.Table{Caption: "Columns of the training rows",
		Head: []string{"column", "type", "missing, %", "values", "notes"}}
	for _, c := range all[:min(len(all), maxListed)] {
		missing := "0"
		if c.missing > 0 {
			missing = report.TwoDigits(100 * float64(c.missing) / float64(max(1, m.Rows.Used)))
		}
		t.Add(report.Word(c.Name, 60), string(c.Type), missing, report.Values(&c.Field), c.notes(m.Rows.Used))
	}
	if more := len(all) - maxListed; more > 0 {
		t.More = report.Groups(int64(more)) + " more columns"
	}
	s.List(t)
	if m.Vocabulary != nil && len(m.Profile.ClassCounts) == len(m.Vocabulary.Classes) {
		levels, _ := levelsOf(m.Vocabulary.Classes, m.Profile.ClassCounts)
		b, t := bars("Classes", levels, m.Rows.Used, maxClasses)
		s.Draw(b, t)
	}
	if named := m.schema.Table != nil || len(m.Input.Columns) > 0; named || len(all) <= maxDrawn {
		m.drawColumns(s, all)
	}
	m.addSetAside(s)
}

// notes returns notes on what may be wrong with a column.
func (c *columnFacts) notes(rows int64) string {
	var odd []string
	if 2*c.missing > rows {
		odd = append(odd, "mostly missing")
	}
	if len(c.Levels) == 1 {
		odd = append(odd, "one level")
	}
	if c.others > 0 {
		odd = append(odd, report.Counted64(c.others, "row")+" with other texts")
	}
	if s := c.Summary; s != nil && c.Type == schema.Number && s.Min == s.Max {
		odd = append(odd, "constant")
	} else if v, share := c.pile(); share > 0 {
		odd = append(odd, fmt.Sprintf("about %d%% of the rows have %s", share, picture.Number(v, 6)))
	}
	return strings.Join(odd, "; ")
}

// pile returns a value that at least 30% of the rows have, with the percentage; 0 if there is none.
func (c *columnFacts) pile() (value float64, percent int) {
	for i := 1; i < len(c.edges)-1; {
		n := i
		for n < len(c.edges)-1 && c.edges[n] == c.edges[i] {
			n++
		}
		if p := 10 * (n - i); p >= 30 && p > percent {
			value, percent = c.edges[i], p
		}
		i = n
	}
	return value, percent
}

// drawColumns draws the first columns, in the order in which a metric stretches distances along them.
func (m *Model) drawColumns(s *report.Section, all []columnFacts) {
	if m.Stretch != nil {
		rank := map[string]int{}
		for i, share := range m.Stretch.Columns {
			rank[share.Name] = i - len(m.Stretch.Columns)
		}
		all = slices.Clone(all)
		slices.SortStableFunc(all, func(x, y columnFacts) int { return rank[x.Name] - rank[y.Name] })
	}
	drawn := 0
	for i := range all {
		c := &all[i]
		h, t := c.histogram()
		switch {
		case drawn == maxDrawn:
			return
		case len(c.Levels) > 1 && c.Summary != nil:
			b, t := bars(c.Name, c.Summary.Levels, m.Rows.Used, maxBars)
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
func bars(name string, levels []schema.Level, rows int64, limit int) (picture.Bars, report.Table) {
	b := picture.Bars{Title: report.Word(name, 40), X: "share of rows, %", Y: "value"}
	t := report.Table{Head: []string{"value", "rows", "share, %"}}
	others := 0.0
	for k, level := range levels {
		share := 100 * float64(level.Rows) / float64(max(1, rows))
		if k < maxLevels {
			t.Add(report.Word(level.Text, 60), report.Groups(level.Rows), report.TwoDigits(share))
		}
		if k < limit {
			b.Add(report.Word(level.Text, 20), share)
		} else {
			others += share
		}
	}
	if more := len(levels) - limit; more > 0 {
		b.Add(report.Groups(int64(more))+" others", others)
	}
	if more := len(levels) - maxLevels; more > 0 {
		t.More = report.Groups(int64(more)) + " more values"
	}
	return b, t
}

// histogram draws the density between deciles. It leaves out values that many rows have, which the table of
// columns notes.
func (c *columnFacts) histogram() (h picture.Histogram, t report.Table) {
	name := report.Word(c.Name, 40)
	h = picture.Histogram{Title: name, X: "value of " + name, Y: "share of rows per unit, %"}
	t = report.Table{Caption: "Deciles in a sample of the rows", Head: []string{"share of rows up to, %", "value"}}
	for i, v := range c.edges {
		t.Add(fmt.Sprint(10*i), picture.Number(v, 6))
		if last := len(h.Edges) - 1; last < 0 {
			h.Edges = append(h.Edges, v)
		} else if v > h.Edges[last] {
			h.Edges, h.Heights = append(h.Edges, v), append(h.Heights, 10/(v-h.Edges[last]))
		}
	}
	return h, t
}

// addSetAside lists the first rows that were set aside.
func (m *Model) addSetAside(s *report.Section) {
	t := report.Table{Caption: "Rows that were set aside", Head: []string{"file", "line", "why"}}
	for line := range bytes.Lines(m.files[results.SetAsideFile]) {
		var row dataset.SetAside
		if len(t.Rows) == maxSetAside || json.Unmarshal(line, &row) != nil {
			break
		}
		t.Add(path.Base(row.File), fmt.Sprint(row.Line), row.Reason)
	}
	if more := m.Rows.SetAside - int64(len(t.Rows)); more > 0 && len(t.Rows) > 0 {
		t.More = report.Groups(more) + " more rows"
	}
	s.List(t)
}
