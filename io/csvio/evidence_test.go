package csvio

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/dataset"
)

// under writes a first line and n rows below it.
func under(first string, n int, row func(i int) string) string {
	text := first + "\n"
	for i := range n {
		text += row(i) + "\n"
	}
	return text
}

func TestFirstRecordIsARowIfItsTextsAreValues(t *testing.T) {
	letters := func(i int) string { return fmt.Sprintf("%c,%c,%c", "ep"[i%2], "abc"[i%3], "uvw"[i%3]) }
	for _, c := range []struct {
		name, text, label string
		header            bool
		doubt             string
	}{
		{"texts that occur again", under("e,c,w", 20, letters), "1", false, ""},
		{"names of texts", under("class,shape,color", 20, letters), "1", true, ""},
		{"a missing value", under("?,c,w", 20, letters), "-1", false, ""},
		{"a missing value of another word", under("e,,u", 20, letters), "1", false, ""},
		{"the label alone occurs again", under("p,x1,x2", 20, letters), "1", false, "--header yes"},
		{"one text of three occurs again", under("class,a,color", 20, letters), "1", true, "--header no"},
		{"a text twice", "yes,yes,x\nno,off,y\n", "3", false, "--header yes"},
		{"a numeric label", under("x,v,0.5", 20,
			func(i int) string { return fmt.Sprintf("%c,%c,%g", "xyz"[i%3], "uvw"[i%3], float64(i)/4) }), "-1", false, ""},
		{"a whole label in the range of others", "alpha,17\nbeta,12\ngamma,25\n", "2", false, "--header yes"},
		{"a name of a label that is a number", "city,2024\nBern,1.5\nBasel,2.5\n", "2", true, ""},
		{"dates", "2024-01-05\tred\n2024-01-06\tblue\n", "", false, ""},
		{"months as names", "city,2024-01-01,2024-02-01\nBern,1.5,2\nBasel,2.5,3\n", "", true, ""},
		{"years",
			under("2022,2023,2024", 9, func(i int) string {
				return fmt.Sprintf("%g,%g,%g", .1*float64(i), 1.5,
					-.3*float64(i))
			}), "-1", true, "--header no"},
		{"years after a name", under("city,2022,2023", 9,
			func(i int) string { return fmt.Sprintf("c%d,%d,%d", i, 10*i, 9*i+1) }), "", true, "--header no"},
		{"years as values", under("2021,2022,2023", 9,
			func(i int) string { return fmt.Sprintf("%d,%d,%d", 2000+4*i, 2001+4*i, 2050-3*i) }), "", false, "--header yes"},
		{"whole numbers", under("7,2,5", 9, func(i int) string { return fmt.Sprintf("%d,%d,%d", i, 2*i, 9-i) }), "",
			false, ""},
		{"an unknown word for a missing number", under("e,c,unknown", 20, func(i int) string { return letters(i)[:4] + "1" }),
			"1", false, "--header yes"},
	} {
		l, doubt, err := readLayout(strings.NewReader(c.text), layoutHints{Choice: dataset.Choice{Label: c.label}})
		if err != nil || l.Header != c.header || !strings.Contains(doubt, c.doubt) || (doubt == "") != (c.doubt == "") {
			t.Errorf("%s: header %v, doubt %q, %v", c.name, l.Header, doubt, err)
		}
	}
}

func TestRepeatedHeadersAreNotRows(t *testing.T) {
	l, _, err := readLayout(strings.NewReader("city,\"x y\",\nBern,1,2\n"), layoutHints{})
	if err != nil || !l.Header {
		t.Fatal(err)
	}
	l.TableLayout, err = dataset.Choice{Label: "1"}.Layout(l.Columns)
	if err != nil {
		t.Fatal(err)
	}
	text := "city,\"x y\",\nBern,1,2\ncity,x y,\r\n\xef\xbb\xbfcity,x y,\n\n\"city\", x y ,c3\ncity,1,2\n\xef\xbb\xbfBasel,3,4\ncity,x y\n"
	r := open(strings.NewReader(text), l)
	got, err := read(r)
	var labels []string
	for _, row := range got {
		labels = append(labels, row.Label+row.Bad)
	}
	headers := r.others.Headers
	if want := "Bern|city|Basel|9: has 2 fields, want 3"; err != nil || strings.Join(labels, "|") != want || headers != 3 {
		t.Errorf("%q, %d repeated headers, %v", labels, headers, err)
	}
	l.Header = false
	if got, _ := read(open(strings.NewReader("city,1,2\nc1,c2,c3\n"), l)); len(got) != 2 {
		t.Errorf("%d of 2 records of a file without a header", len(got))
	}
}
