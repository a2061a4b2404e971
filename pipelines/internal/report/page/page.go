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

// Chart is a picture with the numbers that it shows.
type Chart struct {
	picture.Drawer
	Title  string
	About  string  // what it shows, for those who do not see it
	Height float64 // in centimetres; 0 for 6.4
	Table  Table
	Extra  bool // left out where the page would be too large
}

// Table is a table. Cells are texts of any origin.
type Table struct {
	Caption string
	Head    []string
	Rows    [][]string
	Marked  int         // row to emphasise, from 1; 0 for none
	Shades  [][]float64 // of each cell from 0 to 1; nil for none
	More    string      // what is not listed
	numeric []bool      // of each column; set when a page is written
}

// Numeric tells whether the cells of a column are aligned as numbers.
func (t *Table) Numeric(column int) bool { return column < len(t.numeric) && t.numeric[column] }

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Add adds a part.
func (s *Section) Add(p Part) { s.Parts = append(s.Parts, p) }

// Say adds a paragraph.
func (s *Section) Say(format string, args ...any) {
	s.Add(Part{Text: fmt.Sprintf(format, args...)})
}

// List adds a table.
func (s *Section) List(t Table) { s.Add(Part{Table: &t}) }

// Draw adds charts next to each other, and to those just before.
func (s *Section) Draw(charts ...Chart) {
	if last := len(s.Parts) - 1; last >= 0 && len(s.Parts[last].Charts) > 0 {
		s.Parts[last].Charts = append(s.Parts[last].Charts, charts...)
	} else if len(charts) > 0 {
		s.Add(Part{Charts: charts})
	}
}

// Section adds a section and returns it.
func (p *Page) Section(title string) *Section {
	s := &Section{Title: title}
	p.Sections = append(p.Sections, s)
	return s
}

//go:embed page.html
var source string

var pages = template.Must(template.New("page").Funcs(template.FuncMap{
	"inline": inline, "shade": shade, "inc": func(i int) int { return i + 1 },
}).Parse(source))

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
			if part.Table != nil {
				part.Table = part.Table.within(l)
			}
			part.Text, part.Code, part.Charts = clip(part.Text, 20*l.cell), clip(part.Code, l.code), nil
			for _, c := range charts {
				if l.extra || !c.Extra {
					c.Title, c.Table = clip(c.Title, l.cell), *c.Table.within(l)
					part.Charts = append(part.Charts, c)
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

func (t *Table) within(l limits) *Table {
	u := *t
	u.Caption, u.More = clip(t.Caption, 3*l.cell), clip(t.More, 3*l.cell)
	u.Head, u.Rows = cells(t.Head, l.cell), nil
	for _, row := range t.Rows[:min(len(t.Rows), l.rows)] {
		u.Rows = append(u.Rows, cells(row, l.cell))
	}
	for j := range u.Head {
		is, some := true, false
		for _, row := range u.Rows {
			if j < len(row) && row[j] != "" && row[j] != "-" {
				is, some = is && number.MatchString(row[j]), true
			}
		}
		u.numeric = append(u.numeric, is && some)
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

// Width is the width of charts in centimetres: they fit next to each other, and on a phone.
const Width = 9.4

func inline(c Chart) (template.HTML, error) {
	height := c.Height
	if height == 0 {
		height = 6.4
	}
	svg, err := picture.Inline(c.Drawer, Width, height, c.Title, c.About)
	return template.HTML(svg), err // its texts are escaped
}

var number = regexp.MustCompile(`^([<≤≥±] ?)?[-+−]?\d[\d.,]*(e[-+−]?\d+)?%?( to [-+−]?\d[\d.,]*(e[-+−]?\d+)?%?)?$`)

// shade is the background of a cell.
func shade(t *Table, row, column int) template.CSS {
	if t.Shades == nil {
		return ""
	}
	return template.CSS(fmt.Sprintf("background:rgba(86,180,233,%.2f)", 0.75*t.Shades[row][column]))
}
