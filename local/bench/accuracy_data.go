//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/bochner-ml/bochner/features/synthetic"
	"github.com/bochner-ml/bochner/internal/testing/realdata"
)

// dataset is a table with its training rows and its test rows, in files as a user has them.
type dataset struct {
	Name   string   `json:"-"`
	Format string   `json:"format"` // csv, libsvm, idx, cifar10
	Task   string   `json:"task"`
	Train  []string `json:"train"` // files; for idx, of the rows and of the labels
	Test   []string `json:"test"`
	Label  string   `json:"label,omitempty"`
	Header bool     `json:"header"`
	flags  []string // further flags of train
	images bool     // too many columns to tune boosted trees
	ours   bool     // only for our program: boosted trees do not support the flags
	large  bool     // measured only if it is named

	// Drop are columns that the program has other uses for than features. A table with isTest has no columns
	// without in its files, and its test rows are those for which isTest returns true.
	Drop    []string `json:"drop,omitempty"`
	without []string
	isTest  func(of func(column string) string) bool
}

// generated is the number of rows of the training part and of the test part of a generated table.
const generated = 10_000

// datasets returns the tables, and writes the files of those that come in one part or are generated
// into work. It leaves out those whose files are missing, and says so. Data sets that ship with a test
// part keep it; of the others every fifth row is a test row. Rows of generated tables are drawn with
// seed 1, test rows with seed 2.
func datasets(show func(string, ...any), data, work string, wanted func(name string) bool) ([]dataset, error) {
	gz := func(folder string, names ...string) (files []string) {
		for _, name := range names {
			files = append(files, filepath.Join(data, folder, name+".gz"))
		}
		return files
	}
	mnist := dataset{Name: "mnist", Format: "idx", Task: "classification", images: true,
		Train: gz("mnist", "train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
		Test:  gz("mnist", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")}
	wide := mnist
	wide.Name, wide.ours, wide.flags = "mnist-10000", true, []string{"--features", "10000"}
	tables := []dataset{
		{Name: "houses", Format: "csv", Task: "regression", Train: gz("csv", "houses.tsv"), Label: "target", Header: true},
		{Name: "letter", Format: "libsvm", Task: "classification", Train: gz("libsvm", "letter.scale")},
		{Name: "adult", Format: "csv", Task: "classification", Train: gz("csv", "adult-train.csv"),
			Test: gz("csv", "adult-test.csv"), Label: "-1", flags: []string{"--label_strip", " ."}},
		{Name: "a9a", Format: "libsvm", Task: "classification", Train: gz("libsvm", "a9a"), Test: gz("libsvm", "a9a.t")},
		{Name: "svmguide1", Format: "libsvm", Task: "classification", Train: gz("libsvm", "svmguide1"),
			Test: gz("libsvm", "svmguide1.t")},
		mnist, wide,
		{Name: "cifar", Format: "cifar10", Task: "classification", Train: gz("cifar10", "first4000.bin"), images: true},
	}
	for _, name := range []string{"irrelevant", "tails", "rotated", "interactions", "hidden", "categories"} {
		task := "regression"
		if name == "interactions" || name == "categories" {
			task = "classification"
		}
		tables = append(tables, dataset{Name: name, Format: "csv", Task: task, Label: "y", Header: true})
	}
	var chosen []dataset
	for _, t := range slices.Concat(tables, shipped(filepath.Join(work, "tables")), mixed(gz)) {
		if !wanted(t.Name) || t.large && wanted("") { // the list is empty
			continue
		}
		if name := t.missing(); name != "" {
			show("without %s: %s is missing (see Data in docs/benchmarks.md)\n", t.Name, name)
			continue
		}
		if len(t.Test) == 0 {
			if err := t.write(work); err != nil {
				return nil, fmt.Errorf("bench: %s: %w", t.Name, err)
			}
		}
		chosen = append(chosen, t)
	}
	return chosen, nil
}

// shipped are tables of Python packages, which tables.py writes to a folder.
func shipped(folder string) []dataset {
	tables := []dataset{
		{Name: "magic", Task: "classification", Label: "y"},
		{Name: "penbased", Task: "classification", Label: "y"},
		{Name: "satimage", Task: "classification", Label: "y"},
		{Name: "phoneme", Task: "classification", Label: "y"},
		{Name: "texture", Task: "classification", Label: "y"},
		{Name: "diamonds", Task: "regression", Label: "price"},
		{Name: "ames", Task: "regression", Label: "Sale_Price"},
		{Name: "wages", Task: "regression", Label: "lwage", Drop: []string{"nr"}, flags: []string{"--group_column", "nr"}},
		{Name: "nox", Task: "regression", Label: "LNOx", flags: []string{"--time_column", "julday", "--time_split"}},
	}
	for i := range tables {
		t := &tables[i]
		t.Format, t.Header = "csv", true
		t.flags = append(t.flags, "--task", t.Task) // numbers of many classes would be targets
		t.Train = []string{filepath.Join(folder, t.Name+"-train.csv")}
		t.Test = []string{filepath.Join(folder, t.Name+"-test.csv")}
	}
	return tables
}

// missing returns the first file of a table that does not exist; "" if all do.
func (t *dataset) missing() string {
	for _, name := range slices.Concat(t.Train, t.Test) {
		if _, err := os.Stat(name); err != nil {
			return name
		}
	}
	return ""
}

// write makes the files of a table that has no test file.
func (t *dataset) write(work string) error {
	ending := map[string]string{"csv": ".tsv", "libsvm": ".libsvm", "cifar10": ".bin"}[t.Format]
	if len(t.Train) == 0 || t.isTest != nil {
		ending = ".csv"
	}
	train, test := filepath.Join(work, t.Name+"-train"+ending), filepath.Join(work, t.Name+"-test"+ending)
	var halves [2]bytes.Buffer
	cut := t.split
	switch {
	case len(t.Train) == 0:
		cut = t.generate
	case t.isTest != nil:
		cut = t.splitColumns
	}
	if err := cut(&halves); err != nil {
		return err
	}
	t.Train, t.Test = []string{train}, []string{test}
	for i, name := range []string{train, test} {
		if text, err := os.ReadFile(name); err == nil && bytes.Equal(text, halves[i].Bytes()) {
			continue // another run may read it
		}
		if err := os.WriteFile(name, halves[i].Bytes(), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// generate draws the rows of a sample.
func (t *dataset) generate(halves *[2]bytes.Buffer) error {
	set, ok := synthetic.Find(t.Name)
	if !ok {
		return errors.New("no such sample")
	}
	for i := range halves {
		if err := set.WriteCSV(context.Background(), &halves[i], generated, uint64(i+1), set.Noise); err != nil {
			return err
		}
	}
	return nil
}

// split makes every fifth row a test row.
func (t *dataset) split(halves *[2]bytes.Buffer) error {
	text, err := realdata.Unzip(t.Train[0])
	if err != nil {
		return err
	}
	header := t.Header
	for row := 0; len(text) > 0; row++ {
		end := 1 + bytes.IndexByte(text, '\n')
		if t.Format == "cifar10" {
			end = 1 + 3*32*32
		}
		if end == 0 || end > len(text) {
			end = len(text)
		}
		line := text[:end]
		text = text[end:]
		switch {
		case header:
			halves[0].Write(line)
			halves[1].Write(line)
			header, row = false, -1
		case row%5 == 4:
			halves[1].Write(line)
		default:
			halves[0].Write(line)
		}
	}
	return nil
}

// files returns the flags that name files for the program.
func (t dataset) files(names []string) []string {
	if t.Format == "idx" {
		return []string{"--data", names[0], "--label_files", names[1]}
	}
	return []string{"--data", names[0]}
}
