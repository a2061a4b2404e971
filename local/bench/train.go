//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// contest compares training on MNIST: our program chooses one of six λ by five folds and writes a model,
// scikit-learn fits one λ.
type contest struct {
	Features     int     `json:"features"`
	Ours         float64 `json:"ours_seconds"`
	Theirs       float64 `json:"theirs_seconds"`
	OursMemory   float64 `json:"ours_peak_mb"`
	TheirsMemory float64 `json:"theirs_peak_mb"`
	Report       string  `json:"report"` // last output of our program, with --timings
}

const contestTurns = 3

func (o options) contest(d int) (contest, error) {
	data := os.Getenv("BOCHNER_DATA")
	if data == "" {
		return contest{}, errors.New("bench: set BOCHNER_DATA to the folder of the data sets, which has mnist")
	}
	folder := filepath.Join(data, "mnist")
	work, err := os.MkdirTemp("", "bochner-bench-")
	if err != nil {
		return contest{}, err
	}
	defer os.RemoveAll(work)
	c := contest{Features: d}
	var wall, memory [2][]float64
	entry := func(side int, name string, args ...string) error {
		spent, out, err := timed(name, args...)
		wall[side], memory[side] = append(wall[side], spent.Seconds), append(memory[side], spent.PeakMB)
		if side == 0 {
			c.Report = out
		}
		return err
	}
	turn := 0
	ours := func() error {
		turn++
		return entry(0, o.program, "train",
			"--data", filepath.Join(folder, "train-images-idx3-ubyte.gz"), "--label_files",
			filepath.Join(folder, "train-labels-idx1-ubyte.gz"),
			"--width", "7", "--features", fmt.Sprint(d), "--lambda", "1e-8,1e-7,1e-6,1e-5,1e-4,1e-3", "--folds", "5",
			"--timings", "--model", filepath.Join(work, fmt.Sprint("model", turn)))
	}
	theirs := func() error {
		return entry(1, o.python, filepath.Join(o.script, "fit.py"), folder, fmt.Sprint(d))
	}
	if err := alternate(contestTurns, ours, theirs); err != nil {
		return contest{}, err
	}
	c.Ours, c.Theirs = median(wall[0]), median(wall[1])
	c.OursMemory, c.TheirsMemory = median(memory[0]), median(memory[1])
	return c, nil
}

// cost holds the resources that a process has used.
type cost struct {
	Seconds float64 `json:"seconds"`     // on the wall
	CPU     float64 `json:"cpu_seconds"` // of user and system
	PeakMB  float64 `json:"peak_mb"`     // of resident memory
}

// timed runs a program and returns what it cost and its standard output.
func timed(name string, args ...string) (cost, string, error) {
	var out, errs bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if err != nil {
		return cost{}, "", fmt.Errorf("bench: %s: %w\n%s", cmd, err, errs.Bytes())
	}
	peak := float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / 1e6
	if runtime.GOOS == "linux" {
		peak *= 1024
	}
	return cost{took.Seconds(), (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), peak},
		out.String(), nil
}

func (c contest) String() string {
	verdict := func(ok bool) string {
		if ok {
			return "ok"
		}
		return "MISSED"
	}
	return fmt.Sprintf("\n%s\ntrain MNIST, D = %d, wall-clock seconds and peak MB, medians of %d:\n"+
		"  bochner train, 5 folds, 6 lambdas   %8.2f s %8.0f MB\n"+
		"  RBFSampler + RidgeClassifier, one   %8.2f s %8.0f MB\n"+
		"  ratio                               %8.2f × %8.2f ×   targets 1 and 2: %s, %s\n",
		c.Report, c.Features, contestTurns, c.Ours, c.OursMemory, c.Theirs, c.TheirsMemory,
		c.Theirs/c.Ours, c.TheirsMemory/c.OursMemory, verdict(c.Ours < c.Theirs), verdict(2*c.OursMemory < c.TheirsMemory))
}
