//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/bochner-ml/bochner/models/search"
)

// steps are the variations of the default that a search tries, in the order of the table.
var steps = []string{"width", "kernel", "view", "diagonal metric", "full metric", "two columns", "piecewise linear"}

// stepsOf returns the least held-out loss of each step's trials, as a ratio to the loss of the default
// candidate on as many rows. For features added to a kernel, it is the ratio to the loss of the same candidate
// without them. It is nil if the model has no search.
func stepsOf(model string) (map[string]float64, error) {
	text, err := os.ReadFile(filepath.Join(model, "search.json"))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found search.Result
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, err
	}
	type place struct {
		search.Candidate
		rows int
	}
	loss := map[place]float64{}
	for _, t := range found.Trials {
		if t.Failed == "" {
			loss[place{t.Candidate, t.Rows}] = t.Loss
		}
	}
	best := map[string]float64{}
	for p, v := range loss {
		step, beside := stepFrom(found.Default.Candidate, p.Candidate)
		if base, ok := loss[place{beside, p.rows}]; ok && step != "" {
			if ratio := v / base; best[step] == 0 || ratio < best[step] {
				best[step] = ratio
			}
		}
	}
	return best, nil
}

// stepFrom returns the name of the only property that a candidate changes, and the candidate to compare it
// with. The name is empty if it changes several. A metric may also change view, kernel and width.
func stepFrom(standard, c search.Candidate) (name string, beside search.Candidate) {
	switch {
	case c.PiecewiseLinear:
		beside = c
		beside.PiecewiseLinear = false
		return "piecewise linear", beside
	case c.Pair > 0:
		beside = c
		beside.Pair = 0
		return "two columns", beside
	case c.Metric != "":
		return c.Metric + " metric", standard
	}
	changed := 0
	for what, differs := range map[string]bool{"width": c.Width != standard.Width, "kernel": c.Kernel != standard.Kernel,
		"view": c.View != standard.View} {
		if differs {
			name = what
			changed++
		}
	}
	if changed != 1 {
		name = ""
	}
	return name, standard
}
