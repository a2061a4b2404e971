// Package pagetest checks HTML reports.
package pagetest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// most is the largest size of a report, in bytes.
const most = 500_000

// figure is what a figure of a report has.
type figure struct {
	title, axes, labels string
	drawings, rows      int
}

// axes is how a drawing describes its axes.
var axes = regexp.MustCompile(`(?s)^Horizontal axis: (.+)\. Vertical axis: (.+)\.$`)

func (f figure) check(t *testing.T) {
	t.Helper()
	names := axes.FindStringSubmatch(f.axes)
	if f.title == "" || f.drawings != 1 || f.rows < 2 || names == nil {
		t.Errorf("a figure has %+v", f)
		return
	}
	words := " " + strings.Join(strings.Fields(f.labels), " ") + " "
	for _, name := range append(names[1:], f.title) {
		if name = strings.Join(strings.Fields(name), " "); !strings.Contains(words, " "+name+" ") {
			t.Errorf("%s: the drawing does not say %q: %s", f.title, name, words)
		}
	}
}

// Check tests what holds of every report: it is small, well formed, without scripts and anything from elsewhere, and
// each of its charts has a title, a description that names both axes, these names in the drawing, and a table with
// rows. It returns the text of the page.
func Check(t *testing.T, data []byte) string {
	t.Helper()
	if len(data) > most {
		t.Errorf("the report has %d bytes, at most %d", len(data), most)
	}
	var text strings.Builder
	var open []string
	var of figure
	d := xml.NewDecoder(bytes.NewReader(data))
	d.Strict, d.AutoClose, d.Entity = false, []string{"meta"}, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the report is not well formed: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			name := e.Name.Local
			open = append(open, name)
			if slices.Contains([]string{"script", "link", "img", "iframe", "object", "embed", "base", "form", "use", "image"}, name) {
				t.Errorf("the report has a <%s>", name)
			}
			for _, a := range e.Attr {
				if name := a.Name.Local; strings.HasPrefix(name, "on") || name == "src" || name == "href" &&
					!strings.HasPrefix(a.Value, "#") || strings.Contains(a.Value, "url(") {
					t.Errorf("the report has the attribute %s=%q", name, a.Value)
				}
			}
			switch {
			case name == "figure":
				of = figure{}
			case name == "tr":
				of.rows++
			case name == "svg":
				of.drawings++
			}
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1] != e.Name.Local {
				t.Fatalf("</%s> ends %v", e.Name.Local, open)
			}
			open = open[:len(open)-1]
			if e.Name.Local == "figure" {
				of.check(t)
			}
		case xml.CharData:
			last := len(open) - 1
			switch words := string(bytes.TrimSpace(e)); {
			case last < 0:
			case open[last] == "text":
				of.labels += " " + words
			case open[last] == "title":
				of.title = words
			case open[last] == "desc":
				of.axes = words
			}
			if last >= 0 && open[last] == "style" {
				if bytes.Contains(e, []byte("url(")) || bytes.Contains(e, []byte("@import")) {
					t.Error("the style is from elsewhere")
				}
				continue
			}
			text.Write(e)
			text.WriteByte(' ')
		}
	}
	if len(open) > 0 {
		t.Errorf("%v are not closed", open)
	}
	for _, not := range []string{"<script", "http://www", "https://", "@import"} {
		if bytes.Contains(bytes.ToLower(data), []byte(not)) {
			t.Errorf("the report has %s", not)
		}
	}
	return text.String()
}
