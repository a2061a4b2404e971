//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/models"
)

// duel compares an iterative learner with one of scikit-learn on the same features, which this program writes
// for it.
type duel struct {
	Name      string  `json:"name"`
	Ours      outcome `json:"ours"`
	Theirs    outcome `json:"theirs"`
	Gap       float64 `json:"gap,omitempty"`       // of ours, by its certificate
	Certified bool    `json:"certified,omitempty"` // their objective is not below our proven lower bound
}

// outcome is the result of a learner. Their seconds are for the fit only, ours for the whole training run:
// reading, mapping and all rounds.
type outcome struct {
	Seconds   float64 `json:"seconds"`
	Objective float64 `json:"objective"`
	Error     float64 `json:"error"` // on the test rows
}

// bout describes a training run of the comparison.
type bout struct {
	name        string
	train, test []string // flags of the data
	features    []string // flags of the features
	ours        []string // flags of the learner
	theirs      string   // learner of learners.py
	lambda      float64
	rounds      int // of theirs
}

func bouts(data string) []bout {
	in := func(parts ...string) string { return filepath.Join(append([]string{data}, parts...)...) }
	idx := func(part string) []string {
		return []string{"--data", in("mnist", part+"-images-idx3-ubyte.gz"), "--label_files",
			in("mnist", part+"-labels-idx1-ubyte.gz")}
	}
	train, test := idx("train"), idx("t10k")
	// a9a.t lacks the last column, which is named for both.
	adult := [2][]string{{"--data", in("libsvm", "a9a.gz"), "--dim", "123"}, {"--data", in("libsvm", "a9a.t.gz")}}
	mnist := func(d string) []string { return []string{"--width", "7", "--features", d} }
	linear := []string{"--kernel", "linear"}
	const c10 = 1.0 / (10 * 60000)
	svm := func(loss string) []string { return []string{"--learner", "svm", "--loss", loss} }
	return []bout{
		{"a9a, hinge", adult[0], adult[1], linear, svm("hinge"), "hinge", 1e-4, 20000},
		{"a9a, squared hinge", adult[0], adult[1], linear, svm("squared_hinge"), "squared_hinge", 1e-4, 1000},
		{"a9a, logistic", adult[0], adult[1], linear, svm("logistic"), "logistic", 1e-4, 1000},
		{"MNIST, D = 1,024, logistic, C = 1", train, test, mnist("1024"), svm("logistic"), "logistic", 10 * c10, 1000},
		{"MNIST, D = 1,024, squared hinge, C = 1", train, test, mnist("1024"), svm("squared_hinge"), "squared_hinge",
			10 * c10, 1000},
		{"MNIST, D = 1,024, hinge, C = 10", train, test, mnist("1024"), svm("hinge"), "hinge", c10, 1000},
		{"MNIST, D = 4,096, softmax, 5 epochs", train, test, mnist("4096"),
			[]string{"--learner", "sgd", "--rounds", "5", "--partitions", "2"}, "softmax_sgd", 1e-7, 5},
	}
}

func (o options) duels(show func(string, ...any)) ([]duel, error) {
	data := os.Getenv("BOCHNER_DATA")
	if data == "" {
		return nil, errors.New("bench: set BOCHNER_DATA to the folder of the data sets, which has mnist and libsvm")
	}
	show("%-42s %10s %12s %8s %10s %10s %12s %8s\n", "", "ours s", "objective", "error", "gap", "theirs s",
		"objective", "error")
	var all []duel
	for _, b := range bouts(data) {
		if !strings.Contains(b.name, o.only) {
			continue
		}
		d, err := o.duel(b)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
		show("%s\n", d)
	}
	return all, nil
}

// duel trains both learners on the same features, and compares time, objective and error.
func (o options) duel(b bout) (d duel, err error) {
	d.Name = b.name
	work, err := os.MkdirTemp("", "bochner-bench-")
	if err != nil {
		return d, err
	}
	defer os.RemoveAll(work)
	in := func(name string) string { return filepath.Join(work, name) }
	command := func(args ...[]string) (cost, string, error) {
		return timed(o.program, append(slices.Concat(args...), "--quiet")...)
	}
	spent, _, err := command([]string{"train", "--search", "none", "--model", in("model"), "--lambda",
		fmt.Sprint(b.lambda)}, b.train, b.features, b.ours)
	if err != nil {
		return d, err
	}
	d.Ours.Seconds = spent.Seconds
	m, err := models.ReadManifest(context.Background(), in("model"))
	if err != nil {
		return d, err
	}
	d.Ours.Objective = m.Learner.Log.Objective
	if gap := m.Learner.Log.Gap; gap != nil {
		d.Gap = *gap
	}
	_, out, err := command([]string{"evaluate", "--json", "--model", in("model")}, b.test)
	if err != nil {
		return d, err
	}
	var scores struct {
		Classes struct{ Error float64 }
	}
	if err := json.Unmarshal([]byte(out), &scores); err != nil {
		return d, err
	}
	d.Ours.Error = scores.Classes.Error
	for name, rows := range map[string][]string{"train": b.train, "test": b.test} {
		var data []string // without the flags that a model answers
		for i := 0; i < len(rows); i += 2 {
			if rows[i] != "--dim" {
				data = append(data, rows[i], rows[i+1])
			}
		}
		if _, _, err := command([]string{"featurize", "--model", in("model"), "--out", in(name)}, data); err != nil {
			return d, err
		}
	}
	_, out, err = timed(o.python, filepath.Join(o.script, "learners.py"), in("train"), in("test"), b.theirs,
		fmt.Sprint(b.lambda), fmt.Sprint(b.rounds))
	if err == nil {
		err = json.Unmarshal([]byte(out), &d.Theirs)
	}
	d.Certified = d.Theirs.Objective >= d.Ours.Objective-d.Gap
	return d, err
}

func (d duel) String() string {
	return fmt.Sprintf("%-42s %10.2f %12.7f %6.2f%% %10.2g %10.2f %12.7f %6.2f%%",
		d.Name, d.Ours.Seconds, d.Ours.Objective, 100*d.Ours.Error, d.Gap, d.Theirs.Seconds, d.Theirs.Objective,
		100*d.Theirs.Error)
}
