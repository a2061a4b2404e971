package main

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// sumsCase is a kind of training whose sums are added and subtracted.
type sumsCase struct {
	name, header string
	row          func(r *rand.Rand) string
	command      string
}

func points(r *rand.Rand) (x, y float64) { return r.NormFloat64(), r.NormFloat64() }

func letter(r *rand.Rand) string { return string(rune('a' + r.IntN(3))) }

func pointRow(r *rand.Rand) string {
	x, y := points(r)
	return fmt.Sprintf("%.4f,%.4f,%s", x, y, letter(r))
}

func productRow(r *rand.Rand) string {
	x, y := points(r)
	return fmt.Sprintf("%.4f,%.4f,%.5f", x, y, x*y+0.1*r.NormFloat64())
}

func weighedRow(r *rand.Rand) string {
	x, y := points(r)
	return fmt.Sprintf("%.4f,%.4f,%d,%s", x, y, 1+r.IntN(4), letter(r))
}

// Few rows are distinct, so that copies are counted separately.
func repeatedRow(r *rand.Rand) string {
	return fmt.Sprintf("%d,%d,%d,%s", r.IntN(4), r.IntN(5), 1+r.IntN(2), letter(r))
}

func colourRow(r *rand.Rand) string {
	x, _ := points(r)
	return fmt.Sprintf("%.4f,%s,%s", x, []string{"red", "green", "blue", ""}[r.IntN(4)], letter(r))
}

func targetsRow(r *rand.Rand) string {
	x, y := points(r)
	return fmt.Sprintf("%.4f,%.4f,%.5f,%.2f", x, y, x*y, 1000*(x-y))
}

var sumsCases = []sumsCase{
	{"classes", "x,y,l", pointRow, "train --features 60"},
	{"grid 8, one lambda", "x,y,l", pointRow, "train --features 60 --grid 8 --lambda 1e-5"},
	{"linear", "x,y,l", pointRow, "train --kernel linear"},
	{"regression with C", "x,y,l", productRow, "train --features 400 --C 10 --folds 3"},
	{"weights of rows and classes", "x,y,w,l", weighedRow,
		"train --features 60 --weight_column w --class_weight balanced --C 100 --calibrate platt"},
	{"copies with weights", "x,y,w,l", repeatedRow, "train --features 60 --weight_column w --calibrate platt"},
	{"types", "x,c,l", colourRow, "train --features 60"},
	{"target statistics, copies", "x,c,l", func(r *rand.Rand) string {
		return fmt.Sprintf("%d,%s,%s", r.IntN(2), []string{"red", "green"}[r.IntN(2)], letter(r))
	}, "train --features 60 --categorical x,c --encode target"},
	{"several targets", "x,y,p,l", targetsRow, "train --features 60 --label p,l"},
	{"learned features", "x,y,l", pointRow,
		"train --kernel learned --features 40 --chains 8 --steps 3 --take 2 --learner ridge"},
	{"groups", "x,y,g,l", func(r *rand.Rand) string {
		x, y := points(r)
		return fmt.Sprintf("%.4f,%.4f,g%d,%s", x, y, r.IntN(40), letter(r))
	}, "train --features 60 --group_column g --calibrate platt"},
	{"embedding", "x,y,l", pointRow, "embed --features 60 --components 3"},
}

// sumsMore holds the sumsCases that the short form of the tests leaves out. The other cases cover most of what they do.
var sumsMore = []string{
	"grid 8, one lambda", "linear", "regression with C", "copies with weights", "types", "learned features",
}

// Rows may be summed in parts or at once, added, subtracted or forgotten: the model equals the
// model of a training run by the recipe on the rows that are left, byte for byte.
func TestModelsOfSumsMatchTheRows(t *testing.T) {
	for i, c := range sumsCases {
		t.Run(c.name, func(t *testing.T) {
			if slices.Contains(sumsMore, c.name) {
				campaign.Long(t)
			}
			t.Parallel()
			dir := t.TempDir()
			r := rand.New(rand.NewPCG(uint64(i), 7))
			var rows []string
			for range 200 {
				rows = append(rows, c.row(r))
			}
			file := func(name string, parts ...[]string) {
				text := c.header + "\n"
				for _, p := range parts {
					text += strings.Join(p, "\n") + "\n"
				}
				write(t, dir, name+".csv", text)
			}
			file("all", rows)
			file("a", rows[:65])
			file("b", rows[65:100])
			file("c", rows[100:])
			file("ac", rows[:65], rows[100:])
			file("gone", rows[3:9])
			file("left", rows[:3], rows[9:])
			command := strings.Fields(c.command)
			if !strings.Contains(c.command, "--label") {
				command = append(command, "--label", "l")
			}
			must(t, dir, append(command, "--data", "all.csv", "--model", "recipe", "--quiet")...)
			var calibrate []string
			if strings.Contains(c.command, "--calibrate") {
				calibrate = []string{"--calibrate", "platt"}
			}
			again := func(data, model string) string {
				must(t, dir, append(calibrate, "--job", "train", "--recipe", "recipe", "--data", data+".csv", "--model", model,
					"--quiet")...)
				if made := read(t, dir, model, "manifest.json"); strings.Contains(made, `"curves"`) != (calibrate != nil) {
					t.Errorf("probabilities of the model: %s\nwant curves: %v", made, calibrate != nil)
				}
				return digestOf(t, filepath.Join(dir, model))
			}
			fit := func(model string, flags ...string) string {
				must(t, dir, slices.Concat([]string{"fit", "--model", model, "--quiet"}, flags, calibrate)...)
				return digestOf(t, filepath.Join(dir, model))
			}
			whole := again("all", "m1")
			if read(t, dir, "recipe", "weights.safetensors") != read(t, dir, "m1", "weights.safetensors") {
				t.Error("training by the recipe on its own rows gives other weights")
			}
			for _, part := range []string{"a", "b", "c"} {
				must(t, dir, "sum", "--recipe", "recipe", "--data", part+".csv", "--out", "sums/"+part, smallShards, "--threads",
					"1", "--quiet")
			}
			if fit("m2", "--sums", "sums/*", "--save_sums", "total") != whole {
				t.Error("a fit to all sums differs from training on all rows")
			}
			audit := []string{"verify", "--audit", "--sums", "sums/*", "--data", "all.csv", smallShards, "--quiet"}
			if i == 0 {
				audit = append(audit, "--runner", "prism", "--readers", "3")
			}
			if !strings.HasPrefix(c.command, "embed") {
				audit = append(audit, "--model", "m2")
			}
			must(t, dir, audit...)
			rest := again("ac", "m3")
			if fit("m4", "--sums", "sums/*", "--without", "sums/b") != rest {
				t.Error("a fit without sums/b differs from training on the other rows")
			}
			if fit("m5", "--sums", "total", "--without", "sums/b") != rest {
				t.Error("a fit to the total minus sums/b differs from training on the other rows")
			}
			must(t, dir, "forget", "--model", "m2", "--sums", "total", "--data", "gone.csv", "--out", "m6", "--certificate",
				"proof.json", "--save_sums", "less", "--quiet")
			left := again("left", "m7")
			if digestOf(t, filepath.Join(dir, "m6")) != left {
				t.Error("a model that has forgotten rows differs from training on the rows that are left")
			}
			if fit("m8", "--sums", "less") != left {
				t.Error("a fit to the sums that forget saved differs from training on the rows that are left")
			}
			readers := []string{"--runner", "prism", "--readers", "3"}
			if i > 0 {
				readers = nil // one
			}
			slices.Reverse(rows[9:])
			file("left", rows[9:], rows[:3])
			must(t, dir, append(readers, "--job", "sum", "--recipe", "recipe", "--data", "left.csv", "--out", "left-sums",
				smallShards, "--quiet")...)
			if read(t, dir, "less", "row_hashes.bin") != read(t, dir, "left-sums", "row_hashes.bin") {
				t.Error("the sums that forget saved list other rows than the sums of the rows that are left")
			}
			if !strings.Contains(c.name, "copies") { // of which others are left
				for _, data := range []string{"gone.csv", "changed.csv"} { // its second row was not trained on
					file("changed", rows[20:21], []string{strings.Replace(rows[21], ".", ".9", 1)})
					r := run(t, dir, "forget", "--model", "m6", "--sums", "less", "--data", data, "--out", "m9", "--save_sums",
						"again", "--certificate", "again.json", "--quiet")
					place := map[string]string{"gone.csv": "gone.csv:2: ", "changed.csv": "changed.csv:3: "}[data]
					if r.code != 3 || !strings.Contains(r.stderr, place+"the row is not in the sums") {
						t.Errorf("forgetting %s: exit code %d, want 3 with %q\n%s", data, r.code, place, r.stderr)
					}
				}
				if made := strings.Join(entries(t, dir), " "); strings.Contains(made, "m9") || strings.Contains(made, "again") {
					t.Errorf("after a refusal, the directory has %s", made)
				}
			}
			verify := []string{"verify", "--certificate", "proof.json", "--model", "m6", "--sums", "total", "--data", "gone.csv",
				"--quiet"}
			must(t, dir, verify...)
			if i > 0 {
				return
			}
			write(t, dir, "proof.json", strings.Replace(read(t, dir, "proof.json"), `"rows": 6`, `"rows": 7`, 1))
			if r := run(t, dir, verify...); r.code != 4 || !strings.Contains(r.stderr, "was changed") {
				t.Errorf("a changed certificate: exit code %d, want 4\n%s", r.code, r.stderr)
			}
		})
	}
}

func TestIncompatibleSumsAreRejected(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 7))
	table := func(name string, n int, row func(*rand.Rand) string) {
		text := "x,y,l\n"
		for range n {
			text += row(r) + "\n"
		}
		write(t, dir, name, text)
	}
	table("a.csv", 200, pointRow)
	table("b.csv", 100, pointRow)
	table("new.csv", 60, func(r *rand.Rand) string { return strings.TrimRight(pointRow(r), "abc") + "new" })
	table("numbers.csv", 200, productRow)
	write(t, dir, "beyond.csv", "x,y,l\n0.5,0.5,0.1\n0.5,0.5,99\n")
	train := func(model string, flags ...string) {
		must(t, dir, append([]string{"train", "--label", "l", "--features", "60", "--model", model, "--quiet"}, flags...)...)
	}
	train("m", "--data", "a.csv")
	train("other", "--data", "a.csv", "--seed", "2")
	train("reg", "--data", "numbers.csv")
	train("roomy", "--data", "numbers.csv", "--target_room", "100")
	write(t, dir, "never.csv", "x,y,l\n9.5,9.5,a\n")
	write(t, dir, "two.csv", "x,y,p,l\n0.5,0.5,0.1,1\n0.25,0.5,0.3,-100\n0.1,0.2,0.2,50\n0.3,0.9,0.4,20\n")
	write(t, dir, "far.csv", "x,y,p,l\n0.5,0.5,0.1,1\n0.25,0.5,7,1\n")
	train("two", "--data", "two.csv", "--label", "p,l", "--lambda", "1e-3")
	train("rounds", "--data", "a.csv", "--learner", "sgd", "--lambda", "1e-3", "--rounds", "1")
	sum := func(recipe, data, out string) {
		must(t, dir, "sum", "--recipe", recipe, "--data", data, "--out", out, "--quiet")
	}
	sum("m", "a.csv", "s/dt=2026-01-01")
	sum("m", "b.csv", "s/dt=2026-01-02")
	sum("m", "new.csv", "s/dt=2026-02-01")
	sum("other", "a.csv", "o")
	sum("m", "b.csv", "twice")
	before := digestOf(t, filepath.Join(dir, "s/dt=2026-01-02"))
	sum("m", "b.csv", "s/dt=2026-01-02")
	if digestOf(t, filepath.Join(dir, "s/dt=2026-01-02")) != before {
		t.Error("a part that existed was changed")
	}
	must(t, dir, "fit", "--sums", "s/*", "--last", "40d", "--model", "grown", "--quiet")
	if !strings.Contains(read(t, dir, "grown", "manifest.json"), `"new"`) {
		t.Error("a new class is not in the model")
	}
	must(t, dir, "fit", "--sums", "s/*", "--last", "31d", "--model", "last", "--quiet")
	if got := read(t, dir, "last", "manifest.json"); !strings.Contains(got, `"used": 160`) {
		t.Errorf("--last 31d: %s\nwant 160 used rows", got)
	}
	must(t, dir, "forget", "--model", "last", "--sums", "s/dt=2026-01-02,s/dt=2026-02-01", "--data", "new.csv", "--out",
		"less", "--certificate", "proof.json", "--quiet")
	must(t, dir, "fit", "--sums", "s/*", "--last", "31d", "--select", "mse", "--calibrate", "none", "--model", "mse",
		"--quiet")
	if read(t, dir, "mse", "manifest.json") != read(t, dir, "last", "manifest.json") {
		t.Error("--select mse chooses another lambda than no --select")
	}
	if said := must(t, dir, "fit", "--sums", "s/*", "--plan"); !strings.Contains(said, "3 directories") ||
		!strings.Contains(said, "rows      360") || !strings.Contains(said, "60 features") {
		t.Error(said)
	}
	damaged := filepath.Join(dir, "damaged")
	if err := os.CopyFS(damaged, os.DirFS(filepath.Join(dir, "twice"))); err != nil {
		t.Fatal(err)
	}
	fold := filepath.Join(damaged, "fold-00001.sums")
	data, err := os.ReadFile(fold)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(fold, data, 0o666); err != nil {
		t.Fatal(err)
	}
	// Sums of very many rows have no list of them.
	for _, name := range []string{"unlisted", "mislisted"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(dir, "twice"))); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, "mislisted/row_hashes.bin", strings.Repeat("1", 800))
	must(t, dir, "fit", "--sums", "twice", "--model", "unlisted-model", "--quiet")
	unlist(t, filepath.Join(dir, "unlisted", "manifest.json"))
	for _, c := range []struct {
		command string
		code    int
		want    string
	}{
		{"fit --model x --sums s/dt=2026-01-02,twice", 3, "would count twice"},
		{"fit --model x --sums s/dt=2026-01-01,o", 3, "different recipes"},
		{"fit --model x --sums s/dt=2026-01-01 --without o", 3, "different recipes"},
		{"fit --model x --sums s/dt=2026-01-01 --without s/dt=2026-01-02", 3, "not among the sums"},
		{"fit --model x --sums damaged", 6, "is damaged"},
		{"fit --model x --sums twice --select error", 2, "needs the scores of rows"},
		{"fit --model x --sums twice --select best", 2, "--select must be"},
		{"fit --model x --sums twice --calibrate platt", 2, "the recipe was made without --calibrate platt"},
		{"fit --model x --sums twice --calibrate isotonic", 2, "train on the rows"},
		{"fit --model x --sums twice --calibrate plat", 2, "must be auto, none or platt"},
		{"train --model x --recipe reg --data numbers.csv --calibrate platt", 2, "is for classification"},
		{"fit --model x --sums twice --lambda -1", 2, "--lambda must be"},
		{"fit --plan --sums nowhere", 3, "no directory of sums"},
		{"fit --model x --sums nowhere", 3, "no directory of sums"},
		{"fit --model x --sums s/* --last 5", 2, "--last must be"},
		{"fit --model x --sums m", 6, "not a directory that bochner sum created"},
		{"sum --recipe m --data a.csv --out s/dt=2026-01-02", 3, "sums of other files"},
		{"sum --recipe other --data b.csv --out s/dt=2026-01-02", 3, "another recipe"},
		{"sum --recipe rounds --data a.csv --out x", 2, "iterative learner"},
		{"sum --recipe reg --data beyond.csv --out x", 3, "a recipe with more room"},
		{"sum --recipe two --data far.csv --out x", 3, `the label 7 in column "p", beyond the grid`},
		{"sum --recipe two --data two.csv --label l --out x", 2, "the recipe has 2 (p, l)"},
		{"train --recipe m --data a.csv --model x --features 10", 2, "--features cannot be used"},
		{"forget --model grown --sums s/* --data new.csv --label l --out x2 --last 5d", 3, "was trained on"},
		{"forget --model last --sums s/dt=2026-01-02,s/dt=2026-02-01 --data a.csv --out x", 3,
			"a.csv:2: the row is not in the sums"},
		{"forget --model last --sums s/dt=2026-01-02,s/dt=2026-02-01 --data never.csv --out x --save_sums y", 3,
			"never.csv:2: the row is not in the sums"},
		{"forget --model rounds --sums s/* --data a.csv --out x", 2, "iterative learner"},
		{"forget --model unlisted-model --sums unlisted --data b.csv --out x", 3, "unlisted does not list its rows"},
		{"forget --model unlisted-model --sums mislisted --data b.csv --out x", 6, "mislisted: row_hashes.bin is damaged"},
		{"fit --model after --sums y", 3, "no directory of sums"},
		{"forget --model last --sums o --data new.csv --out x", 3, "another recipe"},
		{"verify --certificate proof.json --model less --sums o --data new.csv", 3, "another recipe"},
	} {
		if r := run(t, dir, append(strings.Fields(c.command), "--quiet")...); r.code != c.code ||
			!strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: exit code %d, want %d with %q\n%s", c.command, r.code, c.code, c.want, r.stderr)
		}
	}
	sum("roomy", "beyond.csv", "roomy-sums")
}

// unlist removes the list of rows from the manifest of sums.
func unlist(t *testing.T, name string) {
	t.Helper()
	text := read(t, filepath.Dir(name), filepath.Base(name))
	from := strings.Index(text, `  "row_hashes": {`)
	to := strings.Index(text, `  "sums_sha256"`)
	tail := strings.Index(text, `  "sha256": "`+text[len(text)-len("\"\n}\n")-64:])
	if from < 0 || to < from || tail < to {
		t.Fatalf("no list of rows in %s", text)
	}
	body := text[:from] + text[to:tail]
	write(t, filepath.Dir(name), filepath.Base(name),
		fmt.Sprintf("%s  \"sha256\": \"%x\"\n}\n", body, sha256.Sum256([]byte(body))))
}

// A part that has drifted is named when it is summed, and rejected beyond a bound: by a column when it is
// summed, by features among the others when a model is fitted.
func TestDriftedPartsAreRejected(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(4, 7))
	for _, c := range []struct {
		name          string
		scale, within float64
	}{{"recipe", 1, 0.95}, {"a", 1, 0.95}, {"b", 1, 0.95}, {"scaled", 30, 0.95}, {"unrelated", 1, 0}} {
		text := "x,y,l\n"
		for range 600 {
			x, e := r.NormFloat64(), r.NormFloat64()
			text += fmt.Sprintf("%.4f,%.4f,%s\n", x*c.scale, c.within*x+math.Sqrt(1-c.within*c.within)*e, letter(r))
		}
		write(t, dir, c.name+".csv", text)
	}
	must(t, dir, "train", "--search", "none", "--data", "recipe.csv", "--label", "l", "--features", "60", "--lambda",
		"1e-4", "--model", "m", "--quiet")
	for _, name := range []string{"a", "b", "scaled", "unrelated"} {
		said := must(t, dir, "sum", "--recipe", "m", "--data", name+".csv", "--out", "s/"+name, "--quiet")
		if named := strings.Contains(said, "drift     x: "); named != (name == "scaled") {
			t.Errorf("%s: %s", name, said)
		}
	}
	for _, c := range []struct {
		command string
		code    int
		want    string
	}{
		{"sum --recipe m --data scaled.csv --out t --max_drift 0.2", 4, "gate not passed: x: "},
		{"sum --recipe m --data scaled.csv --out s/scaled --max_drift 0.2", 4, "gate not passed: x: "},
		{"sum --recipe m --data a.csv --out t --max_drift 2", 2, "between 0 and 1"},
		{"fit --sums s/a,s/b,s/scaled --model t --max_drift 0.2", 4, "gate not passed: s/scaled: x: "},
		{"fit --sums s/a,s/b,s/unrelated --model t --max_drift 0.05", 4,
			"gate not passed: s/unrelated: in the features of the model its rows are "},
		{"sum --recipe m --data b.csv --out u --max_drift 0.2", 0, ""},
		{"fit --sums s/a,s/b --model u2 --max_drift 0.05", 0, ""},
	} {
		if r := run(t, dir, append(strings.Fields(c.command), "--quiet")...); r.code != c.code ||
			!strings.Contains(r.stderr, c.want) || strings.Contains(r.stderr, "s/a") {
			t.Errorf("%s: exit code %d, want %d with %q\n%s", c.command, r.code, c.code, c.want, r.stderr)
		}
	}
	for _, name := range entries(t, dir) {
		if name == "t" {
			t.Error("a refused part or model was created")
		}
	}
}

// If --label names a column of numbers by mistake, sum does not make classes of one row each of them. A day
// whose classes are all new is summed.
func TestSumsRejectLabelsOfAnotherColumn(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(3, 4))
	table, others := "x,y,price,class\n", "x,y,price,class\n"
	for range 60 {
		x, y := points(r)
		table += fmt.Sprintf("%.4f,%.4f,%.3f,%s\n", x, y, x-y, letter(r))
		others += fmt.Sprintf("%.4f,%.4f,%.3f,new%s\n", x, y, x-y, letter(r))
	}
	write(t, dir, "day.csv", table)
	write(t, dir, "later.csv", others)
	must(t, dir, "train", "--data", "day.csv", "--label", "class", "--drop", "price", "--search", "none", "--features",
		"16", "--model", "recipe", "--quiet")
	must(t, dir, "sum", "--recipe", "recipe", "--data", "later.csv", "--out", "later", "--quiet")
	for _, job := range [][]string{{"sum", "--out", "sums"}, {"train", "--model", "model"}} {
		got := run(t, dir, append(job, "--recipe", "recipe", "--data", "day.csv", "--label", "price", "--quiet")...)
		if want := "none of them a class of the recipe; name the column of the classes with --label"; got.code != 3 ||
			!strings.Contains(got.stderr, want) {
			t.Errorf("%s: exit code %d, %q; want 3, %q", job[0], got.code, got.stderr, want)
		}
	}
}
