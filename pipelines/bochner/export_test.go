package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/landmarks"
	"github.com/bochner-ml/bochner/internal/testing/realdata"
)

// pythonVariable names a Python with numpy, pandas, onnx, onnxruntime and mlflow (or
// mlflow-skinny): make test-export installs one.
const pythonVariable = "BOCHNER_PYTHON"

// python runs a script of Python.
func python(t *testing.T, dir string, args ...string) string {
	t.Helper()
	program := os.Getenv(pythonVariable)
	if program == "" {
		t.Skip(pythonVariable + " does not name a Python with the packages of examples/python/requirements.txt")
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "MLFLOW_TRACKING_URI=file://"+dir, "PYTHONDONTWRITEBYTECODE=1", "PYTHONUTF8=1")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("python %s: %v\n%s", strings.Join(args, " "), err, said.String())
	}
	return string(out)
}

// likeness is how predictions differ from the command's.
type likeness struct {
	rows, labels int
	most         float64 // difference of scores and probabilities; of a regression in units of half the range
}

// compareTables compares rows of another program with rows of predict.
func compareTables(t *testing.T, m *outsider, own, other string) (l likeness) {
	t.Helper()
	want, err := csv.NewReader(strings.NewReader(own)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	got, err := csv.NewReader(strings.NewReader(other)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if l.rows = len(want) - 1; len(got) != l.rows || l.rows < 100 {
		t.Fatalf("%d predictions, want %d", len(got), l.rows)
	}
	unit := 1.0
	if m.Task == "regression" {
		unit = (m.TargetGrid.High - m.TargetGrid.Low) / 2
	}
	for i, row := range got {
		said := want[i+1]
		if m.Task == "classification" {
			if !sameClass(said[0], row[0]) {
				l.labels++
			}
			said, row = said[1:], row[1:]
		}
		if len(row) == 0 || len(row) > len(said) {
			t.Fatalf("row %d: %q, want %q", i, row, said)
		}
		for j, text := range row {
			v, err := strconv.ParseFloat(text, 64)
			w, saidErr := strconv.ParseFloat(said[j], 64)
			if err != nil || saidErr != nil {
				t.Fatalf("row %d: %q, want %q", i, row, said)
			}
			l.most = max(l.most, math.Abs(v-w)/unit)
		}
	}
	return l
}

// comparePython compares what the reader of examples/python says of a file, or of rows without
// names of columns, if BOCHNER_PYTHON names a Python.
func comparePython(t *testing.T, dir, model, file string, rows [][]float64, own string) {
	t.Helper()
	if os.Getenv(pythonVariable) == "" {
		return
	}
	if !strings.HasSuffix(file, ".csv") {
		file = "rows.csv"
		write(t, dir, file, numbersAsCSV(rows))
	}
	said := python(t, dir, source("examples/python/predict.py"), model, file)
	l := compareTables(t, readOutsider(t, filepath.Join(dir, model)), own, said)
	if l.labels > 0 || !(l.most <= 1e-5) {
		t.Errorf("Python: %d labels and scores by up to %.2g differ; want no label and at most 1e-5", l.labels, l.most)
	}
}

// numbersAsCSV returns rows of numbers without a header.
func numbersAsCSV(rows [][]float64) string {
	var text strings.Builder
	for _, row := range rows {
		text.WriteString(strings.Trim(strings.Join(strings.Fields(fmt.Sprint(row)), ","), "[]") + "\n")
	}
	return text.String()
}

func sameClass(a, b string) bool {
	x, xErr := strconv.ParseFloat(a, 64)
	y, yErr := strconv.ParseFloat(b, 64)
	return a == b || xErr == nil && yErr == nil && x == y
}

// exportCase is a model that other programs compute.
type exportCase struct {
	data, flags string
	refused     string // what export says that a graph cannot express; "" if it can
	mlflow      bool
}

var exportCases = []exportCase{
	{"friedman", "--form offset --scale minmax", "", true},
	{"friedman", "--draw orthogonal --scale unit", "", false},
	{"friedman", "--draw structured --scale none --width 2", "", false},
	{"friedman", "--kernel laplace --scale 2", "", false},
	{"friedman", "--kernel cauchy --form offset", "", false},
	{"friedman", "--kernel matern --nu 2.5", "", false},
	{"friedman", "--kernel exponential --exponent 1.4", "", false},
	{"friedman", "--kernel maxout --q 3", "", false},
	{"friedman", "--kernel maxout --q 3 --pool 20", "", false},
	{"friedman", "--kernel linear", "", false},
	{"friedman", "--search auto", "", false},
	{"friedman", "--search auto --features 256 --seed 3", "", false}, // at training rows, as all with 256
	{"windmill", "--search auto --features 256 --seed 5 --kernel laplace", "", false},
	{"windmill", "--search auto --features 256 --kernel exponential", "", false},
	{"windmill", "--search auto --features 256 --kernel matern --nu 2.5", "", false},
	{"gaps", "--kernel matern", "", true},
	{"clock", "--lambda 1e-6", "", true},
	{"places", "--task regression --search auto", "", false},
	{"board", "--task regression --search auto", "", false},
	{"moons", "--calibrate platt", "", true},
	{"moons", "--calibrate isotonic", "", false},
	{"moons", "--calibrate platt --class_weight 1=4,-1=1", "", false},
	{"moons", "--calibrate isotonic --class_weight 1=4,-1=1", "", false},
	{"moons", "--threshold -0.3", "", false},
	{"moons", "--threshold 0.8 --calibrate platt", "", false},
	{"moons", "--learner sgd --loss softmax --rounds 2 --class_weight balanced", "", false},
	{"moons", "--kernel matern --nu 0.5 --learner sgd --loss logistic --rounds 2", "", false},
	{"moons", "--kernel learned --chains 12 --steps 3 --take 3", "", false},
	{"moons", "--kernel learned --align lkrf --form offset", "", false},
	{"checkerboard", "--kernel harmonic --harmonics 30 --scale none --chains 8 --steps 3 --take 3", "harmonic", false},
	{"typed", "--task regression --search none", "", true},
	{"typed", "--task regression --encode target --search auto", "", false},
	{"typed", "--task regression --encode count --fill median", "", false},
	{"typed", "--task regression --schema hashed.yaml", "hashed to 7 buckets", false},
	{"images", "--scale 255,crop:10", "", false},
	{"images", "--scale 255,crop:10,hog", "image.hog", false},
	{"images", "--scale 255,whiten,patchpca:4:3:5", "image.whiten", false},
	{"images", "--kernel skeleton --skeleton skeleton.yaml --calibrate platt", "skeleton", false},
	{"images", "--scale 255,patchpca:4:3:5,unitpixels --search none", "image.patchpca", false},
	{"images", "--scale 255,unitpixels --search none", "image.unitpixels", false},
	{"images", "--kernel patches --patch 5 --cells 3", "", false},
	{"images", "--scale 255,patches:4:2:8 --search auto", "", false},
	{"images", "--kernel skeleton --skeleton skeleton.yaml --hybrid", "skeleton", false},
	{"friedman", "embed --components 3", "", true},
	{"stores", "fit", "", true},
}

// writeExportData writes the data of exportCases.
func writeExportData(t *testing.T, dir string) {
	t.Helper()
	for _, set := range []string{"moons", "friedman", "checkerboard", "windmill"} {
		must(t, dir, "generate", set, "--rows", "400", "--out", set+".csv")
	}
	writePlaces(t, dir)
	writeGoldenImages(t, dir)
	var pixels [][]float64
	for image := range slices.Chunk([]byte(read(t, dir, "images.idx"))[16:], 144) {
		row := make([]float64, len(image))
		for j, b := range image {
			row[j] = float64(b)
		}
		pixels = append(pixels, row)
	}
	write(t, dir, "images.csv", numbersAsCSV(pixels))
	r := rand.New(rand.NewPCG(1, 2))
	var clock, gaps, stores, board strings.Builder
	board.WriteString("a,b,c,d,e,y\n") // whole numbers whose distances matter
	for range 1500 {
		a, b, c, d, e := r.IntN(8), r.IntN(8), r.IntN(8), r.IntN(8), r.IntN(8)
		near := map[int]float64{0: 3}[a-d] + map[int]float64{-1: 2, 0: 2, 1: 2}[b-c]
		fmt.Fprintf(&board, "%d,%d,%d,%d,%d,%g\n", a, b, c, d, e, near+float64(e)/4+r.NormFloat64())
	}
	write(t, dir, "board.csv", board.String())
	clock.WriteString("when,size,y\n")
	gaps.WriteString("a,b,y\n")
	stores.WriteString("a,b,store,y\n")
	for i := range 400 {
		a, b := r.NormFloat64(), r.NormFloat64()
		when := 1.7e9 + 3*r.Float64()
		fmt.Fprintf(&clock, "%.3f,%g,%g\n", when, a, 1e9+math.Sin(when-1.7e9)+a)
		fmt.Fprintf(&gaps, "%g,%g,%g\n", a, b, a*b)
		fmt.Fprintf(&stores, "%g,%g,%s,%g\n", a, b, []string{"n", "s", "w"}[i%3], b*b+a*float64(i%3))
	}
	write(t, dir, "clock.csv", clock.String())
	write(t, dir, "gaps.csv", gaps.String())
	write(t, dir, "stores.csv", stores.String())
	write(t, dir, "typed.csv", rowsOfAllTypes())
	must(t, dir, "inspect", "--data", "typed.csv", "--label", "y", "--write_schema", "schema.yaml", "--quiet")
	write(t, dir, "hashed.yaml", manyLevels.ReplaceAllString(read(t, dir, "schema.yaml"), "$1    buckets: 7\n"))
}

// model trains the model of a case and returns the flags of its data for predict.
func (c exportCase) model(t *testing.T, dir, model string) (data []string) {
	t.Helper()
	flags := strings.Fields(c.flags)
	data = []string{"--data", c.data + ".csv"}
	label := []string{"--label", "y"}
	switch {
	case flags[0] == "fit":
		must(t, dir, "train", "--data", "stores.csv", "--label", "y", "--features", "64", "--search", "none",
			"--model", "recipe", "--quiet")
		must(t, dir, "sum", "--data", "stores.csv", "--recipe", "recipe", "--by", "store", "--out", "sums", "--quiet")
		must(t, dir, "fit", "--sums", "sums", "--each", "store", "--model", model, "--quiet")
		return data
	case flags[0] == "embed":
		must(t, dir, slices.Concat(flags, data, []string{"--features", "64", "--model", model, "--quiet"})...)
		return data
	case c.data == "images":
		data, label = []string{"--data", "images.idx"}, []string{"--label_files", "labels.idx"}
	case slices.Contains(flags, "--schema"):
		label = nil
	}
	args := slices.Concat([]string{"train", "--model", model, "--quiet"}, data, label, flags)
	if !slices.Contains(flags, "linear") && !slices.Contains(flags, "--features") {
		args = append(args, "--features", "96")
	}
	if !slices.Contains(flags, "--lambda") {
		args = append(args, "--lambda", "1e-3")
	}
	must(t, dir, args...)
	if strings.Contains(c.flags, "auto --features 256") {
		read(t, dir, model, landmarks.FileName)
	}
	return data
}

// Python with numpy only and ONNX Runtime give the predictions of the command, for every kind of model; models
// that a graph cannot express are rejected by name. MLflow loads exports for it, and finds the columns by their
// names.
func TestPythonPredictsLikeTheCommand(t *testing.T) {
	t.Parallel()
	python(t, ".", "-c", "")
	dir := t.TempDir()
	writeExportData(t, dir)
	for i, c := range exportCases {
		t.Run(c.data+" "+c.flags, func(t *testing.T) {
			model := fmt.Sprint("model", i)
			data := c.model(t, dir, model)
			if c.data == "gaps" { // the training data had none
				rows := strings.SplitAfter(read(t, dir, "gaps.csv"), "\n")
				for at := 1; at < len(rows)-1; at += 7 {
					rows[at] = rows[at][strings.IndexByte(rows[at], ','):]
				}
				data[1] = write(t, dir, "gaps-missing.csv", strings.Join(rows, ""))
			}
			if c.data == "windmill" { // scaling makes some infinite
				data[1] = write(t, dir, "windmill-far.csv", read(t, dir, "windmill.csv")+"3e38,1,1\n3e38,-3e38,1\n1e30,0,1\n")
			}
			comparePrograms(t, dir, model, data, c)
		})
	}
}

// comparePrograms compares what the reader of examples/python, ONNX Runtime and MLflow say with
// what predict writes.
func comparePrograms(t *testing.T, dir, model string, data []string, c exportCase) {
	t.Helper()
	m := readOutsider(t, filepath.Join(dir, model))
	predict := slices.Concat([]string{"predict", "--model", model, "--out", model + "-predicted", "--quiet"}, data)
	if m.Task != "embedding" {
		predict = append(predict, "--scores")
	}
	if m.Probabilities.Kind != "" {
		predict = append(predict, "--probabilities")
	}
	must(t, dir, predict...)
	own := read(t, dir, model+"-predicted", "part-00000.csv")
	table := strings.Replace(filepath.Join(dir, filepath.Base(data[1])), ".idx", ".csv", 1)
	check := func(program, said string, most float64) {
		t.Helper()
		if l := compareTables(t, m, own, said); l.labels > 0 || !(l.most <= most) {
			t.Errorf("%s: %d of %d labels and scores by up to %.2g differ; want no label and at most %.2g", program,
				l.labels, l.rows, l.most, most)
		} else {
			t.Logf("%s: scores of %d rows differ by at most %.2g", program, l.rows, l.most)
		}
	}
	check("numpy", python(t, dir, source("examples/python/predict.py"), model, table), 1e-5)
	graph := []string{"export", "--model", model, "--out", model + ".onnx"}
	if c.refused != "" {
		r := run(t, dir, graph...)
		if r.code != 2 || !strings.Contains(r.stderr, c.refused) {
			t.Errorf("export: exit code %d, want 2 and %q\n%s", r.code, c.refused, r.stderr)
		}
		if _, err := os.Stat(filepath.Join(dir, model+".onnx")); err == nil {
			t.Error("export was refused but wrote a file")
		}
		return
	}
	must(t, dir, graph...)
	score := source("pipelines/bochner/testdata/score.py")
	python(t, dir, score, model+".onnx", table, model+"-onnx.csv")
	check("ONNX Runtime", read(t, dir, model+"-onnx.csv"), 1e-4)
	if c.mlflow {
		must(t, dir, "export", "--model", model, "--format", "mlflow", "--out", model+"-mlflow")
		python(t, dir, score, model+"-mlflow", table, model+"-mlflow.csv")
		check("MLflow", read(t, dir, model+"-mlflow.csv"), 1e-4)
	}
}

// On 10,000 rows of real data that the models have not seen, text among them, all labels are equal, and no
// score differs by more than 1e-4.
func TestPythonPredictsRealDataLikeTheCommand(t *testing.T) {
	t.Parallel()
	python(t, ".", "-c", "")
	dir := t.TempDir()
	const adult = "age,workclass,fnlwgt,education,education_num,marital,occupation,relationship,race,sex,gain," +
		"loss,hours,country,y\n"
	houses := strings.Replace(string(realdata.Read(t, "csv", "houses.tsv.gz")), "target", "y", 1)
	cars := strings.Replace(string(realdata.Read(t, "csv", "pg17.csv.gz")), "vh_value", "y", 1)
	table := func(header, text, old, new string) []string {
		return strings.SplitAfter(header+strings.ReplaceAll(text, old, new), "\n")
	}
	letter := string(realdata.Read(t, "libsvm", "letter.scale.gz"))
	for _, c := range []struct {
		name, flags string
		lines       []string
		first       int // rows to train on
	}{
		{"adult", "--calibrate platt --features 1024",
			table(adult, string(realdata.Read(t, "csv", "adult-train.csv.gz")), ", ", ","), 12_000},
		{"houses", "--features 1024", table("", houses, "\t", ","), 10_000},
		{"cars", "--features 512 --drop id_client,id_vehicle,id_policy,pol_insee_code", table("", cars, "\r", ""),
			12_000},
		{"letter", "--features 1024 --lambda 1e-6 --width 1", table(letterHeader(), lettersAsCSV(t, letter), "\r", ""), 5_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(t, dir, c.name+"-train.csv", strings.Join(c.lines[:c.first+1], ""))
			write(t, dir, c.name+".csv", c.lines[0]+strings.Join(c.lines[c.first+1:][:10_000], ""))
			must(t, dir, append([]string{"train", "--data", c.name + "-train.csv", "--label", "y", "--model", c.name,
				"--quiet"}, strings.Fields(c.flags)...)...)
			comparePrograms(t, dir, c.name, []string{"--data", c.name + ".csv"}, exportCase{mlflow: true})
		})
	}
}

func letterHeader() string {
	var names strings.Builder
	for j := range 16 {
		fmt.Fprintf(&names, "x%d,", j+1)
	}
	return names.String() + "y\n"
}

// lettersAsCSV returns rows of 16 numbers of LIBSVM as CSV.
func lettersAsCSV(t *testing.T, text string) string {
	t.Helper()
	var rows strings.Builder
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		row := slices.Repeat([]string{"0"}, 16)
		for _, f := range fields[1:] {
			place, v, _ := strings.Cut(f, ":")
			j, err := strconv.Atoi(place)
			if err != nil {
				t.Fatal(err)
			}
			row[j-1] = v
		}
		fmt.Fprintf(&rows, "%s,%s\n", strings.Join(row, ","), fields[0])
	}
	return rows.String()
}

func TestExportIsTheSameByteForByteAndCompleteOrAbsent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, dir, "generate", "friedman", "--rows", "200", "--out", "data.csv")
	must(t, dir, "train", "--data", "data.csv", "--label", "y", "--features", "32", "--lambda", "1e-3",
		"--search", "none", "--model", "model", "--quiet")
	for _, format := range []string{"onnx", "mlflow"} {
		for _, out := range []string{"a", "b"} {
			said := must(t, dir, "export", "--model", "model", "--format", format, "--out", format+"-"+out)
			if !strings.Contains(said, "prediction  double") {
				t.Errorf("%s: %s", format, said)
			}
		}
	}
	if read(t, dir, "onnx-a") != read(t, dir, "onnx-b") {
		t.Error("two exports differ")
	}
	for _, name := range []string{"MLmodel", "model.onnx", "conda.yaml", "python_env.yaml", "requirements.txt"} {
		if text := read(t, dir, "mlflow-a", name); text == "" || text != read(t, dir, "mlflow-b", name) {
			t.Errorf("%s of two exports differs, or is empty", name)
		}
	}
	for _, c := range []struct{ args, code, says string }{
		{"--model model --out onnx-a", "3", "already exists"},
		{"--model model --format mlflow --out mlflow-a", "3", "already exists"},
		{"--model model --out x --format onnnx", "2", `did you mean "onnx"`},
		{"--model absent --out x", "6", "does not exist"},
		{"--out x", "2", "--model"},
		{"--model model", "2", "--out"},
	} {
		r := run(t, dir, append([]string{"export"}, strings.Fields(c.args)...)...)
		if fmt.Sprint(r.code) != c.code || !strings.Contains(r.stderr, c.says) {
			t.Errorf("export %s: exit code %d, want %s and %q\n%s", c.args, r.code, c.code, c.says, r.stderr)
		}
	}
	names, err := filepath.Glob(filepath.Join(dir, "x*"))
	if err != nil || len(names) > 0 {
		t.Errorf("refused exports left %q (%v)", names, err)
	}
}

// A row that predict rejects has no scores and no label in a graph, which cannot reject it; a row with a
// missing value has both.
func TestRejectedRowHasNoLabelInAGraph(t *testing.T) {
	t.Parallel()
	python(t, ".", "-c", "")
	dir := t.TempDir()
	rows := "size,paid,y\n"
	for i := range 200 {
		rows += fmt.Sprintf("%d,%s,%s\n", i%17, []string{"yes", "no", ""}[i%3], []string{"small", "large"}[i%17/9])
	}
	write(t, dir, "data.csv", rows)
	must(t, dir, "train", "--data", "data.csv", "--label", "y", "--features", "32", "--lambda", "1e-3",
		"--model", "model", "--quiet")
	must(t, dir, "export", "--model", "model", "--out", "model.onnx")
	said := python(t, dir, "-c", `
import numpy as np, onnxruntime
session = onnxruntime.InferenceSession("model.onnx")
size = np.array([[2], [np.nan], [2], [np.inf], [2]], np.float32)
paid = np.array([["yes"], ["TRUE"], [""], ["no"], ["maybe"]], object)
label, scores = session.run(["label", "scores"], {"size": size, "paid": paid})
print(",".join(label), np.isnan(scores).all(1).tolist())
`)
	const want = ",, [False, False, False, True, True]\n"
	if labels, nan, _ := strings.Cut(said, ",, "); len(strings.Split(labels, ",")) != 3 || ",, "+nan != want {
		t.Errorf("prints %q, want three labels and %q", said, want)
	}
}
