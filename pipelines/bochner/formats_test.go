package main

import (
	"encoding/csv"
	"fmt"
	"go/parser"
	"go/token"
	"math"
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

func TestAnotherProgramReadsModels(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, set := range []string{"moons", "friedman"} {
		must(t, dir, "generate", set, "--rows", "400", "--out", set+".csv")
	}
	writePlaces(t, dir)
	for i, flags := range []string{
		"places --kernel gaussian --task regression --search auto",
		"friedman --kernel gaussian",
		"friedman --kernel gaussian --form offset --scale minmax",
		"friedman --kernel gaussian --draw orthogonal --scale unit",
		"friedman --kernel gaussian --draw structured --scale none --width 2",
		"friedman --kernel laplace --scale 2",
		"friedman --kernel cauchy --form offset",
		"friedman --kernel matern --nu 2.5",
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
		t.Run(flags, func(t *testing.T) {
			args := strings.Fields(flags)
			model, predicted := fmt.Sprint("model", i), fmt.Sprint("predicted", i)
			train := []string{"train", "--data", args[0] + ".csv", "--label", "y", "--lambda", "1e-3", "--model", model, "--quiet"}
			if !slices.Contains(args, "linear") {
				train = append(train, "--features", "96")
			}
			must(t, dir, append(train, args[1:]...)...)
			predict := []string{"predict", "--data", args[0] + ".csv", "--model", model, "--out", predicted, "--quiet", "--scores"}
			if args[0] == "places" && !strings.Contains(read(t, dir, model, "manifest.json"), `"bins.levels"`) {
				t.Fatal("the model has no levels")
			}
			m := readOutsider(t, dir+"/"+model)
			if m.Probabilities.Kind != "" {
				predict = append(predict, "--probabilities")
			}
			must(t, dir, predict...)
			_, data := numbersOf(t, read(t, dir, args[0]+".csv"))
			names, got := numbersOf(t, read(t, dir, predicted, "part-00000.csv"))
			for n, row := range data {
				for i, v := range row {
					row[i] = float64(float32(v))
				}
				s := m.scores(row[:len(row)-1])
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
				for j, v := range got[n] {
					if !(math.Abs(v-want[j]) <= 2e-6) {
						t.Fatalf("row %d, %s: %v, by the documents %v", n, names[j], v, want[j])
					}
				}
			}
		})
	}
}

func TestTheFoldRuleOfTheDocuments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, dir, "generate", "friedman", "--rows", "1000", "--out", "data.csv")
	must(t, dir, "train", "--data", "data.csv", "--label", "y", "--features", "32", "--lambda", "1e-4,1e-2", "--folds", "4", "--seed", "5", "--model", "model", "--quiet")
	m := readOutsider(t, dir+"/model")
	seed, err := strconv.ParseUint(m.Seed, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	_, data := numbersOf(t, read(t, dir, "data.csv"))
	heldOut := 0
	for _, row := range data {
		var content []uint64
		for i, v := range row[:len(row)-1] {
			if v != 0 {
				content = append(content, uint64(math.Float32bits(float32(v)))<<32|uint64(i))
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

func TestTheReaderOfTheDocumentsUsesNothingOfThisModule(t *testing.T) {
	for _, name := range []string{"formats_reader_test.go", "formats_steps_test.go", "formats_test.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
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
