// Package pagetest checks HTML reports.
package pagetest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// most is the largest size of a report, in bytes.
const most = 500_000

// Check tests what holds of every report: it is small, well formed, without scripts and anything from elsewhere, and
// each of its charts has a title, named axes and a table. It returns the text of the page.
func Check(t *testing.T, data []byte) string {
	t.Helper()
	if len(data) > most {
		t.Errorf("the report has %d bytes, at most %d", len(data), most)
	}
	var text strings.Builder
	var open []string
	figures, tables, svgs, labels := 0, 0, 0, 0
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
				figures++
				tables, svgs, labels = 0, 0, 0
			case name == "table":
				tables++
			case name == "svg":
				svgs++
			}
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1] != e.Name.Local {
				t.Fatalf("</%s> ends %v", e.Name.Local, open)
			}
			if open = open[:len(open)-1]; e.Name.Local == "figure" && (tables != 1 || svgs != 1 || labels < 3) {
				t.Errorf("a figure has %d tables, %d drawings and %d labels", tables, svgs, labels)
			}
		case xml.CharData:
			if last := len(open) - 1; last >= 0 && open[last] == "text" && len(bytes.TrimSpace(e)) > 0 {
				labels++
			} else if last >= 0 && open[last] == "style" {
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
