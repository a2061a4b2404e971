package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/bochner-ml/bochner/internal/option"
)

// hostile are texts that are easily misread in YAML.
var hostile = []string{
	"", " ", "a", "a b", "a ", " a", "null", "True", "no", "~", "1", "1.5", "-", "- a", "a: b", "a:b", "a #b", "#b", "&a",
	"*a", "!a", "|", ">", "%",
	"@", "`", "{a}", "[a]", "a,b", "a, b]", `"`, `'`, `\`, "\n", "a\nb", "\r\n", "\t", "\x00", "\u0085", "\u2028",
	"\ufeff", "ü", "日本", "🙂", "?", "? a", "<=50K",
	">50K", "n/a", "2024-01-01", "---", "...", "=", "<<", "0x1f", "1_000", "é\u0301", "\u200b", "a'b", `a"b`, `\n`, ".inf",
	"-1", "+", "y", "off",
}

// described describes records, whose fields are made by functions of the row.
func described(t testing.TB, n int, h Hints, columns ...func(i int) string) *Description {
	t.Helper()
	s := NewSurvey(len(columns), Rules{Missing: DefaultMissing})
	for i := range n {
		for j, c := range columns {
			s.Text(nil, j, []byte(c(i)))
		}
	}
	d, _, err := Infer(s, h)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func cycleFile(texts ...string) func(int) string {
	return func(i int) string { return texts[i%len(texts)] }
}

func reals(i int) string { return fmt.Sprintf("%d.5", i) }

// bare returns a description without summaries.
func bare(d *Description) *Description {
	b := &Description{Rules: d.Rules}
	for _, f := range d.Fields {
		f.Summary = nil
		b.Fields = append(b.Fields, f)
	}
	return b
}

func TestUneditedFileRoundTrips(t *testing.T) {
	columns := []func(int) string{
		reals, cycleFile("a", "b"), reals, cycleFile("yes", "No"), cycleFile("1.2.2024",
			"NA"), func(i int) string { return fmt.Sprint("x", i%2000) },
		cycleFile(hostile...), cycleFile("1", "2", ""), cycleFile("same"),
	}
	var names []string
	for i := range columns {
		names = append(names, hostile[(7*i)%len(hostile)])
	}
	d := described(t, 6000, Hints{Names: names, Roles: map[int]Role{0: ID, 1: Label, 2: Ignore}}, columns...)
	if d.Fields[5].Buckets == 0 || d.Fields[4].Layout == "" || len(d.Fields[6].Levels) < len(hostile)-4 ||
		d.Fields[8].Role != Ignore {
		t.Fatalf("the table is not of all kinds: %v", bare(d))
	}
	d.Thousands = '\''
	d.Fields[2].Type, d.Fields[2].Levels, d.Fields[2].Buckets = "", nil, 0
	text := AppendDescription(nil, d)
	back, err := ReadDescription(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if want := bare(d); !reflect.DeepEqual(back, want) {
		t.Errorf("read %v\nwant %v\nof\n%s", back, want, text)
	}
}

func TestFilesAreYAML(t *testing.T) {
	d := described(t, 300, Hints{Names: []string{"a: b", "#"}}, cycleFile(hostile...), reals)
	var v struct {
		Missing []string
		Columns []struct {
			Name, Role, Type string
			Levels           []string
		}
	}
	if err := yaml.UnmarshalWithOptions(AppendDescription(nil, d), &v, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	levels := slices.Sorted(slices.Values(v.Columns[0].Levels))
	if !slices.Equal(levels, d.Fields[0].Levels) || v.Columns[0].Name != "a: b" || v.Columns[1].Name != "#" ||
		!slices.Equal(v.Missing, d.Missing) {
		t.Errorf("another reader reads %q\nwant %q", levels, d.Fields[0].Levels)
	}
}

func TestEditedFilesAreRead(t *testing.T) {
	d, err := ReadDescription([]byte("\ufeff---\r\n# by hand\r\nmissing:\r\n- '?'\r\n-   \"-\"  # dash\r\n" +
		"thousands: \"\"\r\n\r\ncolumns:\r\n- name: a b\r\n  type: category\r\n  levels: [z, 'it''s', \"\\u00fc\", 1]\r\n" +
		"-\r\n  type: time\r\n  name: t\r\n# almost at the end\r\n- name: c\r\n  type: category\r\n  levels: # few\r\n" +
		"  - y\r\n  # and\r\n\r\n  - x  # 3\r\n  role: feature\r\n- {name: d, role: ignore}\r\ndecimal: ','\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Description{Rules: Rules{Missing: []string{"?", "-"}, Decimal: ','}, Fields: []Field{
		{Column: Column{Name: "a b", Type: Category, Levels: []string{"1", "it's", "z", "ü"}}, Role: Feature},
		{Column: Column{Name: "t", Type: Time}, Role: Feature},
		{Column: Column{Name: "c", Type: Category, Levels: []string{"x", "y"}}, Role: Feature},
		{Column: Column{Name: "d"}, Role: Ignore},
	}}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("read %v, want %v", d, want)
	}
	again, err := ReadDescription([]byte(strings.Repeat("# a comment\n", 9000) + "columns:\n- name: a\n  type: number\n" +
		strings.Repeat("# - name: b\n", 9000) + "- name: c\n  type: number\n"))
	if err != nil || len(again.Fields) != 2 {
		t.Errorf("between many comments: %v, %v", again, err)
	}
	if open := d.open(); !slices.Equal(open, []int{1}) {
		t.Errorf("open columns %v", open)
	}
}

func TestMistakesInFilesNameTheirLine(t *testing.T) {
	column := "columns:\n  - name: a\n    type: number\n"
	levels := column + "  - name: b\n    type: category\n    levels:\n"
	for text, want := range map[string]string{
		"":                                     "line 1: there are no columns",
		"# nothing\n":                          "line 2: there are no columns",
		"colums:\n":                            `[1:1] unknown key "colums" (did you mean columns?)`,
		"a\n":                                  "[1:1] string was used where mapping is expected",
		"\tmissing: []\n":                      "[1:8] tab character",
		"missing: [a\n":                        "[1:10] sequence end token ']' not found",
		"missing: [a b] c\n":                   "[1:16] value is not allowed",
		"missing: [a, 'b]\n":                   "[1:14] could not find end character of single-quoted text",
		"missing: [\"\\q\"]\n":                 "[1:13] found unknown escape character 'q'",
		"missing: [[a]]\n":                     "[1:11] want a text",
		"missing:\n- a\n-\n":                   "[3:3] want a text",
		"missing: a\n":                         "[1:10] want a list such as",
		"missing:\n  - - a\n":                  "[2:5] want a text",
		"missing: []\nmissing: []\n":           `[2:1] mapping key "missing" already defined`,
		"missing: []\n---\nmissing: []\n":      "line 2: a second document",
		column + "decimal: ';'\n":              "line 5: the fraction of a number begins with a point or a comma",
		column + "thousands: '.,'\n":           "line 5: decimal and thousands are one character each",
		"columns: []\n":                        "line 2: there are no columns",
		"columns: [{name: a, type: number}]\n": "line 2: there are no columns",
		"colunms:\n" + strings.Repeat("- name: a\n", 7000): "line 6554: more than 65536 bytes",

		column + "    typ: number\n":        `[4:5] unknown key "typ" (did you mean type?)`,
		column + "    role: lable\n":        `[4:11] unknown role "lable" (did you mean label?)`,
		column + "    role: label\n":        "line 5: no column has the role feature",
		column + "   role: label\n":         "[4:4] value is not allowed",
		column + "    type: number\n":       `[4:5] mapping key "type" already defined`,
		column + "    levels: [x]\n":        `line 2: column "a": a number has no levels`,
		column + "    levels:\n    - x\n":   `line 2: column "a": a number has no levels`,
		column + "    layout: iso\n":        `line 2: column "a": a number has no layout`,
		column + "    buckets: -1\n":        "[4:14] buckets must be 1 to 1048576",
		column + "    buckets: 1.5\n":       "[4:14] buckets must be 1 to 1048576",
		column + "  - type: number\n":       "line 4: want a name",
		column + "  - name: b\n":            `line 4: column "b": has no type`,
		column + "  -\n":                    "line 4: a column without keys",
		column + "  - null\n  - name: b\n":  "line 4: a column without keys",
		column + "  - name: null\n":         "line 4: want a name",
		column + "  - name: b\tc\n":         "line 4: a tab in a text without quotes",
		column + "  - name: b: c\n":         "[4:11] mapping value is not allowed",
		column + "  - name: |\n      b\n":   "[4:11] want a text",
		column + "  - name: *a\n":           `line 4: "*": anchors, aliases and tags cannot be used`,
		column + "  - name: \xff\n":         "line 4: is not valid UTF-8",
		column + "  - name:\n":              "line 4: want a name",
		column + "  - name: b\n    type: x": `[5:11] unknown type "x"; want one of number`,

		column + "  - name: b\n    type: time\n    layout: dmy":      `[6:13] unknown layout of times "dmy"; want one of iso`,
		column + "  - name: b\n    type: time\n    encode: onehot\n": `line 4: column "b": a time is not encoded`,
		levels + "    - x\n    - y\n    - x\n":                       `line 4: column "b": level "x" occurs twice`,
		column + "  - name: b\n    type: category\n    levels:#\n":   "[6:5]",
		levels + "    - x\n    levels:\n    - y\n":                   `[8:5] mapping key "levels" already defined`,
		levels + "    - x\ty\n":                                      "line 7: a tab in a text without quotes",
		levels + "    - x\n    - [y]\n":                              "[8:7] want a text",
		levels + "    - \"x\n":                                       "[7:7] could not find end character",
		levels + "    - x\n    -\n":                                  "[8:7] want a text",
		levels + "    - x\n    rol: label\n":                         `[8:5] unknown key "rol" (did you mean role?)`,
		levels + "    - x\n    buckets: 5\n":                         `line 4: column "b": has both levels and buckets`,
		levels + "    - x\n    levels: [y]\n":                        `[8:5] mapping key "levels" already defined`,

		column + "  - name: \"b\n    levels:\n    - x\"\n    type: number\n":                                "[4:11] could not find end character",
		column + "  - type: number\n    name: \"b\n    levels:\n    - x\n    y\"\n":                         "[5:11] want a text on one line",
		column + "  - name: b\n      c\n":                                                                   "[4:11] want a text on one line",
		column + "  - name: \"b\n    levels:\n    - x\n    y\"\n    type: category\n    levels:\n    - z\n": "[4:11] want a text on one line",
		column + "  - name: b\n    role: weight\n  - name: c\n    role: weight\n":                           "columns 2 and 3 both have the role weight",
	} {
		_, err := ReadDescription([]byte(text))
		var at *option.YAMLError
		if !errors.As(err, &at) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestUnknownRolesAreRejected(t *testing.T) {
	a, b := Field{Column: Column{Name: "a", Type: Number}, Role: Feature}, Field{Role: "lable"}
	if err := (&Description{Fields: []Field{a, b}}).Validate(); err == nil || !strings.Contains(err.Error(),
		`unknown role "lable" (did you mean label?)`) {
		t.Error(err)
	}
}

func TestSimpleScalarsMatchTheLibrary(t *testing.T) {
	simple := 0
	for _, text := range append(hostile, "b # c", `"b" # c`, `"b"c`, `'b'  `, `'b''c'`, `"b\"c"`, "1.50", "0x1F", "nULL", "a-",
		`"b\"c" # d`, `"\u00e9\n\\"`, `"\x41"`, `"\xc3\xa9"`, `"\101"`, `"\/"`, `"\ud83d\ude42"`) {
		for _, text := range []string{text, `"` + text + `"`, "'" + text + "'"} {
			got, ok := simpleScalar(text)
			if !ok || strings.Contains(text, "\n") {
				continue
			}
			simple++
			var want fileTexts
			if err := option.UnmarshalYAML([]byte("- "+text), &want); err != nil || want[0] != got {
				t.Errorf("%q is %q, and for the library %v, %v", text, got, want, err)
			}
		}
	}
	if simple < 50 {
		t.Errorf("only %d of the texts are simple", simple)
	}
}

func TestMemoryOfLargeFilesIsBounded(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("columns:\n- name: a\n  type: category\n  levels:\n")
	for i := range 150_000 {
		fmt.Fprintf(&b, "  - %x\n  - \"a \\\"%d\\\"\"\n", i*7919, i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := ReadDescription(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > uint64(8*b.Len()+64<<20) {
		t.Errorf("%d MB for a file of %d", took>>20, b.Len()>>20)
	}
}

func FuzzReadDescription(f *testing.F) {
	f.Add([]byte("missing: ['?', \"a\\n\"]\ndecimal: ','\nthousands: '.'\ncolumns:\n  - name: a # x\n    type: category\n    levels:\n      - 'x'\n      - y\n  - name: t\n    type: time\n    # layout: iso\n    role: ignore\n"))
	f.Add([]byte("columns:\n-\n  name: b\n  type: category\n  buckets: 16\n- name: \"\"\n  type: number\n  role: label\n- name: \"\\U0001f642\"\n  type: boolean\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := ReadDescription(data)
		if err != nil {
			return
		}
		back, err := ReadDescription(AppendDescription(nil, d))
		if err != nil {
			t.Fatalf("%v\n%s", err, AppendDescription(nil, d))
		}
		want, _ := json.Marshal(d)
		if got, _ := json.Marshal(back); !bytes.Equal(got, want) {
			t.Fatalf("written and read again it is\n%s, not\n%s", got, want)
		}
		if len(d.open()) == 0 && d.Validate() != nil {
			t.Fatalf("is read, but not valid: %v\n%s", d.Validate(), data)
		}
	})
}
