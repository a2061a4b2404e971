// Package page writes reports as single HTML files: without scripts, and without anything from elsewhere. Equal
// pages have equal bytes.
package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// MaxBytes is the largest size of a page.
const MaxBytes = 500_000

// Page is a report.
type Page struct {
	Title    string
	Lead     string // what it is about, in a sentence
	Headline *Headline
	Sections []*Section
}

// Headline is the figure that matters most.
type Headline struct {
	Figure string // with its name
	Range  string // its interval, in words
	About  string // which rows it is of
}

// Section is a part of a page with a heading.
type Section struct {
	Title string
	Parts []Part
}

// Part is one of a paragraph, a table, charts next to each other, and text to copy.
type Part struct {
	Text   string
	Table  *Table
	Charts []Chart
	Code   string
}

// Chart is a picture with a table of the numbers that it shows.
type Chart struct {
	*picture.Chart
	Table *Table
	extra bool // left out where the page would be too large
}

// Title is the title of the chart.
func (c Chart) Title() string { return clip(c.Name, levels[0].cell) }

// SVG draws the chart, as wide as fits on a phone.
func (c Chart) SVG() (template.HTML, error) {
	svg, err := picture.Inline(c.Chart, 9.4)
	return template.HTML(svg), err // its texts are escaped
}

// Table is a table of a page.
type Table struct {
	report.Table
	classes []string // of the columns; set when a page is written
}

// Class is how the cells of a column are set: as numbers, as short words, or as text.
func (t *Table) Class(column int) string { return t.classes[min(column, len(t.classes)-1)] }

// Shade is the background of a cell.
func (t *Table) Shade(row, column int) template.CSS {
	if t.Shades == nil {
		return ""
	}
	return template.CSS(fmt.Sprintf("background:rgba(86,180,233,%.2f)", 0.75*t.Shades[row][column]))
}

// Say adds a paragraph.
func (s *Section) Say(format string, args ...any) {
	s.Parts = append(s.Parts, Part{Text: fmt.Sprintf(format, args...)})
}

// Show adds text to copy.
func (s *Section) Show(text string) { s.Parts = append(s.Parts, Part{Code: text}) }

// List adds a table, unless it is empty.
func (s *Section) List(t report.Table) {
	if len(t.Rows) > 0 {
		s.Parts = append(s.Parts, Part{Table: &Table{Table: t}})
	}
}

// Draw adds a chart next to those just before. Its table has the numbers of the chart unless another is given. A chart
// that cannot be drawn, because its numbers are not finite, is its table.
func (s *Section) Draw(f picture.Figure, t ...report.Table) { s.draw(f, false, t) }

// DrawExtra is Draw for a chart that is left out where the page would be too large.
func (s *Section) DrawExtra(f picture.Figure, t ...report.Table) { s.draw(f, true, t) }

func (s *Section) draw(f picture.Figure, extra bool, t []report.Table) {
	chart, err := f.Plot()
	if err == nil && len(t) == 0 {
		t = []report.Table{{Head: chart.Head, Rows: chart.Rows}}
	}
	if err != nil {
		for _, one := range t {
			s.List(one)
		}
		return
	}
	if last := len(s.Parts) - 1; last < 0 || len(s.Parts[last].Charts) == 0 {
		s.Parts = append(s.Parts, Part{})
	}
	last := &s.Parts[len(s.Parts)-1]
	last.Charts = append(last.Charts, Chart{chart, &Table{Table: t[0]}, extra})
}

// Section adds a section and returns it.
func (p *Page) Section(title string) *Section {
	s := &Section{Title: title}
	p.Sections = append(p.Sections, s)
	return s
}

//go:embed page.html
var source string

var pages = template.Must(template.New("page").Funcs(template.FuncMap{"inc": func(i int) int { return i + 1 }}).Parse(source))

// limits are how much of a page is written: the rows of a table, the characters of a cell and of text to copy, and
// whether extra charts are.
type limits struct {
	rows, cell, code int
	extra            bool
}

var levels = []limits{{200, 300, 4000, true}, {100, 80, 2000, false}, {40, 60, 1000, false}, {12, 40, 400, false}}

// HTML returns the file. Of a page that would be too large, charts that are extra and the last rows of tables are
// left out.
func (p *Page) HTML() ([]byte, error) {
	for _, l := range levels {
		var b bytes.Buffer
		if err := pages.Execute(&b, p.within(l)); err != nil {
			return nil, fmt.Errorf("page: %s: %w", p.Title, err)
		}
		if b.Len() <= MaxBytes {
			return b.Bytes(), nil
		}
	}
	return nil, fmt.Errorf("page: %s: too much to show in %d bytes", p.Title, MaxBytes)
}

// within returns the page with tables and texts of limited length, without empty sections.
func (p *Page) within(l limits) *Page {
	q := *p
	q.Title, q.Lead, q.Sections = clip(p.Title, l.cell), clip(p.Lead, 10*l.cell), nil
	if h := p.Headline; h != nil {
		q.Headline = &Headline{clip(h.Figure, l.cell), clip(h.Range, l.cell), clip(h.About, 10*l.cell)}
	}
	for _, s := range p.Sections {
		t := &Section{Title: clip(s.Title, l.cell)}
		for _, part := range s.Parts {
			charts := part.Charts
			part.Text, part.Code, part.Charts = clip(part.Text, 20*l.cell), clip(part.Code, l.code), nil
			part.Table = part.Table.within(l)
			for _, c := range charts {
				if l.extra || !c.extra {
					part.Charts = append(part.Charts, Chart{c.Chart, c.Table.within(l), c.extra})
				}
			}
			if len(charts) == 0 || len(part.Charts) > 0 {
				t.Parts = append(t.Parts, part)
			}
		}
		if len(t.Parts) > 0 {
			q.Sections = append(q.Sections, t)
		}
	}
	return &q
}

// short is the largest number of characters of a cell that is not broken into lines.
const short = 24

func (t *Table) within(l limits) *Table {
	if t == nil {
		return nil
	}
	u := *t
	u.Caption, u.More = clip(t.Caption, 3*l.cell), clip(t.More, 3*l.cell)
	u.Head, u.Rows, u.classes = cells(t.Head, l.cell), nil, nil
	for _, row := range t.Rows[:min(len(t.Rows), l.rows)] {
		u.Rows = append(u.Rows, cells(row, l.cell))
	}
	for j := range u.Head {
		is, some, class := true, false, "k"
		for _, row := range u.Rows {
			if j < len(row) && row[j] != "" && row[j] != "-" {
				is, some = is && number.MatchString(row[j]), true
				if utf8.RuneCountInString(row[j]) > short {
					class = "t"
				}
			}
		}
		if is && some {
			class = "n"
		}
		u.classes = append(u.classes, class)
	}
	if more := len(t.Rows) - l.rows; more > 0 {
		u.More = strings.TrimPrefix(fmt.Sprintf("%s; %d more rows", u.More, more), "; ")
	}
	return &u
}

// most is the largest number of columns of a table.
const most = 40

func cells(texts []string, length int) []string {
	out := make([]string, min(len(texts), most))
	for i := range out {
		out[i] = clip(texts[i], length)
	}
	return out
}

// clip shortens a text to that many characters, and replaces what is none.
func clip(text string, length int) string {
	if text = picture.Printable(text); utf8.RuneCountInString(text) <= length {
		return text
	}
	return string([]rune(text)[:length]) + "…"
}

var number = regexp.MustCompile(`^([<≤≥±] ?)?[-+−]?\d[\d.,]*(e[-+−]?\d+)?%?( to [-+−]?\d[\d.,]*(e[-+−]?\d+)?%?)?( \*)?$`)
