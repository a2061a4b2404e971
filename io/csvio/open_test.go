package csvio

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/io/dataset"
)

func TestReadLayoutFindsSeparatorHeaderAndLabel(t *testing.T) {
	for _, c := range []struct {
		name, text string
		opts       layoutHints
		want       Layout
	}{
		{"label by name", "a, y ,b\n1,cat,2\n", layoutHints{Choice: dataset.Choice{Label: "y"}},
			Layout{Comma: ',', Header: true, TableLayout: dataset.TableLayout{Columns: []string{"a", "y", "b"}, Label: 1,
				Features: []int{0, 2}}}},
		{"name above numbers in the header", "1990,y,1991\n1,cat,2\n", layoutHints{Choice: dataset.Choice{Label: "y"}},
			Layout{Comma: ',', Header: true, TableLayout: dataset.TableLayout{Columns: []string{"1990", "y", "1991"}, Label: 1,
				Features: []int{0, 2}}}},
		{"name that is a number wins over a position", "a,b,1\n5,6,7\n",
			layoutHints{Choice: dataset.Choice{Label: "1"}, Header: Present},
			Layout{Comma: ',', Header: true, TableLayout: dataset.TableLayout{Columns: []string{"a", "b", "1"}, Label: 2,
				Features: []int{0, 1}}}},
		{"position from the end", "5,6,cat\n7,8,dog\n", layoutHints{Choice: dataset.Choice{Label: "-1"}},
			Layout{Comma: ',', TableLayout: dataset.TableLayout{Columns: []string{"c1", "c2", "c3"}, Label: 2,
				Features: []int{0, 1}}}},
		{"position from the beginning, TSV", "cat\t6\n\n dog \t8\n", layoutHints{Choice: dataset.Choice{Label: "1"}},
			Layout{Comma: '\t', TableLayout: dataset.TableLayout{Columns: []string{"c1", "c2"}, Label: 0, Features: []int{1}}}},
		{"no label, no header", "5;6\n7;8\n", layoutHints{},
			Layout{Comma: ';', TableLayout: dataset.TableLayout{Columns: []string{"c1", "c2"}, Label: -1,
				Features: []int{0, 1}}}},
		{"header by text over numbers", "\xef\xbb\xbfa,b,class\n5,6,cat\n7,8,dog\n",
			layoutHints{Choice: dataset.Choice{Label: "-1"}},
			Layout{Comma: ',', Header: true, TableLayout: dataset.TableLayout{Columns: []string{"a", "b", "class"}, Label: 2,
				Features: []int{0, 1}}}},
		{"header without name over the index", ",a,a b\n0,1,2\n", layoutHints{},
			Layout{Comma: ',', Header: true, TableLayout: dataset.TableLayout{Columns: []string{"c1", "a", "a b"}, Label: -1,
				Features: []int{0, 1, 2}}}},
		{"header alone", "a,b", layoutHints{},
			Layout{Comma: ',', Header: true, TableLayout: dataset.TableLayout{Columns: []string{"a", "b"}, Label: -1,
				Features: []int{0, 1}}}},
		{"text label is not a header", "5,6,cat\n7,8,1\n9,9,dog\n", layoutHints{Choice: dataset.Choice{Label: "3"}},
			Layout{Comma: ',', TableLayout: dataset.TableLayout{Columns: []string{"c1", "c2", "c3"}, Label: 2,
				Features: []int{0, 1}}}},
		{"text throughout a column is not a header", "Private,5\nState-gov,6\n", layoutHints{},
			Layout{Comma: ',', TableLayout: dataset.TableLayout{Columns: []string{"c1", "c2"}, Label: -1,
				Features: []int{0, 1}}}},
		{"missing values are not a header", "NA,5,?\n4,6,7\n", layoutHints{},
			Layout{Comma: ',', TableLayout: dataset.TableLayout{Columns: []string{"c1", "c2", "c3"}, Label: -1,
				Features: []int{0, 1, 2}}}},
		{"years, header stated", "1990,1991\n5,6\n", layoutHints{Header: Present},
			Layout{Comma: ',', Header: true, TableLayout: dataset.TableLayout{Columns: []string{"1990", "1991"}, Label: -1,
				Features: []int{0, 1}}}},
		{"text, stated to be a row", "a,b\n5,6\n", layoutHints{Header: Absent},
			Layout{Comma: ',', TableLayout: dataset.TableLayout{Columns: []string{"c1", "c2"}, Label: -1,
				Features: []int{0, 1}}}},
		{"quoted header over two lines", "\"a\n(m)\",\"b;c\"\n5,6\n", layoutHints{},
			Layout{Comma: ',', Header: true, TableLayout: dataset.TableLayout{Columns: []string{"a\n(m)", "b;c"}, Label: -1,
				Features: []int{0, 1}}}},
		{"same names, label elsewhere", "a,a,y\n5,6,7\n", layoutHints{Choice: dataset.Choice{Label: "y"}},
			Layout{Comma: ',', Header: true, TableLayout: dataset.TableLayout{Columns: []string{"a", "a", "y"}, Label: 2,
				Features: []int{0, 1}}}},
		{"own separator", "5|6,1\n", layoutHints{Comma: '|', Choice: dataset.Choice{Label: "2"}},
			Layout{Comma: '|', TableLayout: dataset.TableLayout{Columns: []string{"c1", "c2"}, Label: 1, Features: []int{0}}}},
		{"one column", "5\n6\n", layoutHints{},
			Layout{Comma: ',', TableLayout: dataset.TableLayout{Columns: []string{"c1"}, Label: -1, Features: []int{0}}}},
	} {
		got, _, err := readLayout(iotest.HalfReader(strings.NewReader(c.text)), c.opts)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, diff)
		}
		if err == nil && got.Validate() != nil {
			t.Errorf("%s: %v", c.name, got.Validate())
		}
		data, err := json.Marshal(got)
		var again Layout
		if err != nil || json.Unmarshal(data, &again) != nil || !cmp.Equal(got, again) {
			t.Errorf("%s: JSON %s does not round-trip", c.name, data)
		}
	}
}

func TestReadLayoutErrorsSuggestAFix(t *testing.T) {
	for _, c := range []struct {
		text string
		opts layoutHints
		want string
	}{
		{"age,height\n1,2\n", layoutHints{Choice: dataset.Choice{Label: "hieght"}},
			`no column "hieght" (did you mean "height"?); have age, height`},
		{"age,height\n1,2\n", layoutHints{Choice: dataset.Choice{Label: "AGE"}}, `(did you mean "age"?)`},
		{"age,height\n1,2\n", layoutHints{Choice: dataset.Choice{Label: "income"}},
			`label: no column "income"; have age, height`},
		{"1,2\n", layoutHints{Choice: dataset.Choice{Label: "y"}, Header: Absent},
			`label "y" is a name, but the file has no header; give the position, 1 to 2 or -1 for the last`},
		{"1,2\n", layoutHints{Choice: dataset.Choice{Label: "3"}}, `label "3" is outside the columns 1 to 2`},
		{"1,2\n", layoutHints{Choice: dataset.Choice{Label: "0"}}, `label "0" is outside`},
		{"1,2\n", layoutHints{Choice: dataset.Choice{Label: "-3"}}, `label "-3" is outside`},
		{"1,2\n", layoutHints{Choice: dataset.Choice{Label: "99999999999999999999"}, Header: Absent}, `is outside`},
		{"y,a,y\n1,2,3\n", layoutHints{Choice: dataset.Choice{Label: "y"}},
			`label "y": columns 1 and 3 have that name; give the position`},
		{"y\n1\n", layoutHints{Choice: dataset.Choice{Label: "y"}}, `the label is the only column`},
		{"label,0,1\n7,5,6\n", layoutHints{Choice: dataset.Choice{Label: "1"}},
			`field 1 is text above numbers, but field 3 is a number; set header to yes or no`},
		{"5.1,3.5,1.2.3\n4,5,6\n", layoutHints{}, `cannot tell whether the first line is a header`},
		{"a,\"b\n", layoutHints{}, `1:2: the quote opened in this field is never closed`},
		{"a,b\"\n", layoutHints{}, `field 2 has a quote in an unquoted field`},
		{"gr\xf6\xdfe,b\n1,2\n", layoutHints{},
			`header: column 1: "gr\xf6\xdfe" is not UTF-8 (byte 3 is 0xF6); read Latin-1 and Windows-1252 with --encoding latin1, or convert the file to UTF-8`},
		{"\xff\xfea\x00", layoutHints{}, `iconv -f UTF-16 -t UTF-8`},
		{"PK\x03\x04\x00\n", layoutHints{}, `NUL byte`},
		{"1,2\n", layoutHints{Comma: '"'}, `cannot separate fields`},
		{strings.Repeat(",", 1<<20+1), layoutHints{}, `1048578 fields; the limit is 1048577`},
		{strings.Repeat(",", 1<<20), layoutHints{Header: Absent}, `1048577 feature columns; the limit is 1048576`},
	} {
		_, _, err := readLayout(strings.NewReader(c.text), c.opts)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q, %+v: error is %v, want …%s…", c.text, c.opts, err, c.want)
		}
	}
	for _, text := range []string{"", "\n \r\n", "\xef\xbb\xbf"} {
		if _, _, err := readLayout(strings.NewReader(text), layoutHints{Choice: dataset.Choice{Label: "y"}}); !errors.Is(err,
			errEmpty) {
			t.Errorf("%q: error is %v", text, err)
		}
	}
	broken := errors.New("broken pipe")
	torn := io.MultiReader(strings.NewReader("a,b\n"), iotest.ErrReader(broken))
	if _, _, err := readLayout(torn, layoutHints{}); !errors.Is(err, broken) {
		t.Errorf("failing input: %v", err)
	}
}

func TestSniffChoosesTheSeparatorThatGivesARectangle(t *testing.T) {
	for text, want := range map[string]byte{
		"":                        ',',
		"abc\n":                   ',',
		"a,b\n1,2\n":              ',',
		"a\tb\n1\t2\n":            '\t',
		"a;b\n1,5;2,5\n":          ';', // decimal commas: wrong numbers, but right fields
		"1,5;2;3\n2,5;3;4\n":      ';',
		"x;y,1,2\nz,3,4\n":        ',',
		"\"a;b;c\",1\n\"d;e\",2":  ',',
		"\"a\nb,c\"\t1\n\"d\"\t2": '\t',
		"1 2,3\n4 5,6\n":          ',',
		"1,2,3\n1,2,3\n1,":        ',', // the last record is cut off
		"a,b;c\n1,2;3\n":          ',',
		"x,y;1\nz,w;2\n":          ';', // more numbers
		"1;2,5\n3;4,5\n6;7":       ',', // the last record is cut off
	} {
		if got := Sniff([]byte(text)); got != want {
			t.Errorf("Sniff(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestReadLayoutSeesWideFirstRecord(t *testing.T) {
	text := strings.Repeat("0.123456789;", 100_000) + "cat\n" + strings.Repeat("1;", 100_000) + "dog\n"
	l, _, err := readLayout(strings.NewReader(text), layoutHints{Choice: dataset.Choice{Label: "-1"}})
	if err != nil || len(l.Features) != 100_000 || l.Comma != ';' || l.Header || l.Label != 100_000 {
		t.Errorf("%d features by %q, header %v, label %d, %v", len(l.Features), l.Comma, l.Header, l.Label, err)
	}
}
