package main

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// motley returns n records of a table with every kind of column, quoted as CSV.
func motley(n int) (header string, records []string) {
	header = "\ufeffid,Größe (cm),Größe (cm),\"two\nlines\",flag,when,zip,empty,same,mixed,city,once,price,stamp,w,y"
	for i := range n {
		k := i
		height := fmt.Sprintf("%.1f", 150+float64(k%50))
		if k%17 == 0 {
			height = []string{"NA", "", " ? ", "null"}[k%4]
		}
		text := fmt.Sprintf("\"a, b\nc \"\"%d\"\"\"", k%5)
		city := []string{"Zürich", "東京", "🙂", "NaN", "\"São Paulo\"", "e\u0301"}[k%6]
		label := "no"
		if (k%50 > 25) != (k%6 == 1) {
			label = "yes"
		}
		records = append(records, strings.Join([]string{
			fmt.Sprintf("user-%d", i), height, fmt.Sprint(k % 97), text, []string{"yes", "No", ""}[k%3],
			fmt.Sprintf("%d.%d.2024", 1+k%28, 1+k%12), fmt.Sprintf("%05d", k%90), []string{"", "NULL"}[k%2], "k",
			[]string{"1", "2", "n1"}[k%3], city, []string{"once", ""}[k%2], fmt.Sprintf("\"%d,5\"",
				k%13), fmt.Sprint(1_700_000_000 + k), []string{"0", "1", "2.5"}[k%3], label,
		}, ","))
	}
	return header, records
}

func TestTableWithEveryKindOfColumnNeedsNoFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	header, records := motley(600)
	write(t, dir, "motley.csv", header+"\r\n"+strings.Join(records, "\r\n")+"\r\n\r\n")
	r := run(t, dir, trainOn("motley.csv", "--label", "y", "--weight_column", "w")...)
	if r.code != 0 {
		t.Fatal(r.stderr)
	}
	for _, note := range []string{
		"id (600 in 600 rows): nearly as many different texts as rows; not used; --categorical",
		"empty: no values; not used",
		"same: the same value in all rows; not used",
		"zip (600 of 600): numbers with leading zeros",
		"mixed (400 of 600 are numbers; others are such as \"n1\"): numbers and other texts, read as a category; --numeric",
		"when (layout d.m.y): dates as text",
		`price (such as "0,5"): numbers with a decimal comma, not read as numbers; --decimal`,
	} {
		if !strings.Contains(r.stdout, note) {
			t.Errorf("no note %q in\n%s", note, r.stdout)
		}
	}
	said := must(t, dir, "inspect", "--data", "motley.csv", "--label", "y", "--weight_column", "w", "--quiet")
	for _, line := range []string{
		`id           ignore   category  -`,
		`Größe (cm)   feature  number    36 (empty 9, ? 9, na 9, null 9)  150 to 199, median`,
		`Größe (cm)   feature  number    -                             0 to 96, median`,
		`"two\nlines"  feature`, `5 levels: "a, b\nc \"0\"" (`,
		`flag         feature  boolean   200                              2 different: No (200), yes (200)`,
		`when         feature  time`, `d.m.y, 1.1.2024 to 28.12.2024`,
		`city         feature  category  100 (nan)`, `Zürich (100)`,
		`once         feature  category  300`, `1 level: once (300)`,
		`y            label    boolean`, `w            weight   number`,
		`stamp        feature  number    -                                1700000000 to 1700000599, median 1700000299`,
	} {
		squeezed := strings.Join(strings.Fields(said), " ")
		if !strings.Contains(squeezed, strings.Join(strings.Fields(line), " ")) {
			t.Errorf("inspect does not print %q in\n%s", line, said)
		}
	}
	// New rows may have levels and missing values that training did not see.
	write(t, dir, "new.csv", strings.TrimPrefix(header, "\ufeff")+"\nu,,,new,?,1.1.1999,1,1,1,3,Oslo,twice,1,,1,\n"+
		records[0]+"\n")
	must(t, dir, "predict", "--model", "model", "--data", "new.csv", "--out", "out")
	if lines := strings.Count(read(t, dir, "out", "part-00000.csv"), "\n"); lines != 3 {
		t.Errorf("%d lines of predictions, want a header and 2 rows, one of which has weight 0", lines)
	}
}

func TestModelsOfTypedTablesDependOnTheRowsOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	header, records := motley(3000)
	header = strings.TrimPrefix(header, "\ufeff")
	write(t, dir, "one.csv", header+"\n"+strings.Join(records, "\n")+"\n")
	slices.Reverse(records)
	for i, part := range [][]string{records[:700], records[700:]} {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("part-%d.csv.gz", i)))
		if err != nil {
			t.Fatal(err)
		}
		z := gzip.NewWriter(f)
		fmt.Fprintf(z, "%s\n%s\n", header, strings.Join(part, "\n"))
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	must(t, dir, "train", "--data", "one.csv", "--label", "y", "--model", "one", "--features", "64", "--quiet")
	must(t, dir, "train", "--data", "part-*", "--label", "y", "--model", "parts", "--features", "64", "--threads", "3",
		"--quiet")
	// The types of a file are those that were found, and so is the model.
	must(t, dir, "inspect", "--data", "one.csv", "--label", "y", "--write_schema", "schema.yaml", "--quiet")
	must(t, dir, "train", "--data", "part-*", "--schema", "schema.yaml", "--model", "schema", "--features", "64",
		"--quiet")
	want := read(t, dir, "one", "weights.safetensors")
	for _, other := range []string{"parts", "schema"} {
		if read(t, dir, other, "weights.safetensors") != want {
			t.Errorf("%s: the model has other weights", other)
		}
	}
}

func TestColumnsOfVeryManyTextsAreHashed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("code,x,y\n")
	for i := range 250_000 {
		fmt.Fprintf(&b, "k%d,%d.5,%d\n", i*7919%100_003, i%1000, i%2)
	}
	write(t, dir, "many.csv", b.String())
	said := must(t, dir, "inspect", "--data", "many.csv", "--label", "y", "--quiet")
	if want := "100,003 texts in 65,536 buckets, such as k"; !strings.Contains(said, want) {
		t.Errorf("no %q in\n%s", want, said)
	}
	if want := "100003 different texts, 65536 buckets): too many different texts for levels; they share buckets by hash; --max_levels"; !strings.Contains(said, want) {
		t.Errorf("no %q in\n%s", want, said)
	}
}

func TestEditedSchemaFilesChangeTypes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "t.csv", "a,b,c,y\n"+strings.Repeat("1,x,2,0\n2,y,1,1\n3,x,5,1\n1,z,4,0\n", 20))
	must(t, dir, "inspect", "--data", "t.csv", "--label", "y", "--write_schema", "s.yaml", "--quiet")
	text := read(t, dir, "s.yaml")
	text = strings.Replace(text, "name: a\n    role: feature\n    type: number",
		"name: a\n    role: feature\n    type: category", 1)
	text = strings.Replace(text, "      - z", "#      - z", 1)
	text = strings.Replace(text, "name: c\n    role: feature", "name: c\n    role: ignore", 1)
	write(t, dir, "s.yaml", text)
	said := must(t, dir, "inspect", "--data", "t.csv", "--schema", "s.yaml", "--quiet")
	for _, want := range []string{"a feature category - 3 levels: 1 (40), 2 (20), 3 (20)",
		"b feature category - 2 levels: x (40), y (20); other texts 20", "y label"} {
		if !strings.Contains(strings.Join(strings.Fields(said), " "), want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	must(t, dir, trainOn("t.csv", "--schema", "s.yaml")...)
	if said := must(t, dir, "inspect", "--model", "model"); !strings.Contains(said, "2 categories of 5 levels") ||
		!strings.Contains(said, "3 levels: 1, 2, 3") {
		t.Errorf("the model has other types:\n%s", said)
	}
}

func TestMistakesAboutColumnsAreNamed(t *testing.T) {
	rows := quadrants(60)
	table := replaced(rows, nil)
	file := "columns:\n  - name: x1\n    type: number\n  - name: x2\n    type: number\n  - name: y\n    role: label\n"
	for name, c := range map[string]struct {
		content string // of data.csv
		schema  string // of s.yaml; "" for none
		code    int
		want    []string
		args    []string
	}{
		"a column of text as numbers": {replaced(rows, map[int]string{7: "0.5,abc,a"}), "", 3,
			[]string{`data.csv:7:2: column "x2": "abc" is not a number`}, []string{"--label", "y", "--numeric", "x2"}},
		"a faulty date": {"d,x,y\n" + strings.Repeat("1.2.2024,1,a\n3.4.2024,2,b\n", 200) + "31.2.2024,1,a\n", "", 3,
			[]string{`data.csv:402:1: column "d": "31.2.2024" is not a time of layout d.m.y`}, []string{"--label", "y"}},
		"ids alone": {"id,y\n" + numbered(60, "u%d,a"), "", 3,
			[]string{"data.csv: none of the 2 columns can be used as a feature",
				"id (60 in 60 rows): nearly as many different texts as rows; not used; --categorical"}, []string{"--label", "y"}},
		"constants alone": {"x,z,y\n" + strings.Repeat("1,k,a\n1,k,b\n", 30), "", 3,
			[]string{"data.csv: none of the 3 columns can be used as a feature; columns x, z: the same value in all rows; not used; --categorical keeps it for later rows with other values"}, []string{"--label", "y"}},
		"weights of 0": {"x,w,y\n" + numbered(60, "%d.5,0,a"), "", 3,
			[]string{"data.csv: has no usable rows: all 60 have the weight 0, so they do not count; give some a weight above 0"},
			[]string{"--label", "y", "--weight_column", "w"}},
		"weights of 0 for one of two classes": {"x,w,y\n" + strings.Repeat("1.5,0,a\n2.5,1,b\n", 30), "", 3,
			[]string{`data.csv: all 30 rows have the label "b"; classification needs at least two classes; add files with other labels`, "rows: 60 read = 30 used + 30 set aside (30 of weight 0)"}, []string{"--label", "y", "--weight_column", "w"}},
		"labels missing": {"x,y\n" + numbered(60, "%d.5,NA"), "", 3,
			[]string{`data.csv: has no usable rows: all 60 lack the label, column "y"; name another column with --label`},
			[]string{"--label", "y"}},
		"several labels, one of them missing in each row": {"x,y,z\n" + strings.Repeat("1.5,2,\n2.5,,3\n", 30), "", 3,
			[]string{`all 60 lack one of the labels y, z; leave out the label that is missing`}, []string{"--label", "y,z"}},
		"schema with a mistake": {table, strings.Replace(file, "role: label", "role: lable", 1), 3,
			[]string{`s.yaml:7:11: unknown role "lable" (did you mean label?)`}, []string{"--schema", "s.yaml"}},
		"schema with two weights": {table, strings.NewReplacer("x1\n    type: number", "x1\n    role: weight", "role: label",
			"role: weight").Replace(file), 3,
			[]string{`s.yaml:8: columns 1 and 3 both have the role weight`}, []string{"--schema", "s.yaml"}},
		"schema with a column that is not there": {table,
			file + "  - name: z\n    type: number\n  - name: q\n    role: ignore\n", 3,
			[]string{`data.csv: `, `no column "z"`, "have x1, x2, y"}, []string{"--schema", "s.yaml"}},
		"schema without a column": {table, "columns:\n  - name: x1\n    type: number\n  - name: y\n    role: label\n", 3,
			[]string{`s.yaml: column "x2" of data.csv is not a feature in it`}, []string{"--schema", "s.yaml"}},
		"schema with a type that cannot be": {table,
			strings.Replace(file, "x2\n    type: number", "x2\n    type: time", 1), 3,
			[]string{`s.yaml: column "x2": texts such as`,
				"have no known layout of times; known are iso"}, []string{"--schema", "s.yaml"}},
		"no schema file": {table, "", 3, []string{"s.yaml"}, []string{"--schema", "s.yaml"}},
		"schema and other flags": {table, file, 2, []string{"--schema s.yaml says which columns there are"},
			[]string{"--schema", "s.yaml", "--numeric", "x1"}},
		"a decimal separator": {table, "", 2, []string{"the fraction of a number begins with a point or a comma"},
			[]string{"--label", "y", "--decimal", ";"}},
		"too few levels": {table, "", 2, []string{"--max_levels must be 0 to"},
			[]string{"--label", "y", "--max_levels", "-1"}},
		"unknown column": {table, "", 2, []string{`numeric: no column "x3"`, "have x1, x2, y"},
			[]string{"--label", "y", "--numeric", "x3"}},
		"types of LIBSVM": {"1 1:0.5\n-1 1:2\n", "", 2, []string{"libsvm, which has no columns with types"},
			[]string{"--numeric", "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "data.csv", c.content)
			if c.schema != "" {
				write(t, dir, "s.yaml", c.schema)
			}
			refuse(t, dir, c.code, c.want, append(trainOn("data.csv", "--quiet"), c.args...)...)
		})
	}
	dir := t.TempDir()
	write(t, dir, "data.csv", table)
	write(t, dir, "s.yaml", "")
	refuse(t, dir, 3, []string{"s.yaml", "exists"}, "inspect", "--data", "data.csv", "--label", "y", "--write_schema",
		"s.yaml")
}

// numbered returns n lines of a format.
func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i)
	}
	return b.String()
}
