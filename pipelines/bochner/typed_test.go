package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/models"
)

const typedHeader = "id,age,city,member,since,note,y"

// typedRows returns rows of a table with numbers, categories, booleans, dates and missing values,
// whose label depends on all of them.
func typedRows(n int, seed uint64) []string {
	r := rand.New(rand.NewPCG(seed, 4))
	cities := []string{"Kraków", `"Paris, 5e"`, "New York", "osaka", "São Paulo"}
	var rows []string
	for i := range n {
		age, city, member := 20+50*r.Float64(), r.IntN(len(cities)), r.IntN(2) == 0
		month, day := 1+r.IntN(12), 1+r.IntN(28)
		score := (age-45)/15 + []float64{-1, 1, 0.5, -0.5, 0}[city] + math.Cos(float64(month))
		if member {
			score += 0.7
		}
		label := "no"
		if score+0.2*r.NormFloat64() > 0.3 {
			label = "yes"
		}
		written, town := fmt.Sprintf("%.2f", age), cities[city]
		if r.IntN(12) == 0 {
			written = []string{"", "NA", "?"}[r.IntN(3)]
		}
		if r.IntN(15) == 0 {
			town = ""
		}
		rows = append(rows, fmt.Sprintf("r%d,%s,%s,%t,2024-%02d-%02d,constant,%s", i, written, town, member, month, day,
			label))
	}
	return rows
}

func typedTable(header string, rows []string) string {
	return header + "\n" + strings.Join(rows, "\n") + "\n"
}

// A typed table gives the same model, byte for byte, for every order of rows, files and columns, cut,
// compression, delimiter and runner.
func TestTypedTablesGiveTheSameModel(t *testing.T) {
	campaign.Long(t)
	t.Parallel()
	dir := t.TempDir()
	rows := typedRows(400, 1)
	write(t, dir, "all.csv", typedTable(typedHeader, rows))
	args := append([]string{"train", "--label", "y", "--id_column", "id"}, smallModel...)
	out := must(t, dir, append(args, "--data", "all.csv", "--model", "model")...)
	for _, want := range []string{"1 number, 1 boolean, 1 time and 1 category of 5 levels", "missing, filled",
		"column note"} {
		if !strings.Contains(out, want) {
			t.Errorf("the summary lacks %q:\n%s", want, out)
		}
	}
	shuffled := slices.Clone(rows)
	rand.New(rand.NewPCG(9, 9)).Shuffle(len(rows), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	write(t, dir, "shuffled.csv", typedTable(typedHeader, shuffled))
	write(t, dir, "part1.csv", typedTable(typedHeader, rows[:137]))
	write(t, dir, "part2.csv", typedTable(typedHeader, rows[137:]))
	write(t, dir, "all.csv.gz", gzipped(typedTable(typedHeader, rows), 1))
	write(t, dir, "semicolons.csv", strings.ReplaceAll(strings.ReplaceAll(typedTable(typedHeader, rows), ",", ";"),
		"Paris; 5e", "Paris, 5e"))
	for i, c := range [][]string{
		{"--data", "shuffled.csv"},
		{"--data", "part2.csv", "--data", "part1.csv"},
		{"--data", "all.csv.gz"},
		{"--data", "all.csv", "--shard_bytes", "1000"},
		{"--data", "all.csv", "--shard_bytes", "700", "--runner", "prism", "--readers", "3"},
	} {
		model := fmt.Sprint("model", i)
		must(t, dir, slices.Concat(args, c, []string{"--model", model})...)
		sameModel(t, dir, "model", model)
	}
	// Another separator is part of the layout that the model stores, so only the weights are equal.
	must(t, dir, append(args, "--data", "semicolons.csv", "--model", "semicolons")...)
	if read(t, dir, "model", "weights.safetensors") != read(t, dir, "semicolons", "weights.safetensors") {
		t.Error("the weights depend on the separator")
	}
}

// Predictions of typed rows have their identifiers, count the filled values, and equal the
// predictions of a Go program that passes texts.
func TestPredictionsOfTypedTablesMatchAGoProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "train.csv", typedTable(typedHeader, typedRows(400, 1)))
	must(t, dir, append([]string{"train", "--label", "y", "--id_column", "id", "--data", "train.csv", "--model", "model"},
		smallModel...)...)
	rows := typedRows(60, 2)
	rows[3] = "r3,31.5,Atlantis,false,2024-02-03,constant,no" // a level that training did not have
	rows[4] = `"r,4",,,,,,yes`                                // nothing at all
	write(t, dir, "new.csv", typedTable(typedHeader, rows))
	out := must(t, dir, "predict", "--model", "model", "--data", "new.csv", "--out", "predictions", "--scores")
	for _, want := range []string{"missing, filled", "1 of categories with a text that is not one of the levels"} {
		if !strings.Contains(out, want) {
			t.Errorf("the summary lacks %q:\n%s", want, out)
		}
	}
	lines := strings.Split(strings.TrimSpace(read(t, dir, "predictions", "part-00000.csv")), "\n")
	if !strings.HasPrefix(lines[0], "id,prediction,") || !strings.HasPrefix(lines[5], `"r,4",`) || len(lines) != 61 {
		t.Fatalf("%d lines: %s … %s", len(lines), lines[0], lines[5])
	}
	m, err := models.Load(os.DirFS(filepath.Join(dir, "model")))
	if err != nil {
		t.Fatal(err)
	}
	columns := make([]models.Column, 4)
	for j, name := range []string{"age", "city", "member", "since"} {
		columns[j] = models.Column{Name: name, Texts: make([]string, len(rows))}
		for i, row := range rows {
			fields := strings.Split(strings.ReplaceAll(strings.ReplaceAll(row, `"Paris, 5e"`, "Paris; 5e"), `"r,4"`, "r4"), ",")
			columns[j].Texts[i] = strings.ReplaceAll(fields[j+1], ";", ",")
		}
	}
	x, err := m.AppendRows(nil, columns...)
	if err != nil {
		t.Fatal(err)
	}
	scores := make([]float64, len(rows)*m.Linear.K)
	if err := m.Scores(scores, x); err != nil {
		t.Fatal(err)
	}
	for i, line := range lines[1:] {
		fields := strings.Split(line, ",")
		for c := range m.Linear.K {
			text := strconv.FormatFloat(scores[i*m.Linear.K+c], 'g', -1, 32)
			if got := fields[len(fields)-m.Linear.K+c]; got != text {
				t.Fatalf("row %d: score %s, the program has %s", i, got, text)
			}
		}
	}
	// Columns in another order, without the label and the constant one.
	write(t, dir, "few.csv", "since,member,id,city,age\n2024-01-02,yes,x,osaka,30\n")
	must(t, dir, "predict", "--model", "model", "--data", "few.csv", "--out", "few")
	if got := read(t, dir, "few", "part-00000.csv"); !strings.HasPrefix(got, "id,prediction\nx,") {
		t.Errorf("predictions %q", got)
	}
}

// Mistakes in a typed table are reported with file, line and column.
func TestTypedTableErrorsNameFileLineAndColumn(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "train.csv", typedTable(typedHeader, typedRows(400, 1)))
	must(t, dir, append([]string{"train", "--label", "y", "--id_column", "id", "--data", "train.csv", "--model", "model"},
		smallModel...)...)
	for name, c := range map[string]struct{ row, want string }{
		"a number": {"r1,old,osaka,true,2024-02-03,constant,no", `bad.csv:2:2: column "age": "old" is not a number`},
		"a boolean": {"r1,31,osaka,perhaps,2024-02-03,constant,no",
			`bad.csv:2:4: column "member": "perhaps" is neither true nor false`},
		"a time": {"r1,31,osaka,true,yesterday,constant,no",
			`bad.csv:2:5: column "since": "yesterday" is not a time of layout iso`},
		"a field": {"r1,31,osaka,true", `bad.csv:2: has 4 fields, want 7`},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, dir, "bad.csv", typedTable(typedHeader, []string{c.row}))
			refuse(t, dir, 3, []string{c.want}, "predict", "--model", "model", "--data", "bad.csv", "--out", "bad")
		})
	}
	train := []string{"train", "--data", "train.csv", "--label", "y", "--model", "other"}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{3, `no column "citi" (did you mean "city"?)`, []string{"--drop", "citi"}},
		{2, `--decimal must be one character`, []string{"--decimal", "comma"}},
		{2, `in both --numeric and --categorical`, []string{"--numeric", "age", "--categorical", "age"}},
		{2, `must be onehot, count or target`, []string{"--encode", "both"}},
	} {
		refuse(t, dir, c.code, []string{c.want}, slices.Concat(train, c.args)...)
	}
}

// A model of plain numbers takes the mean of a column for a missing value, and reports it; one without means
// cannot.
func TestPlainModelsFillMissingValues(t *testing.T) {
	dir := t.TempDir()
	rows := []string{"a,b,y"}
	for i := range 100 {
		rows = append(rows, fmt.Sprintf("%d,%d,%d", i%10, (i*7)%10, (i%10+(i*7)%10)/2))
	}
	write(t, dir, "train.csv", strings.Join(rows, "\n")+"\n")
	train := append([]string{"train", "--data", "train.csv", "--label", "y", "--task", "regression"}, smallModel...)
	must(t, dir, append(train, "--model", "model")...)
	must(t, dir, append(train, "--model", "raw", "--scale", "none")...)
	write(t, dir, "whole.csv", "a,b\n4.5,3\n2,4.5\n4.5,4.5\n")
	write(t, dir, "holes.csv", "a,b\nNA,3\n2,\n?,null\n")
	must(t, dir, "predict", "--model", "model", "--data", "whole.csv", "--out", "whole")
	out := must(t, dir, "predict", "--model", "model", "--data", "holes.csv", "--out", "holes")
	if want, got := read(t, dir, "whole", "part-00000.csv"), read(t, dir, "holes", "part-00000.csv"); got != want ||
		!strings.Contains(out, "4 missing, filled") {
		t.Errorf("%s\npredictions %s\nwant %s", out, got, want)
	}
	refuse(t, dir, 3, []string{`holes.csv:2:1: column "a": "NA" is not a number`}, "predict", "--model", "raw", "--data",
		"holes.csv", "--out", "other")
}
