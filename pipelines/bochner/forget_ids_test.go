package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// userRow is a row of a user, who may have several.
type userRow struct {
	User string  `parquet:"user" json:"user" avro:"user"`
	A    float64 `parquet:"a" json:"a" avro:"a"`
	B    float64 `parquet:"b" json:"b" avro:"b"`
	Y    string  `parquet:"y,dict" json:"y" avro:"y"`
}

// userRows returns 240 rows of 80 users, most of whom have three.
func userRows() []userRow {
	r := rand.New(rand.NewPCG(3, 7))
	var out []userRow
	for i := range 240 {
		a, b := float64(r.IntN(1000))/1000, float64(r.IntN(1000))/1000
		user := i % 80
		if user%4 == 1 && i >= 160 {
			user++
		}
		out = append(out, userRow{fmt.Sprintf("%03d", user), a, b, map[bool]string{true: "in", false: "out"}[a+b*b < 0.8]})
	}
	return out
}

const userSchema = `{"type": "record", "name": "r", "fields": [{"name": "user", "type": "string"}, {"name": "a", "type": "double"}, {"name": "b", "type": "double"}, {"name": "y", "type": "string"}]}`

// If rows are forgotten by their ids, the model and the certificate are the same as if a file of these rows was
// forgotten. The model equals the model of a training run on the other rows.
func TestForgettingByIDsIsForgettingTheirRows(t *testing.T) {
	gone := []string{"017", "004", "079", "018"}
	list := "017\r\n004\n079\n018\n004\n017" // some twice
	all := userRows()
	named := func(r userRow) bool { return slices.Contains(gone, r.User) }
	for _, format := range []string{"csv", "csv.gz", "jsonl", "parquet", "avro"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := func(name string, rows []userRow) {
				write(t, dir, name+"."+format, tables(t, rows, "user,a,b,y", func(r userRow) []string {
					return []string{r.User, fmt.Sprint(r.A), fmt.Sprint(r.B), r.Y}
				}, userSchema)[format])
			}
			file("first", all[:130])
			file("second", all[130:])
			file("gone", slices.DeleteFunc(slices.Clone(all), func(r userRow) bool { return !named(r) }))
			file("left", slices.DeleteFunc(slices.Clone(all), named))
			write(t, dir, "ids", list)
			must(t, dir, "train", "--search", "none", "--features", "40", "--data", "first."+format, "--label", "y",
				"--id_column", "user", "--model", "recipe", "--quiet")
			for _, part := range []string{"first", "second"} {
				must(t, dir, "sum", "--recipe", "recipe", "--data", part+"."+format, "--out", "sums/"+part, "--quiet")
			}
			must(t, dir, "fit", "--sums", "sums/*", "--model", "both", "--quiet")
			must(t, dir, "train", "--recipe", "recipe", "--data", "left."+format, "--model", "never", "--quiet")
			forget := func(out string, flags ...string) result {
				t.Helper()
				r := run(t, dir, append([]string{"forget", "--model", "both", "--sums", "sums/*", "--out", out, "--certificate",
					out + ".json", "--save_sums", out + "-sums"}, flags...)...)
				if r.code != 0 {
					t.Fatalf("exit code %d\n%s", r.code, r.stderr)
				}
				return r
			}
			everything := []string{"--data", "first." + format, "--data", "second." + format}
			said := forget("by-ids", append(everything, "--ids", "ids", smallShards)...)
			forget("by-data", "--data", "gone."+format)
			for _, other := range []string{"by-data", "never"} {
				if digestOf(t, filepath.Join(dir, "by-ids")) != digestOf(t, filepath.Join(dir, other)) {
					t.Errorf("the model differs from %s", other)
				}
			}
			if read(t, dir, "by-ids.json") != read(t, dir, "by-data.json") {
				t.Error("the certificate differs from the certificate for a file of the rows")
			}
			for _, name := range []string{"by-ids/lineage.json", "by-ids-sums/manifest.json"} {
				other := strings.Replace(name, "ids", "data", 1)
				if n := strings.Count(read(t, dir, name), "second."+format); n == 0 ||
					n != strings.Count(read(t, dir, other), "second."+format) {
					t.Errorf("%s names the files otherwise than %s", name, other)
				}
			}
			rows := 0
			for _, r := range all {
				if named(r) {
					rows++
				}
			}
			if want := fmt.Sprintf("forgotten %d rows of 4 ids", rows); !strings.Contains(said.stdout, want) {
				t.Errorf("want %q in\n%s", want, said.stdout)
			}
			if want := fmt.Sprintf("note: 4 ids name %d rows", rows); !strings.Contains(said.stderr, want) {
				t.Errorf("want %q in\n%s", want, said.stderr)
			}
			verify := []string{"verify", "--certificate", "by-ids.json", "--model", "by-ids", "--sums", "sums/*", "--quiet"}
			must(t, dir, append(append(verify, everything...), "--ids", "ids")...)
			must(t, dir, append(verify, "--data", "gone."+format)...)
			write(t, dir, "fewer", "017\n004\n079\n")
			if r := run(t, dir, append(append(verify, everything...), "--ids", "fewer")...); r.code != 4 {
				t.Errorf("a certificate for other ids: exit code %d\n%s", r.code, r.stderr)
			}
		})
	}
}

// Rows without a listed id may be such as a training run sets aside.
func TestForgettingByIDsPassesOverOtherRows(t *testing.T) {
	dir := t.TempDir()
	text := "user,a,b,y\n"
	for _, r := range userRows() {
		text += fmt.Sprintf("%s,%g,%g,%s\n", r.User, r.A, r.B, r.Y)
	}
	text += "900,none,0.5,in\n901,0.5,0.5,\n"
	write(t, dir, "all.csv", text)
	write(t, dir, "gone.csv", "user,a,b,y\n"+strings.SplitAfter(text, "\n")[5])
	aside := []string{"--data", "all.csv", "--max_bad_fraction", "0.1", "--quiet"}
	must(t, dir, append(aside, "--numeric", "a", "--label", "y", "--drop", "user", "--job", "train", "--search", "none",
		"--features", "40", "--model", "m")...)
	must(t, dir, append(aside, "--job", "sum", "--recipe", "m", "--out", "sums")...)
	forget := []string{"forget", "--model", "m", "--sums", "sums", "--quiet"}
	must(t, dir, append(forget, "--data", "gone.csv", "--out", "by-data")...)
	cmd := program(dir, append(forget, "--data", "all.csv", "--id_column", "user", "--ids", "-", "--out", "by-ids")...)
	cmd.Stdin = strings.NewReader("\ufeff004\n")
	// User 004 has other rows than the one of the file.
	if r := runCommand(t, cmd); r.code != 0 {
		t.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
	var left string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "004,") {
			left += line
		}
	}
	write(t, dir, "left.csv", left)
	must(t, dir, "train", "--recipe", "m", "--data", "left.csv", "--max_bad_fraction", "0.1", "--model", "never",
		"--quiet")
	for _, name := range []string{"manifest.json", "weights.safetensors"} { // and not the list of rows set aside
		if read(t, dir, "by-ids", name) != read(t, dir, "never", name) {
			t.Errorf("%s differs from the model of the other rows", name)
		}
	}
	if !strings.Contains(read(t, dir, "by-ids", "lineage.json"), "all.csv") {
		t.Error("the lineage does not name the file that the other rows are of")
	}
	if read(t, dir, "by-ids", "weights.safetensors") == read(t, dir, "by-data", "weights.safetensors") {
		t.Error("only one of the rows with the id was forgotten")
	}

	write(t, dir, "ids", "004\n")
	write(t, dir, "none", "")
	write(t, dir, "gap", "004\n\n005\n")
	write(t, dir, "long", strings.Repeat("7", 5000))
	write(t, dir, "unknown", "4\n004\nz\ny\nx\nw\nv\n900\n901\n")
	for _, c := range []struct {
		name  string
		flags []string
		code  int
		want  []string
	}{
		{"ids without a row", []string{"--data", "all.csv", "--id_column", "user", "--ids", "unknown"}, 3,
			[]string{`8 ids of the list: no row of the data that can be used has "4", "900", "901", "v", "w", …`}},
		{"an empty list", []string{"--data", "all.csv", "--id_column", "user", "--ids", "none"}, 3,
			[]string{"list of ids none: has no ids"}},
		{"an empty line", []string{"--data", "all.csv", "--id_column", "user", "--ids", "gap"}, 3,
			[]string{"list of ids gap: line 2 is empty"}},
		{"a long line", []string{"--data", "all.csv", "--id_column", "user", "--ids", "long"}, 3,
			[]string{"line 1 has more than 4096 bytes"}},
		{"no column of ids", []string{"--data", "all.csv", "--ids", "ids"}, 2, []string{"--id_column"}},
		{"no such column", []string{"--data", "all.csv", "--id_column", "customer", "--ids", "ids"}, 3, []string{"customer"}},
		{"no such list", []string{"--data", "all.csv", "--id_column", "user", "--ids", "nowhere"}, 3, []string{"nowhere"}},
		{"two of standard input", []string{"--data", "-", "--id_column", "user", "--ids", "-"}, 2,
			[]string{"cannot both be standard input"}},
	} {
		cmd := program(dir, append(append(slices.Clone(forget), "--out", "not-made"), c.flags...)...)
		cmd.Stdin = strings.NewReader(text)
		r := runCommand(t, cmd)
		if r.code != c.code {
			t.Errorf("%s: exit code %d\n%s", c.name, r.code, r.stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(r.stderr, want) {
				t.Errorf("%s: want %q in\n%s", c.name, want, r.stderr)
			}
		}
	}
	if r := run(t, dir, "verify", "--model", "m", "--data", "all.csv", "--ids", "ids"); r.code != 2 ||
		!strings.Contains(r.stderr, "--certificate") {
		t.Errorf("verify with ids and no certificate: exit code %d\n%s", r.code, r.stderr)
	}
}
