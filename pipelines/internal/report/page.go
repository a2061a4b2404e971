package report

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

// maxPage is the size in bytes of a page above which HTML leaves out rows and charts.
const maxPage = 500_000

// Page is a report that HTML writes as a single file, without scripts and without references to other files. Its
// Sections are filled with Sayf, Show, List and Draw. Equal pages have equal bytes.
type Page struct {
	Title    string
	Lead     string // subject of the report, in a sentence
	Headline *Headline
	Sections []*Section
}

// Headline is the most important figure.
type Headline struct {
	Figure string // with its name
	Range  string // its interval, as text
	About  string // rows on which it was measured
}

// Section is a part of a page with a heading.
type Section struct {
	Title string
	Parts []Part
}

// Part is a paragraph, a table, a row of charts, or text to copy; one field is set.
type Part struct {
	Text   string
	Table  *Table
	Charts []Chart
	Code   string
}

// Chart is a chart with a table of its numbers.
type Chart struct {
	*picture.Chart
	Table *Table
	extra bool // left out if the page would be too large
}

// SVG draws the chart at a width that fits on a phone.
func (c Chart) SVG() (template.HTML, error) {
	svg, err := picture.Inline(c.Chart, 9.4)
	return template.HTML(svg), err // picture escapes its texts
}

// Sayf adds a paragraph.
func (s *Section) Sayf(format string, args ...any) {
	s.Parts = append(s.Parts, Part{Text: fmt.Sprintf(format, args...)})
}

// Show adds text to copy.
func (s *Section) Show(text string) { s.Parts = append(s.Parts, Part{Code: text}) }

// List adds a table, unless it is empty.
func (s *Section) List(t Table) {
	if len(t.Rows) > 0 {
		s.Parts = append(s.Parts, Part{Table: &t})
	}
}

// Draw adds a chart, next to charts that were added just before. Its table has the numbers of the
// chart unless t is given. If they are not finite, only the table is added.
func (s *Section) Draw(f picture.Figure, t ...Table) { s.draw(f, false, t) }

// DrawExtra is Draw for a chart that is left out if the page would be too large.
func (s *Section) DrawExtra(f picture.Figure, t ...Table) { s.draw(f, true, t) }

func (s *Section) draw(f picture.Figure, extra bool, t []Table) {
	chart, err := f.Plot()
	if err == nil && len(t) == 0 {
		t = []Table{{Head: chart.Head, Rows: chart.Rows}}
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
	last.Charts = append(last.Charts, Chart{chart, &t[0], extra})
}

// Section adds a section and returns it.
func (p *Page) Section(title string) *Section {
	s := &Section{Title: title}
	p.Sections = append(p.Sections, s)
	return s
}

//go:embed page.html
var pageSource string

var pageTemplate = template.Must(template.New("page").Funcs(pageFunctions(pageLimits[0])).Parse(pageSource))

// limits bounds the size of a page: the rows of a table, the characters of a cell and of text to
// copy, and whether extra charts are written.
type limits struct {
	rows, cell, code int
	extra            bool
}

var pageLimits = []limits{{200, 300, 4000, true}, {100, 80, 2000, false}, {40, 60, 1000, false}, {12, 40, 400, false}}

// HTML returns the file. If it would exceed maxPage, extra charts and the last rows of tables are left out.
func (p *Page) HTML() ([]byte, error) {
	for _, l := range pageLimits {
		var b bytes.Buffer
		if err := template.Must(pageTemplate.Clone()).Funcs(pageFunctions(l)).Execute(&b, p); err != nil {
			return nil, fmt.Errorf("page: %s: %w", p.Title, err)
		}
		if b.Len() <= maxPage {
			return b.Bytes(), nil
		}
	}
	return nil, fmt.Errorf("page: %s: too much to show in %d bytes", p.Title, maxPage)
}

// maxCells is the largest number of columns of a table that are written.
const maxCells = 40

// pageFunctions returns the functions of the template, with limits on sizes.
func pageFunctions(l limits) template.FuncMap {
	return template.FuncMap{
		"inc":     func(i int) int { return i + 1 },
		"clip":    func(text string) string { return clipCell(text, l.cell) },
		"text":    func(text string) string { return clipCell(text, 20*l.cell) },
		"code":    func(text string) string { return clipCell(text, l.code) },
		"columns": func(cells []string) []string { return cells[:min(len(cells), maxCells)] },
		"rows":    func(t Table) [][]string { return t.Rows[:min(len(t.Rows), l.rows)] },
		"classes": classes,
		"shade":   shade,
		"more": func(t Table) string {
			if more := len(t.Rows) - l.rows; more > 0 {
				t.More = strings.TrimPrefix(fmt.Sprintf("%s; %d more rows", t.More, more), "; ")
			}
			return clipCell(t.More, 3*l.cell)
		},
		"drawn": func(c Chart) bool { return l.extra || !c.extra },
	}
}

// shortCell is the largest number of characters of a cell that is not broken into lines.
const shortCell = 24

// classes returns the CSS class of the cells of each column: for numbers, short words, or text.
func classes(t Table) (all []string) {
	for j := range t.Head {
		numeric, filled, class := true, false, "k"
		for _, row := range t.Rows {
			if j < len(row) && row[j] != "" && row[j] != "-" {
				numeric, filled = numeric && numeral.MatchString(row[j]), true
				if utf8.RuneCountInString(row[j]) > shortCell {
					class = "t"
				}
			}
		}
		if numeric && filled {
			class = "n"
		}
		all = append(all, class)
	}
	return all
}

const digits = `[-+−]?\d[\d.,]*(e[-+−]?\d+)?%?`

var numeral = regexp.MustCompile(`^([<≤≥±] ?)?` + digits + `( to ` + digits + `)?( \*)?$`)

// shade returns the style with the background of a cell.
func shade(t Table, row, column int) template.CSS {
	if t.Shades == nil {
		return ""
	}
	return template.CSS(fmt.Sprintf("background:rgba(86,180,233,%.2f)", 0.75*t.Shades[row][column]))
}

// clipCell shortens a text to length characters, after it replaces unprintable ones.
func clipCell(text string, length int) string {
	text = picture.Printable(text)
	if utf8.RuneCountInString(text) <= length {
		return text
	}
	return string([]rune(text)[:length]) + "…"
}
