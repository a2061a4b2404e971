package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/models"
)

// targetRow is a row with two targets, of which the second may be missing.
type targetRow struct {
	A float64  `parquet:"a" json:"a" avro:"a"`
	B float64  `parquet:"b" json:"b" avro:"b"`
	Y float64  `parquet:"y" json:"y" avro:"y"`
	Z *float64 `parquet:"z,optional" json:"z" avro:"z"`
}

// targetRows returns rows, in which the second target is missing as often as missing says.
func targetRows(n, missing int) (rows []targetRow) {
	rnd := rand.New(rand.NewPCG(8, 15))
	for i := range n {
		a, b := rnd.NormFloat64(), rnd.NormFloat64()
		z := 1e6 + 1000*(math.Cos(a)+b)
		r := targetRow{a, b, math.Sin(a) * b, &z}
		if i < missing {
			r.Z = nil
		}
		rows = append(rows, r)
	}
	rnd.Shuffle(n, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}

func targetFields(r targetRow) []string {
	z := ""
	if r.Z != nil {
		z = decimalOf(*r.Z)
	}
	return []string{decimalOf(r.A), decimalOf(r.B), decimalOf(r.Y), z}
}

func targetFiles(t *testing.T, rows []targetRow) map[string]string {
	return tables(t, rows, "a,b,y,z", targetFields, `{"type": "record", "name": "row", "fields": [{"name": "a", "type": "double"},
		{"name": "b", "type": "double"}, {"name": "y", "type": "double"}, {"name": "z", "type": ["null", "double"]}]}`)
}

// Rows of several targets give one model, for every format, cut into files, order of rows and columns, and
// runner. A row without one of its labels is set aside.
func TestSeveralTargetsGiveOneModelIndependentOfReading(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const n, missing = 500, 7
	rows := targetRows(n, missing)
	for format, content := range targetFiles(t, rows) {
		write(t, dir, "data."+format, content)
	}
	// Two files with other rows first, and the labels elsewhere.
	for part, of := range [][]targetRow{rows[n/3:], rows[:n/3]} {
		var b strings.Builder
		b.WriteString("z,a,y,b\n")
		for _, r := range of {
			f := targetFields(r)
			fmt.Fprintf(&b, "%s,%s,%s,%s\n", f[3], f[0], f[2], f[1])
		}
		write(t, dir, fmt.Sprint("part", part, ".csv"), b.String())
	}
	var want string
	for i, way := range []string{
		"--data data.csv --shard_bytes 2000",
		"--data data.csv.gz", "--data data.jsonl --label=y,z", "--data data.parquet --shard_bytes 900",
		"--data data.avro --shard_bytes 900",
		"--data part0.csv --data part1.csv --readers 3 --runner prism --shard_bytes 3000",
		"--data data.jsonl --threads 1 --shard_bytes 2500",
	} {
		model := fmt.Sprint("model", i)
		must(t, dir, append([]string{"train", "--label", "y,z", "--columns", "a,b", "--features", "32", "--model", model,
			"--quiet"}, strings.Fields(way)...)...)
		got := withoutFormat(t, read(t, dir, model, "manifest.json"))
		var m map[string]any
		if err := json.Unmarshal([]byte(got), &m); err != nil {
			t.Fatal(err)
		}
		if rows := m["rows"].(map[string]any); rows["used"] != float64(n-missing) || rows["set_aside"] != float64(missing) {
			t.Errorf("%s: rows %v", way, rows)
		}
		delete(m["input"].(map[string]any), "options") // which have the order of the columns
		text, _ := json.MarshalIndent(m, "", " ")
		got = string(text) + read(t, dir, model, "weights.safetensors")
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%s: another model: %.2000s", way, cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
		}
	}
	if list := read(t, dir, "model0", "set_aside.jsonl"); strings.Count(list, `has no label (column \"z\")`) != missing {
		t.Errorf("set aside: %s", list)
	}
}

// A model of several targets predicts each like a model of that target, digit for digit, by the command and in
// a program, and evaluate scores each.
func TestSeveralTargetsArePredictedLikeSeparateModels(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "data.csv", targetFiles(t, targetRows(300, 0))["csv"])
	for name, label := range map[string]string{"both": "y,z", "y": "y", "z": "z"} {
		must(t, dir, "train", "--data", "data.csv", "--label", label, "--columns", "a,b", "--features", "64", "--lambda",
			"1e-5", "--model", name, "--quiet")
		must(t, dir, "predict", "--data", "data.csv", "--model", name, "--out", "predicted-"+name, "--quiet")
	}
	both := csvTable(t, dir, "predicted-both", "part-00000.csv")
	if head := strings.Join(both[0], " "); head != "prediction_y prediction_z" {
		t.Errorf("columns %s", head)
	}
	for c, name := range []string{"y", "z"} {
		alone := csvTable(t, dir, "predicted-"+name, "part-00000.csv")
		for i := range alone[1:] {
			if both[1+i][c] != alone[1+i][0] {
				t.Fatalf("row %d: %s is %s, alone %s", i, name, both[1+i][c], alone[1+i][0])
			}
		}
	}
	line, _, _ := strings.Cut(must(t, dir, "predict", "--data", "data.csv", "--model", "both", "--out", "-",
		"--out_format", "jsonl", "--quiet"), "\n")
	if want := fmt.Sprintf(`{"prediction_y":%s,"prediction_z":%s}`, both[1][0], both[1][1]); line != want {
		t.Errorf("JSON %s, want %s", line, want)
	}
	m, err := models.Load(os.DirFS(filepath.Join(dir, "both")))
	if err != nil {
		t.Fatal(err)
	}
	if names := strings.Join(m.Outputs(), " "); names != "y z" || m.Width() != 2 {
		t.Errorf("outputs %s, width %d", names, m.Width())
	}
	type scores map[string]any
	evaluate := func(model string) (r struct {
		Targets scores
		By      []scores `json:"by_target"`
		Mean    float64  `json:"mean_r2"`
	}) {
		if err := json.Unmarshal([]byte(must(t, dir, "evaluate", "--data", "data.csv", "--model", model, "--json",
			"--quiet")), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	all, mean := evaluate("both"), 0.0
	for c, name := range []string{"y", "z"} {
		want := evaluate(name).Targets
		mean += want["r2"].(float64) / 2
		want["target"] = name
		if diff := cmp.Diff(want, all.By[c]); diff != "" {
			t.Errorf("scores of %s: %s", name, diff)
		}
	}
	if all.Targets != nil || math.Abs(all.Mean-mean) > 1e-12 {
		t.Errorf("targets %v, mean R² %g, want %g", all.Targets, all.Mean, mean)
	}
	if out := must(t, dir, "evaluate", "--data", "data.csv", "--model", "both", "--slices", "b",
		"--quiet"); !strings.Contains(out, "mean R²") || !strings.Contains(out, "\ny by b, ") ||
		!strings.Contains(out, "\nz by b, ") {
		t.Errorf("%.2000s", out)
	}
	y, z := all.By[0]["rmse"].(float64), all.By[1]["rmse"].(float64)
	if y*10 > z {
		t.Fatalf("errors %g and %g do not tell the targets apart", y, z)
	}
	for gate, code := range map[string]int{
		"mean_r2>=0.5":                         0,
		fmt.Sprintf("rmse<=%g", 2*z):           0,
		fmt.Sprintf("rmse<=%g", 2*y):           4, // of z
		fmt.Sprintf("rmse:y<=%g,r2>=0.1", 2*y): 0,
		fmt.Sprintf("rmse:z<=%g", 2*y):         4,
		"r2:x>=0":                              2,
		"mean_r2:y>=0":                         2,
	} {
		if r := run(t, dir, "evaluate", "--data", "data.csv", "--model", "both", "--gate", gate, "--quiet"); r.code != code {
			t.Errorf("gate %s: exit code %d, want %d: %s", gate, r.code, code, r.stderr)
		}
	}
}

func TestOneLabelJobsRejectSeveralLabels(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "data.csv", targetFiles(t, targetRows(100, 0))["csv"])
	write(t, dir, "same.csv", "a,y,y\n1,2,3\n4,5,7\n")
	write(t, dir, "flat.csv", "a,b,y,z\n1,2,0.5,7\n2,3,1.5,7\n")
	must(t, dir, "train", "--data", "data.csv", "--label", "y,z", "--features", "16", "--lambda", "1e-3", "--model",
		"both", "--quiet")
	must(t, dir, "train", "--data", "data.csv", "--label", "y", "--columns", "a,b", "--features", "16", "--lambda", "1e-3",
		"--model", "one", "--quiet")
	for args, want := range map[string]string{
		"train --model m --data data.csv --label y,z --learner svm":         "learner svm takes one; learner ridge takes several",
		"train --model m --data data.csv --label y,z --learner sgd --plan":  "learner sgd takes one",
		"train --model m --data data.csv --label y,z --kernel learned":      "learned features need one label",
		"align --out m --data data.csv --label y,z":                         "learned features need one label",
		"train --model m --data data.csv --label y,z --task classification": "the 2 columns y, z are the targets of a regression",
		"train --model m --data data.csv --label y,z --calibrate platt":     "--calibrate platt is for classification",
		"train --model m --data data.csv --label y,y":                       `column "y" is given twice as label`,
		"train --model m --data same.csv --label 2,3":                       `have the name "y"`,
		"train --model m --data data.csv --label y,x":                       `no column "x"`,
		"train --model m --data flat.csv --label y,z":                       `the target 7 in column "z"`,
		"evaluate --model both --data data.csv --label z":                   "predicts 2 targets (y, z), and the data has 1 label",
		"evaluate --model one --data data.csv --label y,z":                  "the model one takes one label",
		"compare --champion both --challenger one --data data.csv":          "predicts",
		"compare --champion both --challenger both --data data.csv":         "models of one number can be compared",
	} {
		if r := run(t, dir, append(strings.Fields(args), "--quiet")...); r.code != 2 && r.code != 3 ||
			!strings.Contains(r.stderr, want) {
			t.Errorf("%s: exit code %d, %s; want %q", args, r.code, r.stderr, want)
		}
	}
	// Columns are named in any order; the model has its own.
	if a, b := must(t, dir, "evaluate", "--model", "both", "--data", "data.csv", "--quiet"), must(t, dir, "evaluate",
		"--model", "both", "--data", "data.csv", "--label", "z,y", "--quiet"); a != b {
		t.Errorf("with the labels named in another order: %s, want %s", b, a)
	}
	if out := must(t, dir, "inspect", "--model", "both"); !strings.Contains(out, "targets   y, z") {
		t.Errorf("%s", out)
	}
	// A schema file may say that several columns are labels.
	must(t, dir, "inspect", "--data", "data.csv", "--label", "y,z", "--write_schema", "schema.yaml", "--quiet")
	must(t, dir, "train", "--data", "data.csv", "--schema", "schema.yaml", "--features", "16", "--lambda", "1e-3",
		"--model", "again", "--quiet")
	if a, b := read(t, dir, "again", "weights.safetensors"), read(t, dir, "both", "weights.safetensors"); a != b {
		t.Error("the schema file gives other weights")
	}
	// Labels of features are an array with a column for each.
	must(t, dir, "featurize", "--data", "data.csv", "--label", "y,z", "--features", "16", "--out", "f", "--out_format",
		"csv", "--quiet")
	parts, _ := filepath.Glob(filepath.Join(dir, "f", "part-*.csv"))
	if len(parts) != 1 || !strings.Contains(read(t, parts[0]), ",label_y,label_z\n") {
		t.Errorf("%v", parts)
	}
}
