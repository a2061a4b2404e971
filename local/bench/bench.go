//go:build unix

// Command bench compares our linear algebra with OpenBLAS, scikit-learn and gonum, and training from end to end
// with scikit-learn:
//
//	go run ./local/bench -python build/bench/bin/python              the table
//	go run ./local/bench -python build/bench/bin/python -only gram    some rows of it
//	go run ./local/bench -python build/bench/bin/python -train        from end to end
//	go run ./local/bench -python build/bench/bin/python -learners     learners on equal features
//	go run ./local/bench -python build/boosted/bin/python -accuracy   test errors beside boosted trees
//
// Both sides of a row run in separate processes that take turns, after a warm-up, in the order A B A B … and
// then B A B A …. A figure is the median of the turns. On one thread it is CPU time. On several it is
// wall-clock time, which is meaningful only on an idle machine.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// settings holds the options and what to measure.
type settings struct {
	options
	json    bool
	train   bool
	big     bool
	learn   bool
	threads int // threads of this process, if it serves another

	accurate                bool
	steps                   bool
	data, work, sets, chart string
}

func parse() (o settings, err error) {
	flag.StringVar(&o.python, "python", "python3", "Python with NumPy, SciPy, scikit-learn and threadpoolctl.")
	flag.StringVar(&o.script, "script", "local/bench", "Folder of the Python files.")
	flag.StringVar(&o.only, "only", "", "Measure the rows only whose names contain this.")
	flag.IntVar(&o.turns, "turns", 6, "Turns of each side; even.")
	flag.Float64Var(&o.seconds, "seconds", 0.1, "CPU time of a turn, or one call.")
	flag.BoolVar(&o.json, "json", false, "Print JSON.")
	flag.BoolVar(&o.train, "train", false, "Measure training on MNIST, found in $BOCHNER_DATA, instead.")
	flag.BoolVar(&o.big, "big", false, "With -train: 10,000 features too.")
	flag.BoolVar(&o.learn, "learners", false, "Measure the learners in rounds on the data sets of $BOCHNER_DATA, instead.")
	flag.StringVar(&o.program, "program", "build/bochner", "With -train, -learners and -accuracy: the program.")
	flag.BoolVar(&o.accurate, "accuracy", false,
		"Measure the accuracy of models beside boosted trees', instead; -only names methods, separated by commas.")
	flag.StringVar(&o.data, "data", os.Getenv("BOCHNER_DATA"), "With -accuracy: folder of the data sets.")
	flag.StringVar(&o.work, "work", "build/accuracy", "With -accuracy: folder for files and for figures, which are kept.")
	flag.StringVar(&o.sets, "sets", "", "With -accuracy: tables, separated by commas; all if empty.")
	flag.BoolVar(&o.steps, "steps", false, "With -accuracy: measure each step of the search alone too.")
	flag.StringVar(&o.chart, "chart", "", "With -accuracy: SVG or PNG file for a chart of the errors.")
	flag.IntVar(&o.threads, "serve", 0, "Run cases on request, with this many threads; for this program's own use.")
	flag.Parse()
	if flag.NArg() > 0 {
		return o, fmt.Errorf("bench: unexpected argument %q", flag.Arg(0))
	}
	if o.turns < 2 || o.turns%2 != 0 {
		return o, errors.New("bench: -turns must be even and positive")
	}
	return o, nil
}

// report holds the results.
type report struct {
	Machine  machine        `json:"machine"`
	Rows     []result       `json:"rows,omitempty"`
	Training []contest      `json:"training,omitempty"`
	Learners []duel         `json:"learners,omitempty"`
	Accuracy *accuracyTable `json:"accuracy,omitempty"`
}

func run() error {
	o, err := parse()
	if err != nil {
		return err
	}
	if o.threads > 0 {
		return serve(os.Stdin, os.Stdout, o.threads)
	}
	r := report{Machine: describe()}
	show := func(format string, args ...any) {
		if !o.json {
			fmt.Printf(format, args...)
		}
	}
	show("%s", r.Machine)
	switch {
	case o.accurate:
		err = r.measureAccuracy(o, show)
	case o.learn:
		r.Learners, err = o.duels(show)
	case o.train:
		err = r.measureTraining(o, show)
	default:
		err = r.measureKernels(o, show)
	}
	if err != nil || !o.json {
		return err
	}
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r *report) measureAccuracy(o settings, show func(string, ...any)) error {
	got, err := o.accuracies(show)
	if err != nil {
		return err
	}
	r.Accuracy = &got
	show("%s", got)
	if o.chart == "" {
		return nil
	}
	return got.chart(o.chart)
}

func (r *report) measureTraining(o settings, show func(string, ...any)) error {
	sizes := []int{4096}
	if o.big {
		sizes = append(sizes, 10000)
	}
	for _, d := range sizes {
		c, err := o.contest(d)
		if err != nil {
			return err
		}
		r.Training = append(r.Training, c)
		show("%s", c)
	}
	return nil
}

func (r *report) measureKernels(o settings, show func(string, ...any)) error {
	show("%-40s %10s %10s %-7s %7s %7s\n", "", "ours", "theirs", "", "ratio", "target")
	pool := pool{options: o.options, running: map[string]*process{}}
	defer pool.close()
	for _, row := range rows() {
		if !strings.Contains(row.name(), o.only) {
			continue
		}
		got, err := row.measure(&pool)
		if err != nil {
			return err
		}
		r.Rows = append(r.Rows, got)
		show("%s\n", got)
	}
	r.Machine.Versions = pool.versions()
	for _, v := range r.Machine.Versions {
		show("%s\n", v)
	}
	return nil
}

type options struct {
	python, script, only, program string
	turns                         int
	seconds                       float64
}
