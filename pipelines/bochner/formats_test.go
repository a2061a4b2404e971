package main

import (
	bytesOf "encoding/binary"
	"encoding/csv"
	"fmt"
	"go/parser"
	"go/token"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// numbersOf reads numbers of a CSV file by the names of its columns.
func numbersOf(t *testing.T, text string) (names []string, rows [][]float64) {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range records[1:] {
		var row []float64
		for _, field := range record {
			v, err := strconv.ParseFloat(field, 64)
			if err != nil {
				t.Fatal(err)
			}
			row = append(row, v)
		}
		rows = append(rows, row)
	}
	return records[0], rows
}

// writePlaces writes places.csv, of which a search makes levels.
func writePlaces(t *testing.T, dir string) {
	t.Helper()
	var places strings.Builder
	places.WriteString("time,place,y\n")
	for i := range 400 {
		place, time := i%30, i*7919%1000
		fmt.Fprintf(&places, "%d,%d,%d\n", time, place, place*place*7%13*(1000+time))
	}
	write(t, dir, "places.csv", places.String())
}

// writeCodes writes codes.csv, of which a search makes levels next to the numbers, and differences.
func writeCodes(t *testing.T, dir string) {
	t.Helper()
	var codes strings.Builder
	codes.WriteString("a,b,count,y\n")
	for i := range 1100 {
		a, b, count := i%8, i*31/8%8, i*7919%31
		fmt.Fprintf(&codes, "%d,%d,%d,%d\n", a, b, count, (a*a*7%13-5)*5+count*(b+4)+[]int{200, 90, 0, 90, 40, 0, 0, 200}[max(a-b, b-a)])
	}
	write(t, dir, "codes.csv", codes.String())
}

func TestAnotherProgramReadsModels(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, set := range []string{"moons", "friedman"} {
		must(t, dir, "generate", set, "--rows", "400", "--out", set+".csv")
	}
	writePlaces(t, dir)
	writeCodes(t, dir)
	for i, flags := range []string{
		"places --kernel gaussian --task regression --search auto",
		"codes --kernel gaussian --task regression --search auto",
		"friedman --kernel gaussian",
		"friedman 1e-12 --kernel gaussian --width 20",
		"friedman --kernel gaussian --form offset --scale minmax",
		"friedman --kernel gaussian --draw orthogonal --scale unit",
		"friedman --kernel gaussian --draw structured --scale none --width 2",
		"friedman --kernel laplace --scale 2",
		"friedman --kernel cauchy --form offset",
		"friedman --kernel matern --nu 2.5",
		"friedman --kernel exponential --exponent 1.4",
		"friedman --kernel maxout --q 3",
		"friedman --kernel maxout --q 3 --pool 20",
		"friedman --kernel linear",
		"moons --kernel gaussian --calibrate platt",
		"moons --kernel gaussian --calibrate isotonic",
		"moons --kernel gaussian --threshold -0.3",
		"moons --kernel gaussian --threshold 0.8 --calibrate platt",
		"moons --kernel gaussian --learner sgd --loss softmax --rounds 2",
		"moons --kernel matern --nu 0.5 --learner sgd --loss logistic --rounds 2",
		"moons --kernel learned --chains 12 --steps 3 --take 3",
		"moons --kernel learned --align lkrf --form offset",
	} {
		if !long() && i%2 == 0 { // the others have most parts of the format
			continue
		}
		t.Run(flags, func(t *testing.T) {
			args, lambda := strings.Fields(flags), "1e-3"
			if args[1] == "1e-12" { // differences grow with the weights
				lambda, args = "1e-12", slices.Delete(args, 1, 2)
			}
			model, predicted := fmt.Sprint("model", i), fmt.Sprint("predicted", i)
			train := []string{"train", "--data", args[0] + ".csv", "--label", "y", "--lambda", lambda, "--model", model,
				"--quiet"}
			if !slices.Contains(args, "linear") {
				train = append(train, "--features", "96")
			}
			must(t, dir, append(train, args[1:]...)...)
			predict := []string{"predict", "--data", args[0] + ".csv", "--model", model, "--out", predicted, "--quiet",
				"--scores"}
			if args[0] == "places" && !strings.Contains(read(t, dir, model, "manifest.json"), `"bins.levels"`) {
				t.Fatal("the model has no levels")
			}
			if args[0] == "codes" {
				for _, part := range []string{`"keep": true`, `"differences"`} {
					if !strings.Contains(read(t, dir, model, "manifest.json"), part) {
						t.Fatalf("the model has no %s", part)
					}
				}
			}
			m := readOutsider(t, dir+"/"+model)
			if m.Probabilities.Kind != "" {
				predict = append(predict, "--probabilities")
			}
			must(t, dir, predict...)
			_, data := numbersOf(t, read(t, dir, args[0]+".csv"))
			for n, row := range data {
				data[n] = row[:len(row)-1]
			}
			m.compare(t, data, read(t, dir, predicted, "part-00000.csv"))
		})
	}
}

// compare compares the predictions for rows with bochner's.
func (m *outsider) compare(t *testing.T, data [][]float64, predicted string) {
	t.Helper()
	names, got := numbersOf(t, predicted)
	if len(got) != len(data) {
		t.Fatalf("%d predictions for %d rows", len(got), len(data))
	}
	for n, row := range data {
		for i, v := range row {
			row[i] = float64(float32(v))
		}
		phi := m.Recipe.features(row)
		s := m.scores(phi)
		want := append([]float64{m.prediction(t, s)}, s...)
		if m.Probabilities.Kind != "" {
			want = append(want, m.probabilities(s)...)
		}
		if m.Task == "regression" {
			// The score that is written is the prediction. In units of half the range:
			half := (m.TargetGrid.High - m.TargetGrid.Low) / 2
			want[0], got[n][0], got[n][1] = want[0]/half, got[n][0]/half, got[n][1]/half
			want[1] = want[0]
		}
		if len(got[n]) > len(want) || len(got[n]) < 2 {
			t.Fatalf("%d numbers %v, want %d", len(got[n]), names, len(want))
		}
		// The bound that the documents give, for 5 turns and the output with the largest weights.
		var most float64
		for c, b := range m.intercept {
			most = max(most, math.Abs(b)+norm(m.weights[c*m.Features:][:m.Features])*norm(phi))
		}
		most *= 3e-8 * (5 + math.Sqrt(float64(m.Features)) + 5)
		for j, v := range got[n] {
			if !(math.Abs(v-want[j]) <= most) {
				t.Fatalf("row %d, %s: %v, by the documents %v, which may differ by %.2g", n, names[j], v, want[j], most)
			}
		}
	}
}

func norm(v []float64) float64 {
	var squares float64
	for _, x := range v {
		squares += x * x
	}
	return math.Sqrt(squares)
}

func TestDocumentedFoldRuleMatchesTraining(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, dir, "generate", "friedman", "--rows", "1000", "--out", "data.csv")
	must(t, dir, "train", "--data", "data.csv", "--label", "y", "--features", "32", "--lambda", "1e-4,1e-2", "--folds",
		"4", "--seed", "5", "--model", "model", "--quiet")
	m := readOutsider(t, dir+"/model")
	seed, err := strconv.ParseUint(m.Seed, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	_, data := numbersOf(t, read(t, dir, "data.csv"))
	heldOut := 0
	for _, row := range data {
		var content []byte
		for i, v := range row[:len(row)-1] {
			if v != 0 {
				content = bytesOf.LittleEndian.AppendUint64(content, uint64(math.Float32bits(float32(v)))<<32|uint64(i))
			}
		}
		if xxh64(seed^0x666f6c64, content)%4 == 0 {
			heldOut++
		}
	}
	if got := m.Learner.Table[0].Held; got != heldOut {
		t.Errorf("%d rows held out, by the documents %d", got, heldOut)
	}
}

func TestDocumentReaderImportsNothingOfThisModule(t *testing.T) {
	for _, name := range []string{
		"formats_reader_test.go", "formats_fields_test.go", "formats_skeleton_test.go", "formats_steps_test.go",
		"formats_test.go",
	} {
		f, err := parser.ParseFile(token.NewFileSet(), source("pipelines/bochner/"+name), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if strings.Contains(i.Path.Value, ".") {
				t.Errorf("%s imports %s", name, i.Path.Value)
			}
		}
	}
}

// rowsOfAllTypes returns a table of columns of all types, written in all ways.
func rowsOfAllTypes() string {
	fields := [][]string{
		{"1.5", "NA", "", "2", "-7", " ? ", "3.25"},
		{"$10", "12 $", "-$3", "$ 4.5", "7"},
		{"red", " red", "Red", `"blue, dark"`, "1", "1.0", "01", "+1", "2.00", "", "e\u0301", "\u00e9", "red\u00a0"},
		{"yes", "NO", "Yes", "no", ""},
		{
			"2024-02-29", "1969-12-31T18:30:15.25Z", "2023-03-05T01:45+05:30", "2023-03-05 23:10:59-0800", "nan",
			"2022-07-04 12:00",
			"2021-11-30T00:00:01", "2020-01-01",
		},
		{"29.2.24", "1.12.69 07:30", "03.04.2021"},
		{`"Feb 29, 2024 12:05 AM"`, "december 1 68", "Sept-3-2021 8:30pm"},
		{"8:30", "23:59:59", "12:15 AM"},
		{"2.50", "-1e3", "0.1", "17"},
	}
	rows := "num,price,level,flag,when,day,text,clock,other,many,y\n"
	for i := range 400 {
		sum := 0
		for j, list := range fields {
			at := i * (3 + 2*j) / (j + 1) % len(list)
			sum += at * (j%3 - 1)
			rows += list[at] + ","
		}
		rows += fmt.Sprintf("user-%d-of-many-who-have-long-names,%d\n", i*7%60, sum+i%5)
	}
	return rows
}

// manyLevels matches the levels of the column many in a schema.
var manyLevels = regexp.MustCompile(`(name: many\n.*\n.*category.*\n) +levels:\n(      - .*\n)+`)

func TestAnotherProgramReadsTypedTables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rows := rowsOfAllTypes()
	write(t, dir, "typed.csv", rows)
	must(t, dir, "inspect", "--data", "typed.csv", "--label", "y", "--write_schema", "schema.yaml", "--quiet")
	write(t, dir, "hashed.yaml", manyLevels.ReplaceAllString(read(t, dir, "schema.yaml"), "$1    buckets: 7\n"))
	for i, flags := range []string{
		"--label y --search none", "--label y --search auto",
		"--label y --encode target", "--label y --encode count --fill median", "--schema hashed.yaml --scale minmax",
	} {
		t.Run(flags, func(t *testing.T) {
			model, predicted := fmt.Sprint("model", i), fmt.Sprint("predicted", i)
			must(t, dir, append([]string{
				"train", "--data", "typed.csv", "--task", "regression", "--lambda", "1e-3", "--features", "96", "--model", model,
				"--quiet",
			}, strings.Fields(flags)...)...)
			must(t, dir, "predict", "--data", "typed.csv", "--model", model, "--out", predicted, "--quiet", "--scores")
			m := readOutsider(t, dir+"/"+model)
			types := map[string]bool{}
			records, err := csv.NewReader(strings.NewReader(rows)).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			var data [][]float64
			for _, record := range records[1:] {
				var row []float64
				for _, c := range m.Input.Options.Table.Columns {
					types[c.Type+c.Layout] = true
					types["buckets"] = types["buckets"] || c.Buckets > 0
					row = append(row, m.Input.Options.Table.values(&c, record[slices.Index(records[0], c.Name)])...)
				}
				data = append(data, row)
			}
			for _, name := range []string{"number", "boolean", "category", "timeiso", "timed.m.y", "timemon d y", "timeh:m"} {
				if !types[name] {
					t.Errorf("no column is a %s; have %v", name, types)
				}
			}
			if types["buckets"] != strings.Contains(flags, "hashed") {
				t.Errorf("%s: have %v", flags, types)
			}
			m.compare(t, data, read(t, dir, predicted, "part-00000.csv"))
		})
	}
}

func TestAnotherProgramReadsSkeletons(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const rows = 120
	var images []byte // planar, of three channels
	random := newWords(1, "images", 0)
	for i := range rows {
		images = append(images, byte(i%3))
		for p := range 3072 {
			images = append(images, byte(random.below(uint64(90+50*(i%3)+p%7))))
		}
	}
	write(t, dir, "images.bin", string(images))
	table := "a,b,c,d,e,f,g,h,y\n" // c, d and e, f are vectors of length 1
	for i := range rows {
		s, r := math.Sincos(float64(i))
		u, v := math.Sincos(float64(i * i))
		table += fmt.Sprintf("%g,%g,%g,%g,%g,%g,%d,%g,%g\n",
			random.normal(), random.normal(), s, r, u, v, i%7-3, random.cauchy(), s*u+random.uniform())
	}
	write(t, dir, "table.csv", table)
	const image = "image: {height: 32, width: 32, channels: 3, planar: true, crop: 9}\n"
	for name, skeleton := range map[string]string{
		"convolutions": image + `space: {circle: 2}
layers:
  - {conv: 4, stride: 2, activation: {exponential: 0.5}}
  - {conv: 2, activation: {relu: true}}
  - {full: true, activation: {step: 9}}
`,
		"hybrid convolutions": image + `space: {circle: 2}
layers:
  - {conv: 3, stride: 3, activation: {exponential: 1}}
  - {full: true, activation: {polynomial: [0.2, 0.3, 0.5]}}
`,
		"pixels": image + `space: {gaussian: 1.5}
layers:
  - {conv: 5, stride: 4, activation: {exponential: 1}}
  - {full: true, activation: {relu: true}}
`,
		"nodes": `columns: 8
nodes:
  - {name: g, space: {gaussian: 2}, columns: [0, 1]}
  - {name: out, activation: {exponential: 0.5}, inputs: [h, low, g, p]}
  - {name: h, activation: {exponential: 0.4}, inputs: [k, c, b, q]}
  - {name: q, space: {sphere: pairs}, columns: [3, 2]}
  - {name: b, space: {binary: true}, columns: [0]}
  - {name: k, space: {categorical: 5}, columns: [6]}
  - {name: p, space: {sphere: projection}, columns: [4, 5]}
  - {name: x, space: {sphere: coordinates}, columns: [2, 3]}
  - {name: c, space: {circle: 3}, columns: [7]}
  - {name: low, activation: {relu: true}, inputs: [x, c, q]}
`,
	} {
		t.Run(name, func(t *testing.T) {
			at := strings.Fields(name)
			model, predicted, file := strings.Join(at, "-"), strings.Join(at, "-")+"-predicted", strings.Join(at, "-")+".yaml"
			write(t, dir, file, skeleton)
			args := []string{"--data", "images.bin", "--scale", "255"}
			if name == "nodes" {
				args = []string{"--data", "table.csv", "--label", "y", "--scale", "none", "--numeric", "g"}
			}
			if at[0] == "hybrid" {
				args = append(args, "--hybrid")
			}
			must(t, dir, append([]string{
				"train", "--kernel", "skeleton", "--skeleton", file, "--features", "300", "--lambda", "1e-3", "--model", model,
				"--quiet",
			}, args...)...)
			must(t, dir, "predict", "--data", args[1], "--model", model, "--out", predicted, "--quiet", "--scores")
			var data [][]float64
			if name == "nodes" {
				_, data = numbersOf(t, table)
				for i, row := range data {
					data[i] = row[:8]
				}
			}
			for i := 0; i < len(images) && name != "nodes"; i += 3073 {
				var row []float64
				for _, b := range images[i+1:][:3072] {
					row = append(row, float64(b))
				}
				data = append(data, row)
			}
			said := read(t, dir, predicted, "part-00000.csv")
			comparePython(t, dir, model, args[1], data, said)
			readOutsider(t, dir+"/"+model).compare(t, data, said)
		})
	}
}
