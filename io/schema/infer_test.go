package schema

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// columnsOf returns the records of a table whose columns are made by functions of the row.
func columnsOf(n int, columns ...func(i int) string) (t tableOf) {
	for i := range n {
		var rec []string
		for _, c := range columns {
			rec = append(rec, c(i))
		}
		t = append(t, rec)
	}
	return t
}

func cycle(texts ...string) func(int) string {
	return func(i int) string { return texts[i%len(texts)] }
}

func format(f string, factor int) func(int) string {
	return func(i int) string { return fmt.Sprintf(f, i*factor) }
}

// inferred infers one column next to a column of numbers.
func inferred(t *testing.T, n int, column func(int) string, h Hints) (Field, []string) {
	t.Helper()
	h.Names = []string{"x", "number"}
	d, notes, err := Infer(surveyed(columnsOf(n, column, format("%d.5", 3)), Rules{Missing: DefaultMissing}), h)
	if err != nil {
		t.Fatal(err)
	}
	if f := d.Fields[1]; f.Type != Number || f.Role != Feature {
		t.Fatalf("the column of numbers is %v", f)
	}
	return d.Fields[0], Sentences(notes)
}

// tickets are numbers and, in every fifth row, other texts of many kinds; each is in two rows.
func tickets(i int) string {
	if i%10 < 2 {
		return fmt.Sprint("PC ", i/10)
	}
	return fmt.Sprint(1000 + i/2)
}

// faults are numbers and, in every fifth row, one of twenty other texts.
func faults(i int) string {
	if i%5 == 0 {
		return fmt.Sprint("fault ", i/5%20)
	}
	return fmt.Sprint(1000 + i/2)
}

func TestTypesAreInferredFromAllTexts(t *testing.T) {
	for name, c := range map[string]struct {
		column func(int) string
		hints  Hints
		typ    Type
		role   Role
		note   string // part of the only note
	}{
		"reals":           {column: format("%d.25", 7), typ: Number, role: Feature},
		"zeros and ones":  {column: cycle("0", "1"), typ: Number, role: Feature},
		"missing numbers": {column: cycle("1.5", "", "NA", "?", "2e3"), typ: Number, role: Feature},
		"few whole numbers": {column: cycle("1", "2", "3"), typ: Number, role: Feature,
			note: "x (3): whole numbers with few different values, read as numbers; --categorical"},
		"row numbers": {column: format("%d", 1), typ: Number, role: Feature,
			note: "x (0 to 999): whole numbers, all different, which may just number the rows"},
		"codes": {column: format("%04d", 1), typ: Number, role: Feature,
			note: "leading zeros, read as numbers; --categorical"},
		"few odd texts": {column: func(i int) string { return []string{"4.5", "odd"}[min(1, i/995)] }, typ: Number,
			role: Feature,
			note: `x (5 of 1000, such as "odd"): texts that are not numbers in a column of numbers; rows with them cannot be used; --missing`},
		"mixed": {column: cycle("1", "2", "a"), typ: Category, role: Feature,
			note: "numbers and other texts, read as a category; --numeric"},
		"tickets": {column: tickets, typ: Category, role: Feature,
			note: "x (800 of 1000 are numbers; others are such as \"PC 0\"): numbers and other texts, read as a category; --numeric"},
		"faults": {column: faults, typ: Number, role: Feature,
			note: `x (200 of 1000, such as "fault 0"): texts that are not numbers in a column of numbers`},
		"words": {column: cycle("red", "green", "blue", "NA"), typ: Category, role: Feature},
		"look alike": {column: cycle("tea", "Tea", "tea\u00a0", "coffee"), typ: Category, role: Feature,
			note: `x ("Tea", "tea", "tea\u00a0"): texts that differ only in case`},
		"truth":      {column: cycle("True", "FALSE", "?"), typ: Boolean, role: Feature},
		"yes and no": {column: cycle("Y", "n"), typ: Boolean, role: Feature},
		"two pairs":  {column: cycle("yes", "f"), typ: Category, role: Feature},
		"dates": {column: cycle("2024-02-29", "2023-12-31T23:59:59Z", "2023-12-31 07:15"), typ: Time,
			role: Feature, note: "x (333 of 1000 with a zone): times with and without a zone; those without are read as UTC"},
		"times": {column: cycle("2024-02-29T10:00:00Z", "2023-12-31T23:59:59Z"), typ: Time, role: Feature,
			note: "layout iso): dates as text"},
		"single digits": {column: cycle("2024-1-3", "2024-10-13", "2023-2-9"), typ: Time, role: Feature,
			note: "layout y-m-d"},
		"short years": {column: cycle("03-01-24", "13-02-24", "25-12-23"), typ: Time, role: Feature,
			note: "x (read as d-m-y, not y-m-d): dates whose day, month and year cannot be told apart"},
		"months": {column: cycle("2024-03", "2024-04", "2024-05"), typ: Category, role: Feature,
			note: "texts that look like dates or times in no known layout"},
		"times of day": {column: cycle("8:30", "08:30:15", "11:59 PM"), typ: Time, role: Feature, note: "layout h:m"},
		"whole dates": {column: cycle("20240229", "20231231", "19991130"), typ: Time, role: Feature,
			note: "whole numbers that are dates as yyyymmdd"},
		"almost dates": {column: cycle("20240229", "20231231", "20240230", "20240301"), typ: Number, role: Feature,
			note: "few different values"},
		"units": {column: cycle("$1.5", "$ 22", "3"), typ: Number, role: Feature,
			note: "x (667 of 1000 with $): numbers with a unit"},
		"two units": {column: cycle("$1", "€2", "$3"), typ: Category, role: Feature,
			note: "numbers with different units, not read as numbers"},
		"large": {column: cycle("1e39", "2.5"), typ: Number, role: Feature,
			note: "x (500 of 1000, up to 1e+39): numbers beyond 3.4e38"},
		"unique commas": {column: format("%d,5", 1), typ: Category, role: Ignore,
			note: "numbers with a decimal comma, not read as numbers; --decimal , reads numbers"},
		"days first":   {column: cycle("13/02/2024", "1/2/2024"), typ: Time, role: Feature, note: "layout d/m/y"},
		"months first": {column: cycle("02/13/2024", "1/2/2024"), typ: Time, role: Feature, note: "layout m/d/y"},
		"either": {column: cycle("02/03/2024", "1/2/2024"), typ: Time, role: Feature,
			note: "x (read as m/d/y, not d/m/y): dates whose day, month and year cannot be told apart; --schema"},
		"no such dates": {column: cycle("31.02.2024", "30.2.2023"), typ: Category, role: Feature},
		"decimal commas": {column: cycle("1,5", "22,75", "3"), typ: Category, role: Feature,
			note: `(such as "1,5"): numbers with a decimal comma, not read as numbers; --decimal`},
		"thousands": {column: cycle("1,500", "22,750.5", "3"), typ: Category, role: Feature,
			note: "numbers with separated thousands, not read as numbers; --thousands"},
		"commas and points": {column: cycle("1,5", "1.500,25"), typ: Category, role: Feature,
			note: "not read as numbers; --decimal , --thousands . reads numbers"},
		"thousands apart": {column: cycle("1\u202f500", "22 750.5", "3"), typ: Category, role: Feature,
			note: "separated thousands, not read as numbers; --thousands ' ' reads numbers"},
		"names": {column: format("name %d", 1), typ: Category, role: Ignore,
			note: "x (1000 in 1000 rows): nearly as many different texts as rows; not used; --categorical"},
		"constant": {column: cycle("a"), typ: Category, role: Ignore,
			note: "x: the same value in all rows; not used; --categorical"},
		"once or missing": {column: cycle("a", ""), typ: Category, role: Feature},
		"constant number": {column: cycle("3"), typ: Number, role: Feature,
			note: "x: the same value in all rows; --drop"}, // a plain table is read as it is
		"nothing": {column: cycle("", "NULL"), typ: Number, role: Ignore,
			note: "x: no values; not used; --numeric"},

		"category by request": {column: cycle("3", "1", "2"), hints: Hints{Types: map[int]Type{0: Category}}, typ: Category,
			role: Feature},
		"number by request": {column: cycle("3", "one"), hints: Hints{Types: map[int]Type{0: Number}}, typ: Number,
			role: Feature, note: "500 of 1000"},
		"names by request": {column: format("name %d", 1), hints: Hints{Types: map[int]Type{0: Category}}, typ: Category,
			role: Feature},
		"dropped": {column: cycle("3", "1", "2"), hints: Hints{Roles: map[int]Role{0: Ignore}}, typ: Number,
			role: Ignore},
		"label": {column: cycle("3", "1", "2"), hints: Hints{Roles: map[int]Role{0: Label}}, typ: Number,
			role: Label},
	} {
		f, notes := inferred(t, 1000, c.column, c.hints)
		if f.Type != c.typ || f.Role != c.role {
			t.Errorf("%s: %s %s, want %s %s", name, f.Role, f.Type, c.role, c.typ)
		}
		if len(notes) > 1 || (c.note == "") != (len(notes) == 0) || !strings.Contains(strings.Join(notes, "\n"), c.note) {
			t.Errorf("%s: notes %q, want %q", name, notes, c.note)
		}
	}
}

func TestLevelsAreTheMostFrequentTexts(t *testing.T) {
	column := func(i int) string { // level k occurs about 1/k as often as level 1
		k := 1
		for i%(k+1) == 0 && k < 40 {
			k++
		}
		return fmt.Sprint("level ", k)
	}
	f, notes := inferred(t, 5000, column, Hints{MaxLevels: 3})
	if want := []string{"level 1", "level 2", "level 3"}; !slices.Equal(f.Levels, want) {
		t.Errorf("levels %q, want %q", f.Levels, want)
	}
	if len(notes) != 1 || !strings.Contains(notes[0],
		"only the most frequent texts are levels; the others count as one; --max_levels") {
		t.Errorf("notes %q", notes)
	}
	// Ties are decided by the text.
	f, _ = inferred(t, 4000, cycle("d", "a", "c", "b"), Hints{MaxLevels: 2})
	if want := []string{"a", "b"}; !slices.Equal(f.Levels, want) {
		t.Errorf("levels %q, want %q", f.Levels, want)
	}
	// Too many to list are hashed.
	f, notes = inferred(t, 9000, func(i int) string { return fmt.Sprint("a", i%3000) }, Hints{})
	if f.Buckets != 4096 || f.Levels != nil || f.Role != Feature {
		t.Errorf("%d buckets, %d levels, role %s: %q", f.Buckets, len(f.Levels), f.Role, notes)
	}
}

func TestColumnsBeyondTheBoundAreEstimated(t *testing.T) {
	s := narrow(NewSurvey(3, Rules{}), 1<<10)
	const distinct = 100_000
	for i := range 2 * distinct {
		s.Text(nil, 0, fmt.Appendf(nil, "a%d", i%distinct))
		s.Text(nil, 1, fmt.Appendf(nil, "b%d", i))
		s.Text(nil, 2, fmt.Appendf(nil, "%d.5", i-distinct))
	}
	d, notes, err := Infer(s, Hints{})
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := d.Fields[0], d.Fields[1], d.Fields[2]
	if a.Buckets != maxBuckets || a.Summary.Exact {
		t.Errorf("%d buckets", a.Buckets)
	}
	// 5 standard errors of a sample of at least 400 of them
	if n := a.Summary.Distinct; n < distinct*3/4 || n > distinct*5/4 {
		t.Errorf("%d different texts, want about %d", n, distinct)
	}
	if b.Role != Ignore {
		t.Errorf("a text for each row is a %s: %q", b.Role, Sentences(notes))
	}
	if m := c.Summary; m.Min != -distinct-.5 || m.Max != distinct-.5 || m.Median-m.Within > -1.5 ||
		m.Median+m.Within < -1.5 || m.Within > 1 {
		t.Errorf("numbers from %g to %g, median %g ± %g", m.Min, m.Max, m.Median, m.Within)
	}
}

func TestMedianIsExactWhereAllTextsAreKnown(t *testing.T) {
	s := surveyed(columnsOf(101, func(i int) string { return fmt.Sprint((i*37)%101 - 20) }), Rules{})
	if c := s.column(0); c.Median != 30 || c.Within != 0 {
		t.Errorf("median %g ± %g, want 30", c.Median, c.Within)
	}
}

func TestHintsThatContradictTheDataAreErrors(t *testing.T) {
	s := surveyed(columnsOf(50, cycle("a", "b"), cycle("1")), Rules{})
	for name, c := range map[string]struct {
		hints Hints
		want  string
	}{
		"no such layout": {Hints{Types: map[int]Type{0: Time}},
			`texts such as "a" have no known layout of times; known are iso`},
		"nothing left": {Hints{Roles: map[int]Role{0: Label, 1: Ignore}}, "none of the 2 columns can be used as a feature"},
		"outside":      {Hints{Roles: map[int]Role{2: Label}}, "there is no column 3"},
		"names":        {Hints{Names: []string{"a"}}, "1 names for 2 columns"},
		"two weights":  {Hints{Roles: map[int]Role{0: Weight, 1: Weight}}, "none of the 2"},
	} {
		if _, _, err := Infer(s, c.hints); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestOpenColumnsAreCompletedFromTheData(t *testing.T) {
	d := &Description{Fields: []Field{
		{Column: Column{Name: "t", Type: Time}, Role: Feature},
		{Column: Column{Name: "n", Type: Category}, Role: Feature},
		{Column: Column{Name: "x", Type: Number}, Role: Feature},
	}}
	if open := d.open(); !slices.Equal(open, []int{0, 1}) {
		t.Errorf("open columns %v", open)
	}
	if d.check() != nil || d.Validate() == nil {
		t.Error("an open column is not described, or as good as complete")
	}
	s := surveyed(columnsOf(60, cycle("3", "1"), cycle("1.2.2024")), Rules{})
	if _, err := d.Complete(s, []int{1, 0, -1}, 0); err != nil {
		t.Fatal(err)
	}
	if d.Fields[0].Layout != "d.m.y" || !slices.Equal(d.Fields[1].Levels, []string{"1", "3"}) || len(d.open()) > 0 {
		t.Errorf("completed to %v", d.Fields)
	}
}

// The tables that BOCHNER_DATA names have the inferred types that a reader expects.
func TestTypesOfRealTablesAreInferred(t *testing.T) {
	dir := os.Getenv("BOCHNER_DATA")
	if dir == "" {
		t.Skip("BOCHNER_DATA is not set")
	}
	read := func(name, comma string) (records tableOf) {
		f, err := os.Open(filepath.Join(dir, "csv", name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(z); lines.Scan(); {
			if lines.Text() == "" {
				continue
			}
			rec := strings.Split(lines.Text(), comma)
			for i := range rec {
				rec[i] = strings.TrimSpace(rec[i])
			}
			records = append(records, rec)
		}
		return records
	}
	adult := surveyed(read("adult-train.csv.gz", ","), Rules{Missing: DefaultMissing})
	d, notes, err := Infer(adult, Hints{Roles: map[int]Role{14: Label}})
	if err != nil {
		t.Fatal(err)
	}
	var types strings.Builder
	for _, f := range d.Fields {
		types.WriteByte(f.Type[0])
	}
	if got, want := types.String(), "ncncncccccnnncc"; got != want {
		t.Errorf("types of adult %s, want %s", got, want)
	}
	if n := d.Fields[1].Summary; n.Missing != 1836 || len(d.Fields[1].Levels) != 8 {
		t.Errorf("workclass: %d missing, levels %q", n.Missing, d.Fields[1].Levels)
	}
	t.Logf("adult: %q", Sentences(notes))

	houses := read("houses.tsv.gz", "\t")
	d, notes, err = Infer(surveyed(houses[1:], Rules{Missing: DefaultMissing}),
		Hints{Names: houses[0], Roles: map[int]Role{8: Label}})
	if err != nil {
		t.Fatal(err)
	}
	if !d.Plain() || len(notes) != 0 {
		t.Errorf("houses: not plain, or notes: %q", Sentences(notes))
	}
}

// Row numbers are noted by the name of their column, even if they have gaps and are in any order, as in a
// sample of a table.
func TestRowNumbersWithGapsAreNotedByName(t *testing.T) {
	gaps := func(i int) string { return fmt.Sprint((i*617%1000)*7 + i%3) }
	skewed := func(i int) string { return fmt.Sprint(i*i + 1) }
	for _, c := range []struct {
		name   string
		column func(int) string
		want   bool
	}{
		{"c1", gaps, true}, {"", gaps, true}, {"Unnamed: 0", gaps, true}, {"Index", gaps, true}, {"id", gaps, true}, {"row",
			gaps, true},
		{"price", gaps, false}, {"c2", gaps, false}, {"id", skewed, false}, {"id", cycle("1", "2", "4", "8"), false},
	} {
		table := surveyed(columnsOf(1000, c.column, format("%d.5", 3)), Rules{Missing: DefaultMissing})
		_, notes, err := Infer(table, Hints{Names: []string{c.name, "number"}})
		if err != nil {
			t.Fatal(err)
		}
		noted := strings.Contains(strings.Join(Sentences(notes), "; "), "which may just number the rows")
		if noted != c.want {
			t.Errorf("column %q: noted %v, want %v: %q", c.name, noted, c.want, Sentences(notes))
		}
	}
}
