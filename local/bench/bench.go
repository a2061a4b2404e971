//go:build unix

// Command bench measures the kernels beside the kernels of OpenBLAS, scikit-learn and gonum, and
// training from end to end beside scikit-learn:
//
//	go run ./local/bench -python build/bench/bin/python              the table
//	go run ./local/bench -python build/bench/bin/python -only gram    some rows of it
//	go run ./local/bench -python build/bench/bin/python -train        from end to end
//	go run ./local/bench -python build/bench/bin/python -learners     learners on equal features
//	go run ./local/bench -python build/boosted/bin/python -accuracy   test errors beside boosted trees
//
// Both sides of a row run in processes of their own that take turns, each warm,
// in the order A B A B … and then B A B A …; a figure is the median of the
// turns. On one thread it is CPU time; on several it is wall-clock time, which
// means something only on a machine that has nothing else to do.
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

func run() error {
	var (
		o       options
		asJSON  bool
		train   bool
		big     bool
		learn   bool
		threads int

		accurate                bool
		steps                   bool
		data, work, sets, chart string
	)
	flag.StringVar(&o.python, "python", "python3", "Python with NumPy, SciPy, scikit-learn and threadpoolctl.")
	flag.StringVar(&o.script, "script", "local/bench", "Folder of the Python files.")
	flag.StringVar(&o.only, "only", "", "Measure the rows only whose names contain this.")
	flag.IntVar(&o.turns, "turns", 6, "Turns of each side; even.")
	flag.Float64Var(&o.seconds, "seconds", 0.1, "CPU time of a turn, or one call.")
	flag.BoolVar(&asJSON, "json", false, "Print JSON.")
	flag.BoolVar(&train, "train", false, "Measure training on MNIST, found in $BOCHNER_DATA, instead.")
	flag.BoolVar(&big, "big", false, "With -train: 10,000 features too.")
	flag.BoolVar(&learn, "learners", false, "Measure the learners in rounds on the data sets of $BOCHNER_DATA, instead.")
	flag.StringVar(&o.program, "program", "build/bochner", "With -train, -learners and -accuracy: the program.")
	flag.BoolVar(&accurate, "accuracy", false,
		"Measure the accuracy of models beside boosted trees', instead; -only names methods, separated by commas.")
	flag.StringVar(&data, "data", os.Getenv("BOCHNER_DATA"), "With -accuracy: folder of the data sets.")
	flag.StringVar(&work, "work", "build/accuracy", "With -accuracy: folder for files and for figures, which are kept.")
	flag.StringVar(&sets, "sets", "", "With -accuracy: tables, separated by commas; all if empty.")
	flag.BoolVar(&steps, "steps", false, "With -accuracy: measure each step of the search alone too.")
	flag.StringVar(&chart, "chart", "", "With -accuracy: SVG or PNG file for a chart of the errors.")
	flag.IntVar(&threads, "serve", 0, "Run cases on request, with that many threads; for this program's own use.")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("bench: unexpected argument %q", flag.Arg(0))
	}
	if threads > 0 {
		return serve(os.Stdin, os.Stdout, threads)
	}
	if o.turns < 2 || o.turns%2 != 0 {
		return errors.New("bench: -turns must be even and positive")
	}
	m := describe()
	report := struct {
		Machine  machine   `json:"machine"`
		Rows     []result  `json:"rows,omitempty"`
		Training []contest `json:"training,omitempty"`
		Learners []duel    `json:"learners,omitempty"`

		Accuracy *accuracyTable `json:"accuracy,omitempty"`
	}{Machine: m}
	show := func(format string, args ...any) {
		if !asJSON {
			fmt.Printf(format, args...)
		}
	}
	show("%s", m)
	if accurate {
		got, err := o.accuracies(show, data, work, sets, o.only, steps)
		if err != nil {
			return err
		}
		report.Accuracy = &got
		show("%s", got)
		if chart != "" {
			if err := got.chart(chart); err != nil {
				return err
			}
		}
	} else if learn {
		var err error
		if report.Learners, err = o.duels(show); err != nil {
			return err
		}
	} else if train {
		sizes := []int{4096}
		if big {
			sizes = append(sizes, 10000)
		}
		for _, d := range sizes {
			c, err := o.contest(d)
			if err != nil {
				return err
			}
			report.Training = append(report.Training, c)
			show("%s", c)
		}
	} else {
		show("%-40s %10s %10s %-7s %7s %7s\n", "", "ours", "theirs", "", "ratio", "target")
		pool := pool{options: o, running: map[string]*process{}}
		defer pool.close()
		for _, r := range rows() {
			if !strings.Contains(r.name(), o.only) {
				continue
			}
			got, err := r.measure(&pool)
			if err != nil {
				return err
			}
			report.Rows = append(report.Rows, got)
			show("%s\n", got)
		}
		for _, v := range pool.versions() {
			show("%s\n", v)
		}
		report.Machine.Versions = pool.versions()
	}
	if asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(report)
	}
	return nil
}

type options struct {
	python, script, only, program string
	turns                         int
	seconds                       float64
}
