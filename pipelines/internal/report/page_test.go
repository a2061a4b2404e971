package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/internal/testing/pagetest"
)

// hostile is a name as data may have it.
const hostile = "</title><script src=http://a.b/c>alert('1')</script>\x00\xff\"&\n<img onerror=x>"

// made returns a page with so many charts, each with a table of so many rows, and text of any origin.
func made(t *testing.T, charts, rows int) *Page {
	t.Helper()
	p := &Page{Title: hostile, Lead: hostile, Headline: &Headline{Figure: hostile, Range: hostile, About: hostile}}
	for i := range charts {
		s := p.Section(fmt.Sprint(hostile, i))
		b := picture.Bars{Title: hostile, X: "share of rows, %", Y: hostile, Names: []string{hostile, "b"},
			Values: []float64{1, 2}, Low: []float64{0.5, 1}, High: []float64{2, 3}}
		table := Table{Caption: hostile, Head: []string{hostile, "n"}}
		for k := range rows {
			table.Add(hostile, fmt.Sprint(k))
		}
		s.Sayf("%s", hostile)
		s.List(table)
		if s.Draw(b); i > 3 {
			s.Parts = nil
			s.DrawExtra(b, table)
		}
		s.Show(strings.Repeat(hostile, 50))
	}
	return p
}

func TestPagesEscapeTextAndAreSelfContained(t *testing.T) {
	data, err := made(t, 2, 3).HTML()
	if err != nil {
		t.Fatal(err)
	}
	pagetest.Check(t, data)
	again, err := made(t, 2, 3).HTML()
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("another page the second time: %v", err)
	}
	if !bytes.Contains(data, []byte("&lt;script src=")) {
		t.Error("the text is not there")
	}
}

func TestPagesHaveALimitedSize(t *testing.T) {
	for _, size := range [][2]int{{1, 100_000}, {60, 500}, {20, 2000}} {
		data, err := made(t, size[0], size[1]).HTML()
		if err != nil {
			t.Fatal(err)
		}
		pagetest.Check(t, data)
		if !bytes.Contains(data, []byte("more rows")) {
			t.Errorf("%v: nothing says that rows were left out", size)
		}
	}
}

func TestNumberColumnsAreRecognised(t *testing.T) {
	got := classes(Table{Head: []string{"a", "b", "c", "d"}, Rows: [][]string{{"1,024", "2026-01-04",
		"−0.5 to 1e-07",
		"8 bits"}, {"-", "3", "", "longer than 24 characters"}}})
	if fmt.Sprint(got) != "[n k n t]" {
		t.Error(got)
	}
}
