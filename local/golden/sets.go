//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/internal/testing/realdata"
)

// set is a data set: rows to train on, and rows to test on.
type set struct {
	name      string
	kinds     []string
	generated bool
	label     []string // flags that name the label
	tables    []table  // one, or images and their labels
}

// modTime is the modification time of all files with rows.
var modTime = time.Date(2026, 11, 4, 0, 0, 0, 0, time.UTC)

// table holds the rows of a file.
type table struct {
	flag        string // flag that names the file
	ext         string
	head        func(rows int) []byte // text before the rows
	train, test [][]byte
}

// write writes the training rows to files train-*, the test rows to test-0, each half of the training rows to
// a-0 and b-0, five of them to gone-0, and a third of them to each of three days.
func (s *set) write(dir string, trainFiles int) error {
	for _, t := range s.tables {
		n := len(t.train)
		files := map[string][][]byte{"test-0": t.test, "a-0": t.train[:n/2], "b-0": t.train[n/2:], "gone-0": t.train[:5]}
		for i := range trainFiles {
			files[fmt.Sprint("train-", i)] = t.train[i*n/trainFiles : (i+1)*n/trainFiles]
		}
		for i := range 3 {
			files[fmt.Sprintf("days/dt=2026-11-0%d/day", i+1)] = t.train[i*n/3 : (i+1)*n/3]
		}
		for name, rows := range files {
			p := filepath.Join(dir, name+t.ext)
			if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
				return err
			}
			err := os.WriteFile(p, append(t.head(len(rows)), bytes.Join(rows, nil)...), 0o666)
			if err == nil {
				err = os.Chtimes(p, modTime, modTime) // names of models in a retraining depend on it
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// flags returns the flags for a word of a command.
func (s *set) flags(word string) (flags []string, ok bool) {
	name, ok := map[string]string{"TRAIN": "train-*", "TEST": "test-*", "A": "a-*", "B": "b-*", "FORGET": "gone-*",
		"NIGHTS": "days/dt=YYYY-MM-DD/*"}[word]
	if !ok {
		return nil, false
	}
	for _, t := range s.tables {
		flags = append(flags, t.flag, name+t.ext)
	}
	return append(flags, s.label...), true
}

const (
	trainRows = 1500
	testRows  = 500
)

// dataSets makes the generated sets, and reads the first rows of the other sets from folder.
func dataSets(ctx context.Context, r *runner, folder string) ([]*set, error) {
	friedman, err := generated(ctx, r.program, filepath.Join(r.dir, "friedman.csv"))
	if err != nil {
		return nil, err
	}
	sets := []*set{
		{name: "friedman", kinds: []string{"regression", "table"}, generated: true, label: []string{"--label", "y"},
			tables: []table{friedman}},
		{name: "typed", kinds: []string{"classes", "binary", "typed"}, generated: true, label: []string{"--label", "sold"},
			tables: []table{typed()}},
	}
	if folder == "" {
		return sets, nil
	}
	for _, s := range []struct {
		set
		file string
	}{
		{set{name: "letters", kinds: []string{"classes", "letters", "table"}}, "libsvm/letter.scale.gz"},
		{set{name: "a9a", kinds: []string{"classes", "binary", "table"}}, "libsvm/a9a.gz"},
		{set{name: "houses", kinds: []string{"regression", "table"}, label: []string{"--label", "target"}},
			"csv/houses.tsv.gz"},
		{set{name: "adult", kinds: []string{"classes", "binary"}, label: []string{"--label", "-1"}},
			"csv/adult-train.csv.gz"},
	} {
		text, err := realdata.Unzip(filepath.Join(folder, s.file))
		if err != nil {
			return nil, err
		}
		ext := filepath.Ext(strings.TrimSuffix(s.file, ".gz"))
		s.tables = []table{lines(text, ext, ext == ".tsv")}
		sets = append(sets, &s.set)
	}
	mnist, err := images(folder)
	return append(sets, mnist), err
}

// lines makes a table of the lines of a text file.
func lines(text []byte, ext string, header bool) table {
	rows := bytes.SplitAfter(text, []byte("\n"))
	head := func(int) []byte { return nil }
	if header {
		first := rows[0]
		head, rows = func(int) []byte { return bytes.Clone(first) }, rows[1:]
	}
	return table{"--data", ext, head, rows[:trainRows], rows[trainRows:][:testRows]}
}

func generated(ctx context.Context, program, file string) (table, error) {
	set := strings.TrimSuffix(filepath.Base(file), ".csv")
	cmd := exec.CommandContext(ctx, program, "generate", set, "--rows", fmt.Sprint(trainRows+testRows), "--out", file)
	if output, err := cmd.CombinedOutput(); err != nil {
		return table{}, fmt.Errorf("generating %s: %w\n%s", set, err, output)
	}
	text, err := os.ReadFile(file)
	return lines(text, ".csv", true), err
}

// typed returns a table with numbers, missing values, categories, flags, dates, free text, weights and groups.
func typed() table {
	r := rand.New(rand.NewPCG(1, 2))
	var text bytes.Buffer
	text.WriteString("shop,day,country,size,colour,price,stock,new,note,exposure,sold\n")
	countries, colours := strings.Fields("DE FR IT PL ES DK"), strings.Fields("red green blue black white yellow grey")
	for i := range trainRows + testRows {
		country, colour, price := r.IntN(len(countries)), r.IntN(len(colours)), 5+95*r.Float64()
		sold := "no"
		if float64(country+colour)*8-price+20*r.NormFloat64() > 0 {
			sold = "yes"
		}
		paid := fmt.Sprintf("%.2f", price)
		if r.IntN(20) == 0 {
			paid = ""
		}
		fmt.Fprintf(&text, "s%d,2026-%02d-%02d,%s,%d,%s,%s,%d,%t,\"said \"\"%d\"\", left\",%d,%s\n", r.IntN(60),
			1+i*10/(trainRows+testRows), 1+r.IntN(28),
			countries[country], 36+r.IntN(10), colours[colour], paid, r.IntN(1000), r.IntN(3) == 0, r.IntN(30),
			1+r.IntN(4), sold)
	}
	return lines(text.Bytes(), ".csv", true)
}

// images returns the first 5,000 training images and 500 test images of MNIST.
func images(folder string) (*set, error) {
	s := &set{name: "mnist", kinds: []string{"classes", "image"}}
	for _, kind := range []struct {
		flag, file, ext string
		head, row       int
	}{{"--data", "images-idx3", ".images", 16, 28 * 28}, {"--label_files", "labels-idx1", ".labels", 8, 1}} {
		t := table{flag: kind.flag, ext: kind.ext}
		for name, rows := range map[string]int{"train": 5000, "t10k": 500} {
			text, err := realdata.Unzip(filepath.Join(folder, "mnist", name+"-"+kind.file+"-ubyte.gz"))
			if err != nil {
				return nil, err
			}
			var of [][]byte
			for i := range rows {
				of = append(of, text[kind.head+i*kind.row:][:kind.row])
			}
			if name == "train" {
				t.train = of
			} else {
				t.test = of
			}
			t.head = func(rows int) []byte {
				head := bytes.Clone(text[:kind.head])
				binary.BigEndian.PutUint32(head[4:], uint32(rows))
				return head
			}
		}
		s.tables = append(s.tables, t)
	}
	return s, nil
}
